"""Which sockets are ready, in which order, and since when this process could have known.

On Linux the sockets live in two epoll sets nested in the event loop's own, so that a thousand of them cost the loop one
wake-up. The first lane holds connections on which no byte of a response has arrived; it is emptied before every small
batch of the other, so a first token is read within a millisecond or two of its arrival even while this process is
behind with the rest. That matters because a read returns one kernel stamp, its last segment's: a first token that waits
until the second has arrived takes on the second's stamp.

``since`` bounds what kernel stamps cannot see. It is the last time this process is known to have been caught up (every
ready socket had been taken) or to have just woken up from waiting. Bytes read now arrived after it, so a read that
holds several events waited at most ``now − since``.
"""

from __future__ import annotations

import asyncio
import select
import time
from collections.abc import Callable
from typing import Protocol

_now = time.monotonic_ns
_ran = time.thread_time_ns
_BATCH = 32
_LANE = 1024
# Shorter pauses than this are the loop's own bookkeeping, not sleep.
_ASLEEP_NS = 50_000


class Poller(Protocol):
    """Watches sockets for readability."""

    since: int  # CLOCK_MONOTONIC ns; 0 where it cannot be told

    def add(self, fd: int, callback: Callable[[], None]) -> None:
        """Watches ``fd``, in the first lane."""
        ...

    def flowing(self, fd: int) -> None:
        """The first bytes of a response have come: to the ordinary lane."""
        ...

    def waiting(self, fd: int) -> None:
        """The response is over: back to the first lane."""
        ...

    def remove(self, fd: int) -> None:
        """Watches ``fd`` no more; harmless when it wasn't."""
        ...

    def close(self) -> None:
        """Ends all watching."""
        ...


def make_poller(loop: asyncio.AbstractEventLoop) -> Poller:
    """The best poller of this platform."""
    return LanePoller(loop) if hasattr(select, "epoll") else LoopPoller(loop)


class LoopPoller:
    """The event loop's own readers: no lanes, and no knowledge of when it was caught up."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.since = 0

    def add(self, fd: int, callback: Callable[[], None]) -> None:
        """Watches ``fd``."""
        self._loop.add_reader(fd, callback)

    def flowing(self, fd: int) -> None:
        """Nothing to do without lanes."""

    def waiting(self, fd: int) -> None:
        """Nothing to do without lanes."""

    def remove(self, fd: int) -> None:
        """Watches ``fd`` no more."""
        self._loop.remove_reader(fd)

    def close(self) -> None:
        """Nothing of its own to close."""


class LanePoller:
    """Two epoll sets (epoll(7)) nested in the loop's."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._first = select.epoll()
        self._flow = select.epoll()
        self._callbacks: dict[int, Callable[[], None]] = {}
        self._flowing: set[int] = set()
        self.since = _now()
        self._seen = self.since
        self._seen_ran = _ran()
        loop.add_reader(self._first.fileno(), self._take_first)
        loop.add_reader(self._flow.fileno(), self._take)

    def add(self, fd: int, callback: Callable[[], None]) -> None:
        """Watches ``fd``, in the first lane."""
        self._callbacks[fd] = callback
        self._first.register(fd, select.EPOLLIN)

    def flowing(self, fd: int) -> None:
        """Moves ``fd`` to the ordinary lane."""
        self._first.unregister(fd)
        self._flow.register(fd, select.EPOLLIN)
        self._flowing.add(fd)

    def waiting(self, fd: int) -> None:
        """Moves ``fd`` back to the first lane, if it had left it."""
        if fd in self._flowing:
            self._flowing.discard(fd)
            self._flow.unregister(fd)
            self._first.register(fd, select.EPOLLIN)

    def remove(self, fd: int) -> None:
        """Watches ``fd`` no more."""
        if self._callbacks.pop(fd, None) is None:
            return
        lane = self._flow if fd in self._flowing else self._first
        self._flowing.discard(fd)
        lane.unregister(fd)

    def close(self) -> None:
        """Ends all watching."""
        for lane in (self._first, self._flow):
            if not lane.closed:
                self._loop.remove_reader(lane.fileno())
                lane.close()

    def _wake(self) -> int:
        """Notes whether the process has been asleep since it was last here; returns the time."""
        now, ran = _now(), _ran()
        if now - self._seen - (ran - self._seen_ran) > _ASLEEP_NS:
            self.since = now
        self._seen, self._seen_ran = now, ran
        return now

    def _take_first(self) -> None:
        self._wake()  # or an answer that came in one piece would count as waiting since it was asked for
        self._serve(self._first.poll(0, _LANE))

    def _take(self) -> None:
        now = self._wake()
        self._serve(self._first.poll(0, _LANE))
        ready = self._flow.poll(0, _BATCH)
        self._serve(ready)
        if len(ready) < _BATCH:
            self.since = now

    def _serve(self, ready: list[tuple[int, int]]) -> None:
        callbacks = self._callbacks
        for fd, _ in ready:
            # An earlier callback of this batch may have closed it.
            callback = callbacks.get(fd)
            if callback is not None:
                callback()
