"""Round over round: the best of each, and the same hardware in each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from relaymark.published.likeness import Comparison, compare
from relaymark.published.row import Row, rank_key


@dataclass(frozen=True, slots=True)
class Step:
    """From one round to the next in which a benchmark and scenario appear. ``of``: rows each side was taken from."""

    comparison: Comparison
    of: tuple[int, int]


def best_by_round(
    rows: Sequence[Row], per: str = "accelerator", division: str = "closed", *, anyway: bool = False
) -> list[Step]:
    """The best row of each round, by benchmark and scenario, each held against the round before it.

    Rows without a figure ``per`` what is asked take no part.
    """
    taken = [row for row in rows if row.division == division and _counts(row, per)]
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in taken:
        groups.setdefault(row.key, []).append(row)
    return [step for key in sorted(groups) for step in _steps(groups[key], per, anyway)]


def same_hardware(rows: Sequence[Row], system: str, per: str = "system", *, anyway: bool = False) -> list[Step]:
    """The same submitter's same accelerators, as many of them, in each round; the best row where there are several.

    Args:
        rows: Those of all rounds.
        system: Words that submitter, platform, system and accelerator together must hold, such as
            ``NVIDIA GB300-NVL72``; case does not matter.
        per: What results are counted per.
        anyway: Give ratios although divisions differ.
    """
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        if matches_system(row, system) and _counts(row, per):
            hardware = (row.organization, row.accelerator, row.accelerators, str(row.parts))
            groups.setdefault((*row.key, *hardware), []).append(row)
    return [step for key in sorted(groups, key=str) for step in _steps(groups[key], per, anyway)]


def matches_system(row: Row, words: str) -> bool:
    """Whether a row's submitter, platform, system and accelerator hold every one of the words."""
    whole = " ".join((row.organization, row.platform, row.system, row.accelerator, row.accelerator_raw)).lower()
    return all(word in whole for word in words.lower().split())


def rounds_of(rows: Sequence[Row]) -> list[str]:
    """The rounds that rows are of, the oldest first."""
    return sorted({row.round for row in rows}, key=round_order)


def round_order(name: str) -> tuple[tuple[int, ...], str]:
    """Sorts rounds by their numbers: v5.1 before v6.0 before v10.0."""
    return tuple(map(int, re.findall(r"[0-9]+", name))), name


def _steps(rows: Sequence[Row], per: str, anyway: bool) -> list[Step]:
    by_round: dict[str, list[Row]] = {}
    for row in rows:
        by_round.setdefault(row.round, []).append(row)
    names = sorted(by_round, key=round_order)
    steps: list[Step] = []
    for before, after in pairwise(names):
        first, second = _pair(by_round[before], by_round[after], per)
        steps.append(Step(compare(first, second, per, anyway=anyway), (len(by_round[before]), len(by_round[after]))))
    return steps


def _pair(before: Sequence[Row], after: Sequence[Row], per: str) -> tuple[Row, Row]:
    """The best of each side; of one division where both sides have it."""
    for division in ("closed", "open"):
        sides = [[row for row in rows if row.division == division] for rows in (before, after)]
        if all(sides):
            before, after = sides
            break
    return min(before, key=lambda row: rank_key(row, per)), min(after, key=lambda row: rank_key(row, per))


def _counts(row: Row, per: str) -> bool:
    return row.per(per) is not None
