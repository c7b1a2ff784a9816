"""A timer that fires at an absolute time with microsecond precision.

Event loops round their timers to a millisecond, which alone would spoil a send-lag bound of one. On Linux a timerfd
(timerfd_create(2), CLOCK_MONOTONIC, TFD_TIMER_ABSTIME) wakes the loop as an ordinary readable descriptor; elsewhere
the loop's own ``call_at`` stands in.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import sys
import time
from collections.abc import Callable

_TFD_TIMER_ABSTIME = 1
_TFD_NONBLOCK = os.O_NONBLOCK
_TFD_CLOEXEC = os.O_CLOEXEC
_PR_SET_TIMERSLACK = 29


class _Timespec(ctypes.Structure):
    _fields_ = (("sec", ctypes.c_long), ("nsec", ctypes.c_long))


class _Itimerspec(ctypes.Structure):
    _fields_ = (("interval", _Timespec), ("value", _Timespec))


class PreciseTimer:
    """Calls ``callback`` once at each armed time; arming again replaces the time."""

    def __init__(self, loop: asyncio.AbstractEventLoop, callback: Callable[[], object]) -> None:
        self._loop = loop
        self._callback = callback
        self._handle: asyncio.TimerHandle | None = None
        self._fd = -1
        if sys.platform == "linux":
            self._libc = ctypes.CDLL(None, use_errno=True)
            # The default slack lets the kernel fire 50 µs late to save power (prctl(2)); it is per thread.
            self._libc.prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)
            self._fd = self._libc.timerfd_create(time.CLOCK_MONOTONIC, _TFD_NONBLOCK | _TFD_CLOEXEC)
        if self._fd >= 0:
            self._spec = _Itimerspec()
            self._reference = ctypes.byref(self._spec)
            loop.add_reader(self._fd, self._fired)

    def arm(self, at_ns: int) -> None:
        """Fires at ``at_ns`` of CLOCK_MONOTONIC; at once when that has passed."""
        if self._fd >= 0:
            # A value of zero would disarm the timer.
            self._spec.value.sec, self._spec.value.nsec = divmod(max(at_ns, 1), 1_000_000_000)
            self._libc.timerfd_settime(self._fd, _TFD_TIMER_ABSTIME, self._reference, None)
            return
        if self._handle is not None:
            self._handle.cancel()
        delay = max(0.0, (at_ns - time.monotonic_ns()) / 1e9)
        self._handle = self._loop.call_later(delay, self._callback)

    def _fired(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._fd, 8)
            self._callback()

    def close(self) -> None:
        """Stops the timer for good."""
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1
        elif self._handle is not None:
            self._handle.cancel()
