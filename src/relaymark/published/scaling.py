"""Scaling: what an accelerator still gives when there are more of them.

Efficiency is a size's result per accelerator over that of the smallest size; a step is over the size before it.
A chain belongs to one submitter. Larger sizes that only others have are appended to the chain that reaches furthest,
and say whose they are: that is a comparison of submitters too, not a scaling experiment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relaymark.published.likeness import Difference, unequal
from relaymark.published.row import Row, rank_key

_OF_SCALE = frozenset({"scale", "date"})


@dataclass(frozen=True, slots=True)
class Point:
    """One size of a chain. ``step`` is ``None`` of the smallest; ``of``: rows of that size, of which this is best."""

    row: Row
    size: int
    rate: float  # per accelerator
    efficiency: float
    step: float | None
    foreign: bool  # another submitter's than the smallest size
    unlike: list[Difference]  # to the smallest size, beside the scale itself
    of: int


@dataclass(frozen=True, slots=True)
class Chain:
    """The sizes of one family, benchmark, scenario, division and round, smallest first."""

    family: str
    benchmark: str
    scenario: str
    round: str
    division: str
    submitter: str  # "" where every size is another's
    points: list[Point]


def chains(rows: Sequence[Row], family: str = "") -> list[Chain]:
    """Every chain of at least two sizes.

    Args:
        rows: Those to look at; latencies, mixed systems and rows without accelerators take no part.
        family: Only this family, such as ``GB300``, or families whose published name holds the text.
    """
    groups: dict[tuple[str, str, str, str, str], list[Row]] = {}
    for row in rows:
        if scales(row) and (not family or of_family(row, family)):
            groups.setdefault((row.accelerator, *row.key, row.round, row.division), []).append(row)
    return [chain for key in sorted(groups) for chain in _chains(key, groups[key])]


def scales(row: Row) -> bool:
    """Whether a row has its place in a chain: a rate of one kind of accelerator, all of them used."""
    return (
        row.value is not None
        and row.higher_is_better
        and len(row.parts) == 1
        and bool(row.used)
        and row.accelerators_used is None
    )


def of_family(row: Row, family: str) -> bool:
    """Whether a row's accelerators are all of a family, named exactly, or by part of the published name."""
    wanted = " ".join(family.lower().split())
    if row.accelerator.lower() == wanted:
        return True
    # "B300" must not find GB300: a part of a name starts where a word does
    text = " " + row.accelerator_raw.lower()
    return len(row.parts) == 1 and any(mark + wanted in text for mark in (" ", "-", "(")) and len(wanted) > 3


def _chains(key: tuple[str, str, str, str, str], rows: Sequence[Row]) -> list[Chain]:
    by_submitter: dict[str, list[Row]] = {}
    for row in rows:
        by_submitter.setdefault(row.organization, []).append(row)
    own = {name: _best_by_size(each) for name, each in by_submitter.items()}
    own = {name: sizes for name, sizes in own.items() if len(sizes) > 1}
    everyone = _best_by_size(rows)
    if not own:
        return [_chain(key, "", everyone)] if len(everyone) > 1 else []
    reach = max(max(sizes) for sizes in own.values())
    reaching = [name for name, sizes in own.items() if max(sizes) == reach]
    furthest = min(reaching, key=lambda name: rank_key(own[name][reach][0], "accelerator"))
    beyond = {size: found for size, found in everyone.items() if size > reach}
    return [_chain(key, name, {**sizes, **(beyond if name == furthest else {})}) for name, sizes in sorted(own.items())]


def _best_by_size(rows: Sequence[Row]) -> dict[int, tuple[Row, int]]:
    """Size → (its best row, how many there are)."""
    sizes: dict[int, list[Row]] = {}
    for row in rows:
        sizes.setdefault(row.used or 0, []).append(row)
    best = {size: min(each, key=lambda row: rank_key(row, "accelerator")) for size, each in sizes.items()}
    return {size: (best[size], len(sizes[size])) for size in sorted(sizes)}


def _chain(key: tuple[str, str, str, str, str], submitter: str, sizes: dict[int, tuple[Row, int]]) -> Chain:
    family, benchmark, scenario, round_name, division = key
    points: list[Point] = []
    for size in sorted(sizes):
        row, of = sizes[size]
        rate = (row.value or 0.0) / size
        first = points[0] if points else None
        points.append(
            Point(
                row=row,
                size=size,
                rate=rate,
                efficiency=rate / first.rate if first else 1.0,
                step=rate / points[-1].rate if points else None,
                foreign=first is not None and row.organization != first.row.organization,
                unlike=[] if first is None else [d for d in unequal(first.row, row) if d.what not in _OF_SCALE],
                of=of,
            )
        )
    return Chain(family, benchmark, scenario, round_name, division, submitter, points)
