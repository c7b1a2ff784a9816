"""The event loop of the wire on Linux: asyncio with our sockets served inside its selector.

An event loop treats every readable socket as a callback of its own. Ours are read in the selector, straight from the
list that epoll returned, and asyncio is only bothered when it has something to do. Measured with 1,000 streams paced at
20 ms on one core (CPU-s per million events; a bare C reader takes 8.0): uvloop's readers 14.1, readers in an epoll set
nested in uvloop's 14.6, two such sets as lanes 18.5, asyncio's readers 15.1, this 13.1.

It also knows two things that no library's loop tells:

- **Order.** Connections that still wait for the first byte of a response are read before the others. A read returns one
  kernel stamp, its last segment's, so a first token must not wait until the second has come.
- ``since``: when this process was last caught up with its sockets, or woke up. Bytes read now arrived after it, which
  bounds how long the first event of a read that holds several can have waited.
"""

from __future__ import annotations

import asyncio
import contextlib
import select
import selectors
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from relaymark.wire.flow import READABLE, Flow, read_ready

_now = time.monotonic_ns
_IN = READABLE
_OUT: int = getattr(select, "EPOLLOUT", 4)
# Served before asyncio gets its turn. With 1,024 at 10 ms a token, 1,000 streams that ended together were all read to
# their ends before the first was followed by another: 0.4 % of the load was not carried.
_MOST = 128
_ORDERLESS = 32  # so few take well under a millisecond, in whatever order
# A poll that took longer than this has waited. (Being preempted for as long looks the same from here; the kernel
# stamps of reads that hold one event show that.)
_SLEPT_NS = 30_000
# While reads come faster than one in 50 µs, sockets are polled four times in a millisecond and not at every read. The
# kernel stamps what waits meanwhile, so no time is wrong; what a turn adds is in the client-added latency. Costs per
# million events at 48,500/s: 10.7-11.6 CPU-s instead of 14.4-16.1.
_TURN_NS = 250_000
_COUNTED = 128
_BUSY_WITHIN_NS = _COUNTED * 50_000
_BEHIND = 16
_Callback = Callable[[], None]


class HotSelector(selectors.BaseSelector):
    """An epoll selector with two kinds of descriptors: asyncio's, returned as usual, and hot ones, served at once.

    Attributes:
        since: CLOCK_MONOTONIC ns; see the module.
        attention: Set by whoever gives asyncio something to do from inside a hot callback (a future's result): the
            selector then returns instead of polling on.
        behind: The last poll found many sockets with something to read.
    """

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._keys: dict[int, selectors.SelectorKey] = {}
        self._masks: dict[int, int] = {}  # hot descriptors and the events they are watched for
        self._flows: dict[int, Flow] = {}
        self._readers: dict[int, _Callback] = {}
        self._writers: dict[int, _Callback] = {}
        self._waiting: set[int] = set()  # hot, and no byte of a response has come
        self.since = _now()
        self.attention = False
        self.behind = False
        self._busy = False
        self._counted = 0  # descriptors served since ``_counted_from``
        self._counted_from = self.since

    # -- hot descriptors ----------------------------------------------------------------------------------------

    def add_flow(self, fd: int, flow: Flow) -> None:
        """Reads ``flow`` when its socket ``fd`` can be read; as one that waits for a first byte."""
        self._flows[fd] = flow
        self._waiting.add(fd)
        self._watch(fd, _IN)

    def add_reader(self, fd: int, callback: _Callback) -> None:
        """Serves ``fd`` when it can be read; as one that waits for a first byte."""
        self._readers[fd] = callback
        self._waiting.add(fd)
        self._watch(fd, _IN)

    def add_writer(self, fd: int, callback: _Callback) -> None:
        """Serves ``fd`` when it can be written."""
        self._writers[fd] = callback
        self._watch(fd, _OUT)

    def remove_writer(self, fd: int) -> None:
        """Serves writing no more; harmless when it wasn't."""
        if self._writers.pop(fd, None) is not None:
            self._unwatch(fd, _OUT)

    def remove(self, fd: int) -> None:
        """Watches ``fd`` no more; harmless when it wasn't. Call it before the descriptor is closed."""
        self._flows.pop(fd, None)
        self._readers.pop(fd, None)
        self._writers.pop(fd, None)
        self._waiting.discard(fd)
        if self._masks.pop(fd, None) is not None:
            self._epoll.unregister(fd)

    def flowing(self, fd: int) -> None:
        """The first bytes of a response have come: served in its turn."""
        self._waiting.discard(fd)

    def waiting(self, fd: int) -> None:
        """The response is over: what comes next is a first byte again."""
        self._waiting.add(fd)

    def _watch(self, fd: int, event: int) -> None:
        mask = self._masks.get(fd)
        self._masks[fd] = (mask or 0) | event
        if mask is None:
            self._epoll.register(fd, event)
        else:
            self._epoll.modify(fd, mask | event)

    def _unwatch(self, fd: int, event: int) -> None:
        mask = self._masks[fd] & ~event
        if mask:
            self._masks[fd] = mask
            self._epoll.modify(fd, mask)
        else:
            del self._masks[fd]
            self._epoll.unregister(fd)

    # -- the loop's own -----------------------------------------------------------------------------------------

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Serves hot descriptors until asyncio has something to do; returns its ready ones."""
        end = None if timeout is None else _now() + int(max(0.0, timeout) * 1e9)
        while True:
            before = _now()
            wait = -1.0 if end is None else max(0, end - before) / 1e9
            ready = self._epoll.poll(wait, _MOST)
            after = _now()
            caught_up = after if after - before > _SLEPT_NS else before
            if not ready or after - before > _SLEPT_NS:
                self.since = caught_up
            self.behind = len(ready) > _BEHIND
            cold = self._serve(ready) if ready else []
            if len(ready) < _MOST:
                self.since = caught_up
            if cold or self.attention or (end is not None and _now() >= end):
                self.attention = False
                return cold
            self._count(len(ready), after)
            if self._busy:
                self._nap(after + _TURN_NS, end)

    def _count(self, served: int, now: int) -> None:
        self._counted += served
        if self._counted >= _COUNTED:
            self._busy = now - self._counted_from < _BUSY_WITHIN_NS
            self._counted, self._counted_from = 0, now

    def _nap(self, until: int, end: int | None) -> None:
        """Waits for ``until`` or for a descriptor of asyncio's, such as the timer of the next send."""
        left = (until if end is None else min(until, end)) - _now()
        if left > 0:
            # Not epoll, which waits in whole milliseconds.
            select.select(self._keys, (), (), left / 1e9)

    def _serve(self, ready: list[tuple[int, int]]) -> list[tuple[selectors.SelectorKey, int]]:
        """Serves the hot ones, first bytes first; returns the others as asyncio wants them."""
        if len(ready) > _ORDERLESS:
            waiting = self._waiting
            first = [pair for pair in ready if pair[0] in waiting]
            if first:
                ready = first + [pair for pair in ready if pair[0] not in waiting]
        cold: list[tuple[selectors.SelectorKey, int]] = []
        for fd, event in read_ready(ready, self._flows, self.since):
            if fd in self._masks:
                self._serve_rare(fd, event)
            else:
                self._collect(cold, fd, event)
        return cold

    def _serve_rare(self, fd: int, event: int) -> None:
        """TLS, writability, errors and hang-ups: the callbacks find out by their system calls.

        Reading comes first: a server that refuses an upload half-way answers and then resets, and a write would only
        meet the reset.
        """
        if event & ~_OUT:
            reader = self._readers.get(fd)
            if reader is not None:
                reader()
            else:
                read_ready(((fd, _IN),), self._flows, self.since)
        writer = self._writers.get(fd)
        if writer is not None and event & ~_IN:
            writer()

    def _collect(self, cold: list[tuple[selectors.SelectorKey, int]], fd: int, event: int) -> None:
        key = self._keys.get(fd)
        if key is not None:
            events = (selectors.EVENT_WRITE if event & ~_IN else 0) | (selectors.EVENT_READ if event & ~_OUT else 0)
            cold.append((key, events & key.events))

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        """As :meth:`selectors.BaseSelector.register`."""
        fd = fileobj if isinstance(fileobj, int) else int(fileobj.fileno())
        if fd in self._keys:
            raise KeyError(f"descriptor {fd} is registered already")
        key = selectors.SelectorKey(fileobj, fd, events, data)
        mask = (_IN if events & selectors.EVENT_READ else 0) | (_OUT if events & selectors.EVENT_WRITE else 0)
        self._epoll.register(fd, mask)
        self._keys[fd] = key
        return key

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        """As :meth:`selectors.BaseSelector.unregister`."""
        fd = fileobj if isinstance(fileobj, int) else int(fileobj.fileno())
        key = self._keys.pop(fd)
        with contextlib.suppress(OSError):  # closed already: epoll has forgotten it by itself
            self._epoll.unregister(fd)
        return key

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        """asyncio's own descriptors by number."""
        return self._keys

    def close(self) -> None:
        """Closes the epoll descriptor."""
        self._epoll.close()
        self._keys.clear()


class HotLoop(asyncio.SelectorEventLoop):
    """asyncio's selector loop over a :class:`HotSelector`."""

    def __init__(self) -> None:
        self.hot = HotSelector()
        super().__init__(self.hot)


def new_loop() -> asyncio.AbstractEventLoop:
    """The best loop of this platform: ours with epoll, else uvloop where it is installed, else asyncio's own."""
    if hasattr(select, "epoll"):
        return HotLoop()
    if sys.platform != "win32":
        try:
            import uvloop  # noqa: PLC0415 - an optional speed-up
        except ImportError:
            pass
        else:
            return uvloop.new_event_loop()
    return asyncio.new_event_loop()


def loop_name() -> str:
    """What :func:`new_loop` gives, for a run's record."""
    if hasattr(select, "epoll"):
        return "asyncio, sockets served in its epoll selector"
    loop = new_loop()
    name = type(loop).__module__.partition(".")[0]
    loop.close()
    return name
