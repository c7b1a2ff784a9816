"""Rows chosen and ranked: tables of one benchmark and scenario each, and the two sides of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relaymark.errors import ConfigError
from relaymark.published.likeness import Comparison, compare, spread_of
from relaymark.published.rounds import round_order
from relaymark.published.row import Row, rank_key


@dataclass(frozen=True, slots=True)
class Table:
    """Rows that may stand in one ranking, best first, and what is not the same in all of them."""

    benchmark: str
    scenario: str
    division: str
    unit: str
    rows: list[Row]
    unlike: list[tuple[str, list[str]]]


def select(rows: Sequence[Row], per: str = "system") -> list[Table]:
    """One table for each benchmark, scenario, division and unit, so that no ranking mixes what cannot be compared.

    Rows without a figure ``per`` what is asked stand last.
    """
    groups: dict[tuple[str, str, str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((*row.key, row.division, row.unit), []).append(row)
    return [
        Table(*key, ranked, spread_of(ranked))
        for key, found in sorted(groups.items())
        if (ranked := sorted(found, key=lambda row: rank_key(row, per)))
    ]


def pair(rows: Sequence[Row], a: str, b: str, per: str = "system", *, anyway: bool = False) -> list[Comparison]:
    """Compares two rows, or two systems in every benchmark and scenario that both have.

    Args:
        rows: All that there are.
        a: A row's id such as ``v6.1:309``, or a system as ``[ROUND:]SUBMITTER/PLATFORM``.
        b: The same, held against ``a``.
        per: ``system``, ``accelerator`` or ``node``.
        anyway: Give ratios although something forbids them.

    Raises:
        ConfigError: Either names nothing, or the two have no benchmark and scenario in common.
    """
    first, second = _named(rows, a), _named(rows, b)
    if len(first) == len(second) == 1:
        return [compare(first[0], second[0], per, anyway=anyway)]
    by_key = {row.key: row for row in reversed(second)}
    if len(second) == 1:
        matched = [(row, second[0]) for row in first if row.key == second[0].key]
    else:
        matched = [(row, by_key[row.key]) for row in first if row.key in by_key]
    if not matched:
        raise ConfigError(
            "The two have no benchmark and scenario in common.",
            where=f"{a} and {b}",
            mend="Name two rows by their ids: relaymark published table shows them.",
        )
    return [compare(one, other, per, anyway=anyway) for one, other in matched]


def _named(rows: Sequence[Row], name: str) -> list[Row]:
    exact = [row for row in rows if row.id == name]
    if exact:
        return exact
    before, colon, after = name.partition(":")
    rounds = sorted({row.round for row in rows}, key=round_order)
    round_name, system = (before, after) if colon and before in rounds else ("", name)
    submitter, slash, platform = system.partition("/")
    found = [
        row
        for row in rows
        if slash and row.organization.lower() == submitter.lower() and row.platform.lower() == platform.lower()
    ]
    if found:
        latest = round_name or max((row.round for row in found), key=round_order)
        found = [row for row in found if row.round == latest]
    if not found:
        raise ConfigError(
            f"There is no row or system {name!r}.",
            where="relaymark published compare",
            mend="Name a row as v6.1:309, or a system as v6.1:NVIDIA/PLATFORM; table --json lists both.",
        )
    return found
