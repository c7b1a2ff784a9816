"""Which samples of BFCL v4 count: 995 of the single-turn ones, as MLPerf Inference v6.1 (edge agentic) takes them.

The first n rows of each file in its own order, n by a percentage of the file's size (all where there are 25 or
fewer); no randomness. The files come in alphabetical order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Category = Literal["non_live", "live", "hallucination"]
Language = Literal["python", "java", "javascript"]
_FEW = 25


@dataclass(frozen=True, slots=True)
class Subset:
    """One file of the data set."""

    name: str
    category: Category
    percent: int  # of its rows that are taken
    answers: bool = True  # whether it comes with right answers; without, no call is the right one

    @property
    def language(self) -> Language:
        """What its types and values are written in."""
        if self.name == "simple_java":
            return "java"
        return "javascript" if self.name == "simple_javascript" else "python"

    @property
    def file(self) -> str:
        """Its file's name."""
        return f"BFCL_v4_{self.name}.json"

    def taken(self, rows: int) -> int:
        """How many of so many rows are taken."""
        return rows if rows <= _FEW else max(1, rows * self.percent // 100)


SUBSETS = (
    Subset("irrelevance", "hallucination", 10, answers=False),
    Subset("live_irrelevance", "hallucination", 10, answers=False),
    Subset("live_multiple", "live", 10),
    Subset("live_parallel", "live", 10),
    Subset("live_parallel_multiple", "live", 10),
    Subset("live_simple", "live", 10),
    Subset("multiple", "non_live", 62),
    Subset("parallel", "non_live", 62),
    Subset("parallel_multiple", "non_live", 62),
    Subset("simple_java", "non_live", 62),
    Subset("simple_javascript", "non_live", 62),
    Subset("simple_python", "non_live", 62),
)
BY_NAME = {subset.name: subset for subset in SUBSETS}
SAMPLES = 995
