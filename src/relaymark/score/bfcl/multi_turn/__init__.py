"""BFCL v4, multi turn: does a model bring a simulated world into the right state, turn after turn? Never gated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from relaymark.score.bfcl.multi_turn.entries import SUBSETS, Entry, load_entries
from relaymark.score.bfcl.multi_turn.scoring import SCORE_FILE, MultiTurnScore

if TYPE_CHECKING:
    from relaymark.score.bfcl.multi_turn.running import ANSWERS_FILE, run_multi_turn

__all__ = ["ANSWERS_FILE", "SCORE_FILE", "SUBSETS", "Entry", "MultiTurnScore", "load_entries", "run_multi_turn"]


def __getattr__(name: str) -> Any:
    # A report reads scores: it needs nothing of the wire, which takes half a second to load.
    if name not in ("ANSWERS_FILE", "run_multi_turn"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from relaymark.score.bfcl.multi_turn import running  # noqa: PLC0415 - see above

    return getattr(running, name)
