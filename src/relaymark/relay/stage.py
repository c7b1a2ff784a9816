"""One stage in one worker: closed-loop slots that never idle, or sends at absolute times that never wait."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

from relaymark.load import Part
from relaymark.relay.context import Context
from relaymark.relay.plan import PlannedStage
from relaymark.wire import PreciseTimer

Task = Callable[[Context, PlannedStage, int, int | None], Awaitable[None]]
_now = time.monotonic_ns


class StageRun:
    """Runs this worker's part of a stage.

    ``due`` counts the tasks whose time has come. ``stop`` ends the sending; ``run`` returns when nothing is in
    flight any more, or when the drain bound has passed and the rest was cancelled.
    """

    def __init__(self, context: Context, stage: PlannedStage, part: Part, task: Task) -> None:
        self._context = context
        self._stage = stage
        self._part = part
        self._task = task
        self._stopping = False
        self._wake = asyncio.Event()
        self.due = 0

    def stop(self) -> None:
        """Sends nothing more."""
        self._stopping = True
        self._wake.set()

    async def run(self, start_ns: int) -> None:
        """Runs from ``start_ns`` (CLOCK_MONOTONIC) to the last response.

        Raises:
            OSError: The journal cannot be written.
        """
        self._context.begin_stage()
        if self._part.open_loop:
            await self._open_loop(start_ns)
        else:
            await self._closed_loop(start_ns)

    # -- closed loop --------------------------------------------------------------------------------------------

    async def _closed_loop(self, start_ns: int) -> None:
        part = self._part
        end = None if part.duration is None else start_ns + part.duration

        async def slot() -> None:
            while not self._stopping and (end is None or _now() < end):
                if part.quota is not None and self.due >= part.quota:
                    return
                task = part.task_index(self.due)
                self.due += 1
                await self._task(self._context, self._stage, task, None)

        count = part.slots if part.quota is None else min(part.slots, part.quota)
        await self._context.client.open_ahead(count, start_ns)
        await _until(start_ns)
        running = [asyncio.ensure_future(slot()) for _ in range(part.slots)]
        await self._drain(running, end)

    # -- open loop ----------------------------------------------------------------------------------------------

    async def _open_loop(self, start_ns: int) -> None:
        part = self._part
        times = part.send_times()
        running: set[asyncio.Future[None]] = set()
        failures: list[BaseException] = []

        def fire() -> None:
            now = _now()
            while self.due < len(times) and not self._stopping:
                at = start_ns + times[self.due]
                if at > now:
                    timer.arm(at)
                    return
                task = part.task_index(self.due)
                self.due += 1
                future = asyncio.ensure_future(self._task(self._context, self._stage, task, at))
                running.add(future)
                future.add_done_callback(over)
                now = _now()
            self._wake.set()

        def over(future: asyncio.Future[None]) -> None:
            running.discard(future)
            error = None if future.cancelled() else future.exception()
            if error is not None:
                failures.append(error)
                self.stop()

        timer = PreciseTimer(asyncio.get_running_loop(), fire)
        timer.arm(start_ns + times[0] if len(times) else start_ns)
        await self._wake.wait()
        timer.close()
        await self._drain(list(running), _now())
        if failures:
            raise failures[0]

    # -- the end ------------------------------------------------------------------------------------------------

    async def _drain(self, running: Sequence[asyncio.Future[None]], end: int | None) -> None:
        """Waits for what is in flight; from ``end`` (or ``stop``) on at most for the drain bound."""
        if not running:
            return
        every = asyncio.gather(*running)
        stopped = asyncio.ensure_future(self._stopped(end))
        try:
            await asyncio.wait({every, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if not every.done():
                bound = self._context.plan.drain_ns
                await asyncio.wait({every}, timeout=None if bound is None else bound / 1e9)
            if not every.done():
                self._stopping = True
                self._context.cancel()
            await every
        finally:
            stopped.cancel()

    async def _stopped(self, end: int | None) -> None:
        if end is None:
            await self._wake.wait()
        else:
            await asyncio.wait({asyncio.ensure_future(self._wake.wait())}, timeout=max(0.0, (end - _now()) / 1e9))


async def _until(at_ns: int) -> None:
    """Sleeps to an absolute time; the last stretch on a precise timer, since loops round to a millisecond."""
    reached = asyncio.Event()
    timer = PreciseTimer(asyncio.get_running_loop(), reached.set)
    timer.arm(at_ns)
    await reached.wait()
    timer.close()
