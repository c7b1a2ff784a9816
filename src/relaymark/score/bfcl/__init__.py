"""BFCL v4, single turn: does a model call the right function with the right arguments?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from relaymark.score.bfcl.checking import ModelCall, check_calls
from relaymark.score.bfcl.loading import load_samples
from relaymark.score.bfcl.scoring import SCORE_FILE, BfclScore

if TYPE_CHECKING:
    from relaymark.score.bfcl.asking import ANSWERS_FILE, run_bfcl

__all__ = ["ANSWERS_FILE", "SCORE_FILE", "BfclScore", "ModelCall", "check_calls", "load_samples", "run_bfcl"]


def __getattr__(name: str) -> Any:
    # A report reads scores: it needs nothing of the wire, which takes half a second to load.
    if name not in ("ANSWERS_FILE", "run_bfcl"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from relaymark.score.bfcl import asking  # noqa: PLC0415 - see above

    return getattr(asking, name)
