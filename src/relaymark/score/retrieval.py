"""Precision, recall and F1 of the pages that a pipeline found.

The official numbers follow the evaluator of MLPerf's end-to-end RAG: sets of URLs compared to the letter, at most the
first ten kept; an empty gold set counts as 0; the plain mean over questions. A failed task counts as one that found
nothing. Beside them stand the same over normalised names, and over everything that was retrieved before grading.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

import msgspec

from relaymark.score.urls import page_names

OFFICIAL_CUT = 10
"""How many of the kept URLs the official evaluator looks at."""


class Prf(msgspec.Struct, frozen=True):
    """Means over questions."""

    precision: float
    recall: float
    f1: float


class RetrievalScore(msgspec.Struct, kw_only=True):
    """How well pages were found."""

    tasks: int
    official: Prf  # verbatim, the first ten kept
    normalised: Prf  # by page names, the first ten kept
    retrieved: Prf | None = None  # by page names, everything that the search brought; None: not told
    empty_gold: int = 0  # tasks without gold pages; each counts as 0


def prf(found: Set[str], wanted: Set[str]) -> Prf:
    """Precision, recall and F1 of one question; 0 where a ratio has no denominator."""
    hits = len(found & wanted)
    precision = hits / len(found) if found else 0.0
    recall = hits / len(wanted) if wanted else 0.0
    return Prf(precision, recall, 2 * precision * recall / (precision + recall) if hits else 0.0)


def official_prf(kept: Sequence[str], gold: Iterable[str]) -> Prf:
    """One question by the official evaluator; ``kept`` in the order in which pages were kept."""
    return prf(set(kept[:OFFICIAL_CUT]), {url for url in gold if url})


class RetrievalTally:
    """Adds up tasks one by one."""

    def __init__(self) -> None:
        self._sums = [[0.0] * 3 for _ in range(3)]
        self._tasks = 0
        self._retrieved = 0
        self._told = False
        self._empty = 0

    def add(self, gold: Sequence[str], kept: Sequence[str] | None, retrieved: Sequence[str] | None) -> None:
        """Takes in a task; ``None`` for a list that the pipeline didn't give, as failed tasks don't."""
        self._tasks += 1
        self._told |= kept is not None
        self._retrieved += retrieved is not None
        self._empty += not gold
        names = page_names(gold)
        first = list(kept or ())[:OFFICIAL_CUT]
        self._sum(0, official_prf(first, gold))
        self._sum(1, prf(page_names(first), names))
        self._sum(2, prf(page_names(retrieved or ()), names))

    def _sum(self, place: int, one: Prf) -> None:
        sums = self._sums[place]
        for index, value in enumerate((one.precision, one.recall, one.f1)):
            sums[index] += value

    def result(self) -> RetrievalScore | None:
        """The means; ``None`` when no task told its pages (a black box) or none has gold pages."""
        if not self._told or self._empty == self._tasks:
            return None
        official, normalised, retrieved = (Prf(*(value / self._tasks for value in sums)) for sums in self._sums)
        return RetrievalScore(
            tasks=self._tasks,
            official=official,
            normalised=normalised,
            retrieved=retrieved if self._retrieved else None,
            empty_gold=self._empty,
        )
