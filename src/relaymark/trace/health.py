"""A worker's heartbeat: what it says of itself ten times a second, and the clocks it saw."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec


class Heartbeat(msgspec.Struct, array_like=True, frozen=True):
    """One heartbeat of one worker. Times are ns; counts run from the worker's start."""

    worker: int
    mono_ns: int
    wall_offset_ns: int  # CLOCK_REALTIME − CLOCK_MONOTONIC; only a step of the wall clock moves it
    cpu_ns: int  # process CPU time
    loop_late_ns: int  # the largest lateness of the loop's tick since the last heartbeat
    due: int  # tasks whose time had come
    sent: int  # requests handed to the kernel
    ended: int
    failed: int  # transfers that did not complete (a decoded outcome may still be a failure)
    in_flight: int
    bytes_in: int
    reads: int
    backpressure: int  # sends this machine refused: no port, no descriptor
    reconnects: int
    stage: int


def wall_offset_ns() -> int:
    """CLOCK_REALTIME − CLOCK_MONOTONIC in ns: the tightest of five sandwiched samples.

    Both clocks are disciplined alike by NTP, so the difference is constant unless the wall clock is stepped.
    """
    best_width, best = 1 << 62, 0
    for _ in range(5):
        before = time.monotonic_ns()
        wall = time.time_ns()
        after = time.monotonic_ns()
        if after - before < best_width:
            best_width, best = after - before, wall - (before + after) // 2
    return best


def read_heartbeats(path: Path) -> list[Heartbeat]:
    """The heartbeats of all workers from a run's ``health.jsonl``; a line that was cut is left out."""
    beats: list[Heartbeat] = []
    if path.exists():
        decode = msgspec.json.Decoder(Heartbeat).decode
        for line in path.read_bytes().splitlines():
            try:
                beats.append(decode(line))
            except msgspec.DecodeError:
                continue
    return beats
