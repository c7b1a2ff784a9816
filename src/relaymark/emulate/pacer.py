"""A clock that calls things at absolute times: one heap, one kernel timer, no drift.

asyncio's own timers are rounded to a millisecond (epoll's timeout, uvloop's loop time). A Linux timerfd has
nanosecond resolution and is free of timer slack, so one of them stands for the earliest entry of the heap.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import sys
from collections.abc import Callable
from heapq import heappop, heappush
from time import monotonic_ns
from typing import Protocol

_CLOCK_MONOTONIC = 1
_TFD_TIMER_ABSTIME = 1
_TFD_NONBLOCK_CLOEXEC = os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0)
_TURN = 64  # calls before the loop may read and accept again
# Waking up costs more than a call: at a high rate, what falls due within this time of a wake-up shares the next one.
_MIN_SLEEP = 60_000  # ns
_SECOND = 1_000_000_000


class Paced(Protocol):
    """Something the pacer calls when it is due."""

    def step(self) -> int:
        """Do what is due. Returns the next absolute due time in ns, or 0 when there is no next."""
        ...


class _ITimerSpec(ctypes.Structure):
    _fields_ = (
        ("interval_s", ctypes.c_int64),
        ("interval_ns", ctypes.c_int64),
        ("value_s", ctypes.c_int64),
        ("value_ns", ctypes.c_int64),
    )


class _TimerFd:
    """A CLOCK_MONOTONIC timerfd. Arming it again also clears a pending expiry, so it is never read."""

    def __init__(self) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd: int = libc.timerfd_create(_CLOCK_MONOTONIC, _TFD_NONBLOCK_CLOEXEC)
        if self.fd < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create")
        self._settime = libc.timerfd_settime
        self._spec = _ITimerSpec()
        self._ref = ctypes.byref(self._spec)

    def arm(self, due: int) -> None:
        """Fire at ``due`` (absolute ns; at once when it has passed); 0 disarms."""
        self._spec.value_s, self._spec.value_ns = divmod(due, _SECOND)
        self._settime(self.fd, _TFD_TIMER_ABSTIME, self._ref, None)

    def close(self) -> None:
        os.close(self.fd)


class _LoopTimer:
    """The same on systems without timerfd: the loop's own timer, as exact as the loop is."""

    def __init__(self, loop: asyncio.AbstractEventLoop, fire: Callable[[], None]) -> None:
        self._loop = loop
        self._fire = fire
        self._handle: asyncio.TimerHandle | None = None

    def arm(self, due: int) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        if due:
            self._handle = self._loop.call_later(max(0, due - monotonic_ns()) / _SECOND, self._fire)

    def close(self) -> None:
        self.arm(0)


class Pacer:
    """Calls :meth:`Paced.step` of each entry at its absolute time, earliest first."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._heap: list[tuple[int, int, Paced]] = []
        self._order = 0
        self._armed = 0
        self._timer: _TimerFd | _LoopTimer
        if sys.platform == "linux":
            self._timer = timer = _TimerFd()
            loop.add_reader(timer.fd, self._fire)
        else:
            self._timer = _LoopTimer(loop, self._fire)

    def add(self, due: int, paced: Paced) -> None:
        """Call ``paced.step`` at ``due`` (absolute ns)."""
        self._order += 1
        heappush(self._heap, (due, self._order, paced))
        if not self._armed or due < self._armed:
            self._arm(due)

    def _arm(self, due: int) -> None:
        self._armed = due
        self._timer.arm(due)

    def _fire(self) -> None:
        heap = self._heap
        for _ in range(_TURN):
            if not heap:
                self._arm(0)
                return
            if heap[0][0] > (now := monotonic_ns()):
                self._arm(max(heap[0][0], now + _MIN_SLEEP))
                return
            _, order, paced = heappop(heap)
            following = paced.step()
            if following:
                heappush(heap, (following, order, paced))
        self._arm(heap[0][0] if heap else 0)

    def close(self) -> None:
        """Forget every entry and release the timer."""
        self._heap.clear()
        if isinstance(self._timer, _TimerFd):
            self._loop.remove_reader(self._timer.fd)
        self._timer.close()
