"""Which points to run for a C_max, which of them need an accuracy run, and how long all of it takes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass

from relaymark.errors import ConfigError
from relaymark.rules.limits import Model
from relaymark.rules.regions import BANDS, ULTRA_LOW, Regions, regions_of, shortest_seconds

FEWEST = 7  # and an Offline run of its own, where there is one
MOST = 32
WINDOW_PASSES = 6
"""Passes that usually give a steady window: four and more that are flat, after one or two of ramp."""


@dataclass(frozen=True, slots=True)
class PlannedPoint:
    """One point of a plan. Seconds are ``None`` where no speed is known to work them out from.

    ``passes``: whole passes of the data set to issue. ``official``: whether so many usually give a steady window,
    without which the whole run counts (§4.4).
    """

    concurrency: int
    region: str
    accuracy: str  # the mandatory region that its accuracy result stands for, "offline", or empty: none
    offline: str  # dedicated, elected, or empty
    least_seconds: int
    passes: int
    seconds: float | None
    accuracy_seconds: float | None
    official: bool


@dataclass(frozen=True, slots=True)
class CurvePlan:
    """A whole curve. ``notes`` say what a reader should know before hours are spent."""

    regions: Regions
    points: list[PlannedPoint]
    notes: list[str]

    @property
    def seconds(self) -> float | None:
        """Time of every run one after the other, warm-ups left out; ``None`` where a point's is not known."""
        parts = [point.seconds for point in self.points]
        parts += [point.accuracy_seconds for point in self.points if point.accuracy]
        return None if any(part is None for part in parts) else math.fsum(part for part in parts if part is not None)


def plan_curve(
    model: Model,
    c_max: int,
    *,
    c_min: int = 8,
    points: int | None = None,
    offline: str = "dedicated",
    rates: Mapping[int, float] | None = None,
    longest_seconds: float = 4 * 3600.0,
) -> CurvePlan:
    """Plans the points of one curve.

    Args:
        model: The benchmark.
        c_max: Maximum supported concurrency, above 32.
        c_min: The lowest point. Low points take longest: one pass at concurrency 1 can take hours.
        points: How many points at fixed concurrency; seven and a spare by default (points are fixed once submitted,
            and a withdrawn one does not count).
        offline: ``dedicated``, or ``elected`` to nominate the point at C_max. Agentic curves have none.
        rates: Requests/s (agentic: turns/s) measured at some concurrencies.
        longest_seconds: A point takes six passes where they fit in this, else as few as the rules allow.

    Raises:
        ConfigError: The numbers do not make a curve.
    """
    agentic = model.agentic
    fixed = FEWEST + 1 if points is None else points
    most = MOST - (not agentic and offline == "dedicated")
    if not FEWEST <= fixed <= most:
        raise ConfigError(f"A curve has {FEWEST} to {most} points at fixed concurrency, not {fixed}.", where="--points")
    try:
        regions = regions_of(c_max, c_min)
    except ValueError as error:
        raise ConfigError(f"{error}.", where="--c-max, --c-min") from None
    empty = [band for band in BANDS if regions.band_span(band).empty]
    if empty:
        says = f"C_max {c_max} and C_min {c_min} leave {', '.join(empty)} without any concurrency."
        raise ConfigError(says, where="--c-max, --c-min", mend="Raise C_max, or lower C_min.")
    chosen = _spread(regions, fixed)
    bands = _accuracy_points(regions, chosen)
    planned = [
        _point(model, regions, c, bands, offline if c == c_max and offline == "elected" else "", rates, longest_seconds)
        for c in chosen
    ]
    if not agentic and offline == "dedicated":
        planned.append(_offline(model, rates))
    return CurvePlan(regions, planned, _notes(model, regions, planned, offline))


def rate_at(concurrency: int, rates: Mapping[int, float] | None) -> float | None:
    """Requests/s at a concurrency from those measured: straight on a double-logarithmic scale between two of them,
    proportional below the lowest, constant above the highest; ``None`` where none was measured.
    """
    known = sorted((c, rate) for c, rate in (rates or {}).items() if c > 0 and rate > 0)
    if not known:
        return None
    if concurrency <= known[0][0]:
        return known[0][1] * concurrency / known[0][0]
    for (low, slow), (high, fast) in itertools.pairwise(known):
        if concurrency <= high:
            share = math.log(concurrency / low) / math.log(high / low)
            return slow * (fast / slow) ** share
    return known[-1][1]


def _spread(regions: Regions, count: int) -> list[int]:
    """``count`` concurrencies from C_min to C_max, evenly on a logarithmic scale, every mandatory region among them."""
    low, high = regions.c_min, regions.c_max
    if high - low + 1 < count:
        raise ConfigError(f"There are not {count} concurrencies from {low} to {high}.", where="--points")
    ratio = (high / low) ** (1 / (count - 1))
    wanted = [round(low * ratio**step) for step in range(count)]
    wanted[0], wanted[-1] = low, high
    # a region that got none takes the point next to it, at its middle (geometric)
    for band in BANDS:
        span = regions.band_span(band)
        if not any(c in span for c in wanted):
            middle = round(math.sqrt(span.start * span.end))
            inner = range(1, count - 1)
            nearest = min(inner, key=lambda at: abs(math.log(wanted[at] / middle)))
            wanted[nearest] = middle
    chosen = sorted(set(wanted))
    while len(chosen) < count:  # two fell together: halve the widest gap
        gaps = [(low, high) for low, high in itertools.pairwise(chosen) if high - low > 1]
        start, end = max(gaps, key=lambda gap: gap[1] / gap[0])
        chosen = sorted([*chosen, min(max(round(math.sqrt(start * end)), start + 1), end - 1)])
    return chosen


def _accuracy_points(regions: Regions, chosen: list[int]) -> dict[int, str]:
    """Which points carry the four accuracy results: exactly one for each mandatory region (§4.3)."""
    picked: dict[int, str] = {}
    for band in reversed(BANDS):
        span = regions.band_span(band)
        # The highest of a region answers soonest. Ultra Low comes last: it overlaps the others, and C_min is its own.
        inside = [c for c in chosen if c in span and c not in picked]
        picked[inside[-1]] = band
    return picked


def _point(
    model: Model,
    regions: Regions,
    concurrency: int,
    bands: dict[int, str],
    offline: str,
    rates: Mapping[int, float] | None,
    longest: float,
) -> PlannedPoint:
    least = shortest_seconds(concurrency, agentic=model.agentic)
    rate = rate_at(concurrency, rates)
    size = model.performance_samples or 0
    if model.agentic or not size:
        # Trajectories, not samples: how many turns a pass has is the data set's to tell. The duration is what is known.
        return PlannedPoint(
            concurrency, _region(regions, concurrency), bands.get(concurrency, ""), offline, least, 1, None, None, False
        )
    passes = 1
    if rate is not None:
        one = size / rate
        passes = max(1, math.ceil(least / one))
        if WINDOW_PASSES * one <= longest:
            # the window, without the first pass or two, must last as long as the rules ask
            passes = max(WINDOW_PASSES, math.ceil(least / one) + WINDOW_PASSES - 4)
    accuracy_seconds = None if rate is None else (model.accuracy_samples or size) / rate
    return PlannedPoint(
        concurrency,
        _region(regions, concurrency),
        bands.get(concurrency, ""),
        offline,
        least,
        passes,
        None if rate is None else passes * size / rate,
        accuracy_seconds,
        rate is not None and passes >= WINDOW_PASSES,
    )


def _offline(model: Model, rates: Mapping[int, float] | None) -> PlannedPoint:
    size = model.performance_samples or 0
    rate = rate_at(size, rates)
    least = shortest_seconds(ULTRA_LOW + 1, agentic=False)
    passes = 1 if rate is None else max(1, math.ceil(least * rate / size))
    accuracy = None if rate is None else (model.accuracy_samples or size) / rate
    seconds = None if rate is None else passes * size / rate
    return PlannedPoint(size, "submitters_choice", "offline", "dedicated", least, passes, seconds, accuracy, False)


def _region(regions: Regions, concurrency: int) -> str:
    return regions.of(concurrency) or "margin"


def _notes(model: Model, regions: Regions, planned: list[PlannedPoint], offline: str) -> list[str]:
    notes: list[str] = []
    size = model.performance_samples or 0
    if not model.agentic and offline == "dedicated" and regions.c_max >= size > 0:
        notes.append(
            f"C_max {regions.c_max:,} is not below the data set's {size:,}: a dedicated Offline run would share its "
            "folder's name. Elect the point at C_max instead."
        )
    short = [point.concurrency for point in planned if point.seconds is not None and not point.official]
    short = [c for c in short if c != size or offline == "elected"]
    if short:
        listed = ", ".join(map(str, short))
        notes.append(f"Too slow for a steady window in the time allowed, so the whole run counts: {listed}.")
    if model.agentic:
        notes.append("Agentic: times are the least that the rules ask; a pass is all of its trajectories.")
    if any(point.seconds is None for point in planned) and not model.agentic:
        notes.append("No speed is known: give a sweep, or --rate, to have the times worked out.")
    return notes
