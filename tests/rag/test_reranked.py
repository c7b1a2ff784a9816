"""A search whose results are reranked: order, cut and legs."""

from __future__ import annotations

import asyncio

from relaymark.relay.rag.searching import Searching
from relaymark.retrieval.client import Call
from relaymark.retrieval.protocols import Passage
from relaymark.trace import Capture, Leg


class Library:
    """A retrieval server in name only: ten passages, and scores that turn their order round but for a tie."""

    async def embed(self, query: str) -> tuple[bytes, Call]:
        return b"\0\0\0\0", Call(1, 2, 3, 4)

    async def search(self, vector: bytes, k: int) -> tuple[list[Passage], Call]:
        return [Passage(f"p{place}", 0, f"u{place}", f"text {place}") for place in range(k)], Call(1, 2, 5, 6)

    async def rerank(self, query: str, passages: list[str]) -> tuple[list[float], Call]:
        scores = [float(place) for place in range(len(passages))]
        scores[-2] = scores[-1]
        return scores, Call(10, 15, 40, 2)


class Journal:
    """What a worker's context gives a search: ids, and a place for legs."""

    worker = 0

    def __init__(self) -> None:
        self.legs: list[Leg] = []

    def next_leg_id(self) -> int:
        return len(self.legs) + 1

    def keep_leg(self, leg: Leg) -> None:
        self.legs.append(leg)


def search(k: int, keep: int, *, rerank: bool) -> tuple[list[str], Journal, Searching]:
    journal = Journal()
    task = Capture(leg_id=99, task_id=7, request=-1)
    searching = Searching(journal, Library(), task, rerank)  # pyright: ignore
    found = asyncio.run(searching("q", k, keep))
    return [passage.source for passage in found], journal, searching


def test_the_best_are_kept_and_equal_scores_stay_in_the_searchs_order() -> None:
    found, journal, searching = search(6, 3, rerank=True)
    assert found == ["p4", "p5", "p3"]
    assert [leg.kind for leg in journal.legs] == ["embed", "search", "rerank"]
    last = journal.legs[-1]
    assert (last.queued_ns, last.service_ns, last.items, last.parent_id, last.task_id) == (5, 25, 2, 99, 7)
    assert list(searching.urls) == [f"u{place}" for place in range(6)]


def test_with_nothing_to_leave_out_nothing_is_reranked() -> None:
    assert search(5, 5, rerank=True)[0] == [f"p{place}" for place in range(5)]
    assert len(search(5, 5, rerank=True)[1].legs) == 2
    assert search(6, 3, rerank=False)[0] == ["p0", "p1", "p2"]
