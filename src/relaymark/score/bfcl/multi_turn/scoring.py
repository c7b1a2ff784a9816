"""``bfcl_multi_turn.json``: how many conversations went right, and how the others went wrong."""

from __future__ import annotations

import msgspec

SCORE_FILE = "bfcl_multi_turn.json"
REFERENCE_BASE = (140, 200)
"""What MLPerf's reference model gets right of ``base``; told beside the score, never a gate."""


class SubsetTally(msgspec.Struct, kw_only=True):
    """One subset. ``turns_right`` of ``turns``: those before the first wrong one."""

    right: int = 0
    entries: int = 0
    turns_right: int = 0
    turns: int = 0
    low: float | None = None  # 95 % interval of right / entries (Wilson)
    high: float | None = None

    @property
    def share(self) -> float:
        """From 0 to 1."""
        return self.right / self.entries if self.entries else 0.0


class MultiTurnScore(msgspec.Struct, kw_only=True):
    """Shares are from 0 to 1; ``failed`` conversations broke off at a failed call and count as wrong."""

    schema: int = 1
    kind: str = "bfcl-multi-turn"
    model: str = ""
    url: str = ""
    entries: int = 0
    right: int = 0
    failed: int = 0
    overall: float = 0.0  # mean of the subsets' shares
    low: float | None = None
    high: float | None = None
    subsets: dict[str, SubsetTally] = {}
    why_wrong: dict[str, int] = {}
    steps: int = 0  # answers of the model
    unheard: int = 0  # answers whose text held calls that were not handed over as tool calls
    notes: list[str] = []
