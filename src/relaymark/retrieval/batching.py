"""Micro-batching across concurrent tasks: what waits while a batch is served is the next batch.

A stage that is idle serves a call at once, so nobody waits for company that may never come; one that is busy finds
whatever has gathered meanwhile, cut by a budget of tokens. A wait can be set for models that gain much from company.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, NamedTuple, TypeVar

Q = TypeVar("Q")
A = TypeVar("A")
_now = time.monotonic_ns


class Served(NamedTuple):
    """What became of one call."""

    taken: int
    begun: int
    finished: int
    batch: int
    answer: object | None
    error: str


class Batcher(Generic[Q, A]):
    """Serves calls in batches, one at a time, in a thread of its own.

    Args:
        serve: Answers a batch, in order. What it raises becomes the error of every call in the batch.
        weight: Of one call, in the unit of ``budget`` (tokens, passages).
        budget: Most weight in a batch; a call that is heavier goes alone.
        wait: Seconds to wait for company when the stage is idle.
        most: Calls that may wait; more are turned away.
    """

    def __init__(
        self,
        serve: Callable[[Sequence[Q]], Sequence[A]],
        weight: Callable[[Q], int],
        *,
        budget: int,
        wait: float = 0.0,
        most: int = 10_000,
    ) -> None:
        self._serve = serve
        self._weight = weight
        self._budget = budget
        self._wait = wait
        self._most = most
        self._waiting: deque[tuple[int, Q, Callable[[Served], None]]] = deque()
        self._thread = ThreadPoolExecutor(1)
        self._busy = False
        self._loop = asyncio.get_running_loop()

    def call(self, query: Q, answer: Callable[[Served], None]) -> None:
        """Takes in a call; ``answer`` is called in the loop's thread when it has been served."""
        taken = _now()
        if len(self._waiting) >= self._most:
            answer(Served(taken, taken, taken, 0, None, f"more than {self._most} calls are waiting"))
            return
        self._waiting.append((taken, query, answer))
        if not self._busy:
            self._busy = True
            if self._wait:
                self._loop.call_later(self._wait, self._begin)
            else:
                self._loop.call_soon(self._begin)  # what came with the same read goes along

    def _begin(self) -> None:
        batch = [self._waiting.popleft()]
        weight = self._weight(batch[0][1])
        while self._waiting and (weight := weight + self._weight(self._waiting[0][1])) <= self._budget:
            batch.append(self._waiting.popleft())
        future = self._loop.run_in_executor(self._thread, self._run, [query for _, query, _ in batch])
        future.add_done_callback(lambda done: self._over(batch, *done.result()))

    def _run(self, queries: list[Q]) -> tuple[int, int, Sequence[A] | None, str]:
        begun = _now()
        try:
            answers = self._serve(queries)
        except Exception as error:
            return begun, _now(), None, f"{type(error).__name__}: {error}"[:500]
        return begun, _now(), answers, ""

    def _over(
        self,
        batch: list[tuple[int, Q, Callable[[Served], None]]],
        begun: int,
        finished: int,
        answers: Sequence[A] | None,
        error: str,
    ) -> None:
        for place, (taken, _, answer) in enumerate(batch):
            answer(Served(taken, begun, finished, len(batch), None if answers is None else answers[place], error))
        if self._waiting:
            self._begin()
        else:
            self._busy = False

    def close(self) -> None:
        """Serves no more."""
        self._waiting.clear()
        self._thread.shutdown(wait=False, cancel_futures=True)
