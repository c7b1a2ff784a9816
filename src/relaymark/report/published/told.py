"""Published results as JSON, for other programs: the same facts as on a terminal, uncut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from relaymark.published import Chain, Comparison, Finding, Placement, Row, Spread, Step, Table


def tables_json(tables: Sequence[Table], per: str) -> bytes:
    """Rankings with each row whole, and its figure ``per`` what was asked."""
    return _encode([{**_plain(table), "per": per, "rows": [_row(row, per) for row in table.rows]} for table in tables])


def comparisons_json(found: Sequence[Comparison]) -> bytes:
    """Both sides whole, ratio (null where refused), refusals and differences."""
    return _encode([_comparison(each) for each in found])


def steps_json(steps: Sequence[Step]) -> bytes:
    """As :func:`comparisons_json`, with how many rows each side is the best of."""
    return _encode([{**_comparison(step.comparison), "of": step.of} for step in steps])


def chains_json(chains: Sequence[Chain]) -> bytes:
    """Each chain with its points; efficiencies are shares, 1 is all."""
    return _encode(
        [
            {**_plain(chain), "points": [{**_plain(p), "row": _row(p.row, "accelerator")} for p in chain.points]}
            for chain in chains
        ]
    )


def spreads_json(spreads: Sequence[Spread]) -> bytes:
    """Each spread with its rows whole."""
    return _encode([_plain(spread) for spread in spreads])


def findings_json(findings: Sequence[Finding]) -> bytes:
    """Each finding with its rows whole."""
    return _encode([_plain(finding) for finding in findings])


def placement_json(placed: Placement) -> bytes:
    """The placement with its rows whole."""
    return _encode(_plain(placed))


def _comparison(each: Comparison) -> dict[str, Any]:
    return {**_plain(each), "a": _row(each.a, each.per), "b": _row(each.b, each.per)}


def _row(row: Row, per: str) -> dict[str, Any]:
    return {**_plain(row), "figure": row.per(per)}


def _plain(value: Any) -> dict[str, Any]:
    return msgspec.to_builtins(value)


def _encode(value: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
