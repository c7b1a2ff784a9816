"""The regions of a curve: where its points must lie, and how long each must be measured.

Source: MLPerf Endpoints rules §5.4, §5.5 and §6.2 as the checker 1.5.3.0 applies them. With I = log2(C_max − C_min)/3
the upper ends are C_min, round(C_min + 2^I), round(C_min + 2^2I), C_max and ⌈1.1·C_max⌉; ``round`` is half to even.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

ULTRA_LOW: Final = 32
"""Ultra Low Concurrency is 1 to this, unless ``c_min_override`` lowers it; durations go by it always."""

LOW_LATENCY = "low_latency"
LOW = "low_concurrency"
MEDIUM = "med_concurrency"
HIGH = "high_concurrency"
MARGIN = "margin"
SUBMITTERS_CHOICE = "submitters_choice"
ULTRA_LOW_BAND = "ultra_low_concurrency"
DECLARABLE = (LOW_LATENCY, LOW, MEDIUM, HIGH, MARGIN, SUBMITTERS_CHOICE)
BANDS = (ULTRA_LOW_BAND, LOW, MEDIUM, HIGH)
"""The four regions that must hold a point and an accuracy result."""


@dataclass(frozen=True, slots=True)
class Span:
    """Concurrencies from ``start`` to ``end``, both included; empty where ``start`` is larger."""

    start: int
    end: int

    def __contains__(self, concurrency: object) -> bool:
        return isinstance(concurrency, int) and self.start <= concurrency <= self.end

    def __str__(self) -> str:
        return f"{self.start}–{self.end}"

    @property
    def empty(self) -> bool:
        """Whether no concurrency lies in it."""
        return self.start > self.end


@dataclass(frozen=True, slots=True)
class Regions:
    """The regions that a C_max and a C_min give. ``overridden``: C_min was declared, so the bands do not overlap."""

    c_max: int
    c_min: int
    overridden: bool
    spans: dict[str, Span]

    @property
    def ultra_low(self) -> Span:
        """Where the mandatory Ultra Low point may lie."""
        return self.spans[LOW_LATENCY] if self.overridden else Span(1, ULTRA_LOW)

    def of(self, concurrency: int) -> str | None:
        """The region of a concurrency; ``None`` above the margin."""
        return next((name for name, span in self.spans.items() if concurrency in span), None)

    def bands(self, concurrency: int) -> list[str]:
        """The mandatory regions that a point could stand for: none in the margin, up to two at 32 and below."""
        found = [ULTRA_LOW_BAND] if concurrency in self.ultra_low else []
        region = self.of(concurrency)
        if region in (LOW, MEDIUM, HIGH):
            found.append(region)
        return found

    def band_span(self, band: str) -> Span:
        """The concurrencies of a mandatory region."""
        return self.ultra_low if band == ULTRA_LOW_BAND else self.spans[band]


def regions_of(c_max: int, c_min: int, *, overridden: bool = False) -> Regions:
    """The regions of a curve.

    Raises:
        ValueError: ``c_max`` is not above 32, or ``c_min`` not from 1 to 32.
    """
    if c_max <= ULTRA_LOW:
        raise ValueError(f"C_max must be above {ULTRA_LOW}, not {c_max}")
    if not 1 <= c_min <= ULTRA_LOW:
        raise ValueError(f"C_min must be from 1 to {ULTRA_LOW}, not {c_min}")
    step = math.log2(c_max - c_min) / 3
    low = round(c_min + 2**step)
    medium = round(c_min + 2 ** (2 * step))
    spans = {
        LOW_LATENCY: Span(1, c_min),
        LOW: Span(c_min + 1, low),
        MEDIUM: Span(low + 1, medium),
        HIGH: Span(medium + 1, c_max),
        # In binary floats, as the official program has it: 1.10·100 is a little more than 110 there.
        MARGIN: Span(c_max + 1, math.ceil(1.10 * c_max)),
    }
    return Regions(c_max, c_min, overridden, spans)


def shortest_seconds(concurrency: int, *, agentic: bool) -> int:
    """How long a point must be measured: 600 s up to 32, above that 1,200 s, agentic 2,400 s (§6.2)."""
    if concurrency <= ULTRA_LOW:
        return 600
    return 2400 if agentic else 1200


def assign_bands(options: dict[int, list[str]]) -> dict[str, int]:
    """Gives each mandatory region at most one point, and each point at most one region: as many regions as can be.

    Args:
        options: Concurrency → the regions it could stand for. Earlier entries are placed first and never lose
            their place altogether, so the point that should yield (an elected Offline point) comes last.
    """
    owner: dict[str, int] = {}

    def place(concurrency: int, tried: set[str]) -> bool:
        for band in options[concurrency]:
            if band in tried:
                continue
            tried.add(band)
            if band not in owner or place(owner[band], tried):
                owner[band] = concurrency
                return True
        return False

    for concurrency in options:
        place(concurrency, set())
    return owner
