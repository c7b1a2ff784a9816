"""A worker's part of a schedule. Imports nothing heavy: workers load this, not numpy."""

from __future__ import annotations

import msgspec


class Part(msgspec.Struct, kw_only=True, frozen=True):
    """What worker ``worker`` of ``workers`` does in one stage. Encodes to msgpack as it is.

    Open loop: ``times`` holds the send times of the tasks it owns (every N-th), ns from the stage's start, as
    native int64. Closed loop: ``slots`` loops that each send when their last task has ended, until ``duration``
    ns have passed or ``quota`` tasks were started by this worker.
    """

    stage: int
    worker: int
    workers: int
    open_loop: bool
    times: bytes = b""
    slots: int = 0
    all_slots: int = 0  # of the stage, over all workers
    duration: int | None = None  # ns
    quota: int | None = None

    def send_times(self) -> memoryview[int]:
        """Return the send times as a sequence of int, without copying."""
        return memoryview(self.times).cast("q")

    def task_index(self, k: int) -> int:
        """Return the position in the whole stage of the ``k``-th task (from 0) that this worker starts.

        Positions of all workers together are 0, 1, 2, … without a gap or a repeat (closed loops without a quota:
        without a repeat), so they pick the same prompts whatever the number of workers.
        """
        if self.open_loop:
            return self.worker + k * self.workers
        block, slot = divmod(k, self.slots)
        return block * self.all_slots + self.worker + slot * self.workers
