"""The same accelerators, as many of them, from different submitters: how far apart their results are."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from relaymark.published.likeness import spread_of
from relaymark.published.row import Row, rank_key
from relaymark.published.scaling import of_family


@dataclass(frozen=True, slots=True)
class Spread:
    """The rows of one benchmark and scenario, best first, and how far they lie apart."""

    benchmark: str
    scenario: str
    round: str
    division: str
    rows: list[Row]
    submitters: int
    median: float
    spread: float  # the best over the worst, 1 or more, whether higher or lower is better
    unlike: list[tuple[str, list[str]]]  # what is not the same in all rows


def partners(rows: Sequence[Row], accelerator: str, count: int) -> list[Spread]:
    """Groups with at least two submitters; mixed systems take no part.

    Args:
        rows: Those to look at.
        accelerator: A family, such as ``MI355X``.
        count: How many of them the whole system has.
    """
    groups: dict[tuple[str, str, str, str, str], list[Row]] = {}
    for row in rows:
        same = len(row.parts) == 1 and row.accelerators == count and of_family(row, accelerator)
        if same and row.value is not None and row.accelerators_used is None:
            groups.setdefault((*row.key, row.round, row.division, row.unit), []).append(row)
    return [_spread(key, found) for key, found in sorted(groups.items()) if len({r.organization for r in found}) > 1]


def _spread(key: tuple[str, str, str, str, str], rows: list[Row]) -> Spread:
    values = [row.value for row in rows if row.value is not None]
    benchmark, scenario, round_name, division, _ = key
    ranked = sorted(rows, key=lambda row: rank_key(row, "system"))
    submitters = len({row.organization for row in rows})
    ratio = max(values) / min(values)
    median, unlike = statistics.median(values), spread_of(ranked)
    return Spread(benchmark, scenario, round_name, division, ranked, submitters, median, ratio, unlike)
