"""Oddities of published rounds, each with its rows and the arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from relaymark.published.anomalies.finding import KINDS, Finding
from relaymark.published.anomalies.repeats import (
    accuracy_scales,
    idle_accelerators,
    repeated_accuracies,
    repeated_results,
    server_above_offline,
)
from relaymark.published.anomalies.scale import below_its_parts, bigger_slower, super_linear
from relaymark.published.row import Row

__all__ = ["KINDS", "Finding", "find_anomalies"]

_FINDERS: dict[str, Callable[[Sequence[Row]], Iterator[Finding]]] = {
    "super-linear": super_linear,
    "repeated-result": repeated_results,
    "repeated-accuracy": repeated_accuracies,
    "idle-accelerators": idle_accelerators,
    "accuracy-scales": accuracy_scales,
    "bigger-slower": bigger_slower,
    "below-its-parts": below_its_parts,
    "server-above-offline": server_above_offline,
}


def find_anomalies(rows: Sequence[Row], kinds: Sequence[str] = ()) -> list[Finding]:
    """Every finding of the given kinds (default: all of :data:`KINDS`), in the order of kinds, the largest first."""
    found: list[Finding] = []
    for kind, finder in _FINDERS.items():
        if not kinds or kind in kinds:
            found += sorted(finder(rows), key=lambda finding: -finding.size)
    return found
