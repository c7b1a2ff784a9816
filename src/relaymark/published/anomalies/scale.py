"""Findings about scale: more than linear, bigger but slower, mixed systems below their parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from relaymark.published.anomalies.finding import Finding, name_of, shown
from relaymark.published.row import Row
from relaymark.published.scaling import chains

SUPER_LINEAR = 1.02
"""Efficiency from one size to the next above which scaling counts as super-linear: run-to-run noise is below it."""


def super_linear(rows: Sequence[Row]) -> Iterator[Finding]:
    """Steps of one submitter's chain in which the rate per accelerator grows with the size."""
    for chain in chains(rows):
        for before, after in pairwise(chain.points):
            if after.foreign or after.step is None or after.step <= SUPER_LINEAR:
                continue
            times, more = after.rate * after.size / (before.rate * before.size), after.size / before.size
            arithmetic = (
                f"{shown(after.row.value)} / {after.size} = {shown(after.rate)} an accelerator, "
                f"{shown(before.row.value)} / {before.size} = {shown(before.rate)}: {100 * after.step:.1f} %"
            )
            what = f"{chain.benchmark} {chain.scenario}"
            says = f"{chain.submitter}, {what}: {more:.3g} × the {chain.family} give {times:.3g} × the result"
            yield Finding("super-linear", says, [before.row, after.row], arithmetic, after.step)


def bigger_slower(rows: Sequence[Row]) -> Iterator[Finding]:
    """Of each system the best smaller one that is made of the same accelerators, or some of them, and is faster.

    Rates only: a latency need not fall with more accelerators.
    """
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        if row.value is not None and row.higher_is_better and row.accelerators and row.accelerators_used is None:
            groups.setdefault((row.round, row.division, *row.key, row.unit), []).append(row)
    for group in groups.values():
        for bigger in group:
            better = [row for row in group if _holds(bigger, row) and (row.value or 0) > (bigger.value or 0)]
            if better:
                smaller = max(better, key=lambda row: row.value or 0)
                yield _slower(bigger, smaller, len(better))


def below_its_parts(rows: Sequence[Row]) -> Iterator[Finding]:
    """Mixed systems whose result is below that of homogeneous rows of their parts, added up.

    Parts are taken from rows of the same round, benchmark, scenario and division; those of the same submitter, or of
    one that shares a name with it, first. A part whose count is a multiple of a row's counts that row as often, but no
    more often than the system has nodes: eight single accelerators are no node of eight.
    """
    for mixed in rows:
        counted = [part.count for part in mixed.parts if part.count]
        if len(mixed.parts) < 2 or len(counted) < len(mixed.parts) or mixed.value is None or not mixed.higher_is_better:
            continue
        lowest = [_part_rows(mixed, part.family, part.count or 0, rows) for part in mixed.parts]
        if any(not found for found in lowest):
            continue
        chosen = [min(found, key=lambda each: each[0]) for found in lowest]
        total = sum(value for value, _, _ in chosen)
        most = sum(max(found, key=lambda each: each[0])[0] for found in lowest)
        if mixed.value >= total:
            continue
        terms = " + ".join(f"{times} × {shown(row.value)}" for _, times, row in chosen)
        highest = "" if most == total else f"; with the best rows {shown(most)}: {100 * mixed.value / most:.1f} %"
        what = f"{mixed.benchmark} {mixed.scenario}"
        says = f"{name_of(mixed)}, {what}: {100 * mixed.value / total:.1f} % of what its parts give alone"
        arithmetic = f"{shown(mixed.value)} / ({terms} = {shown(total)}) = {100 * mixed.value / total:.1f} %{highest}"
        yield Finding(
            "below-its-parts", says, [mixed, *(row for _, _, row in chosen)], arithmetic, 1 - mixed.value / total
        )


def _holds(bigger: Row, smaller: Row) -> bool:
    """Whether a system has everything of another, and more."""
    if (bigger.accelerators or 0) <= (smaller.accelerators or 0):
        return False
    has = {part.family: part.count for part in bigger.parts}
    return bool(smaller.parts) and all(
        part.family in has and part.count is not None and (has[part.family] or 0) >= part.count
        for part in smaller.parts
    )


def _slower(bigger: Row, smaller: Row, count: int) -> Finding:
    share = (bigger.value or 0) / (smaller.value or 1)
    others = f", and below {count - 1} more smaller ones" if count > 1 else ""
    says = f"{bigger.benchmark} {bigger.scenario}: {name_of(bigger)} is below {name_of(smaller)}{others}"
    arithmetic = (
        f"{shown(bigger.value)} {bigger.unit} of {bigger.accelerators} / {shown(smaller.value)} of "
        f"{smaller.accelerators} = {100 * share:.1f} %"
    )
    return Finding("bigger-slower", says, [bigger, smaller], arithmetic, 1 - share)


def _part_rows(mixed: Row, family: str, count: int, rows: Sequence[Row]) -> list[tuple[float, int, Row]]:
    """(result for the part's count, how often the row counts, the row)."""
    found: list[tuple[float, int, Row]] = []
    for row in rows:
        alike = (row.round, row.division, *row.key, row.unit) == (mixed.round, mixed.division, *mixed.key, mixed.unit)
        if not alike or row.accelerator != family or not row.accelerators or row.value is None:
            continue
        times, rest = divmod(count, row.accelerators)
        if row.accelerators_used is None and len(row.parts) == 1 and not rest and times <= (mixed.nodes or 1):
            found.append((times * row.value, times, row))
    own = [each for each in found if _related(each[2].organization, mixed.organization)]
    return own or found


def _related(a: str, b: str) -> bool:
    return bool(set(a.lower().split("_")) & set(b.lower().split("_")))
