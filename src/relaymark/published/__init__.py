"""Published rounds of results, read as they are, and compared only where they are alike.

Imports are lazy: `relaymark --help` must not wait for DuckDB or numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from relaymark.published.anomalies import KINDS, Finding, find_anomalies
    from relaymark.published.likeness import Comparison, Difference, compare, spread_of, unequal
    from relaymark.published.normalise import FLAGS
    from relaymark.published.own import OwnRun, read_own
    from relaymark.published.placing import Placement, Ranking, place
    from relaymark.published.reading import Source, read_published
    from relaymark.published.rounds import Step, best_by_round, rounds_of, same_hardware
    from relaymark.published.row import Part, Row
    from relaymark.published.scaling import Chain, Point, chains
    from relaymark.published.selection import Table, pair, select
    from relaymark.published.spreads import Spread, partners
    from relaymark.published.store import STORE_FILE, Imported, add_source, read_rows, rounds_in
    from relaymark.published.where import Condition, parse_condition

__all__ = [
    "FLAGS",
    "KINDS",
    "STORE_FILE",
    "Chain",
    "Comparison",
    "Condition",
    "Difference",
    "Finding",
    "Imported",
    "OwnRun",
    "Part",
    "Placement",
    "Point",
    "Ranking",
    "Row",
    "Source",
    "Spread",
    "Step",
    "Table",
    "add_source",
    "best_by_round",
    "chains",
    "compare",
    "find_anomalies",
    "pair",
    "parse_condition",
    "partners",
    "place",
    "read_own",
    "read_published",
    "read_rows",
    "rounds_in",
    "rounds_of",
    "same_hardware",
    "select",
    "spread_of",
    "unequal",
]

_HOMES = {
    "anomalies": ("KINDS", "Finding", "find_anomalies"),
    "likeness": ("Comparison", "Difference", "compare", "spread_of", "unequal"),
    "normalise": ("FLAGS",),
    "own": ("OwnRun", "read_own"),
    "placing": ("Placement", "Ranking", "place"),
    "reading": ("Source", "read_published"),
    "rounds": ("Step", "best_by_round", "rounds_of", "same_hardware"),
    "row": ("Part", "Row"),
    "scaling": ("Chain", "Point", "chains"),
    "selection": ("Table", "pair", "select"),
    "spreads": ("Spread", "partners"),
    "store": ("STORE_FILE", "Imported", "add_source", "read_rows", "rounds_in"),
    "where": ("Condition", "parse_condition"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
