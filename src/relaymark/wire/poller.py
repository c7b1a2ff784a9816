"""What a connection needs of an event loop: to be told when its socket can be read or written, and since when."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from relaymark.wire.flow import READABLE, Flow, read_ready
from relaymark.wire.loop import HotLoop


class Poller(Protocol):
    """Watches sockets."""

    since: int  # no byte read now was there unread before (CLOCK_MONOTONIC ns); 0 where that cannot be told
    attention: bool  # to be set when asyncio is given something to do
    behind: bool  # the last poll found many sockets with something to read

    def add_flow(self, fd: int, flow: Flow) -> None:
        """Reads ``flow`` when its socket ``fd`` can be read."""
        ...

    def add_reader(self, fd: int, callback: Callable[[], None]) -> None:
        """Calls back when ``fd`` can be read."""
        ...

    def add_writer(self, fd: int, callback: Callable[[], None]) -> None:
        """Calls back when ``fd`` can be written."""
        ...

    def remove_writer(self, fd: int) -> None:
        """No longer when it can be written; harmless when it wasn't watched."""
        ...

    def remove(self, fd: int) -> None:
        """No longer at all; harmless when it wasn't watched."""
        ...

    def flowing(self, fd: int) -> None:
        """The first bytes of a response have come."""
        ...

    def waiting(self, fd: int) -> None:
        """The response is over; what comes next is a first byte."""
        ...


class LoopPoller:
    """Any loop's own readers: no order among them, and no knowledge of when it was caught up."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.since = 0
        self.attention = False
        self.behind = False
        self._loop = loop

    def add_flow(self, fd: int, flow: Flow) -> None:
        """Reads ``flow`` when its socket ``fd`` can be read."""
        self._loop.add_reader(fd, read_ready, ((fd, READABLE),), {fd: flow}, 0)

    def add_reader(self, fd: int, callback: Callable[[], None]) -> None:
        """Calls back when ``fd`` can be read."""
        self._loop.add_reader(fd, callback)

    def add_writer(self, fd: int, callback: Callable[[], None]) -> None:
        """Calls back when ``fd`` can be written."""
        self._loop.add_writer(fd, callback)

    def remove_writer(self, fd: int) -> None:
        """No longer when it can be written."""
        self._loop.remove_writer(fd)

    def remove(self, fd: int) -> None:
        """No longer at all."""
        self._loop.remove_reader(fd)
        self._loop.remove_writer(fd)

    def flowing(self, fd: int) -> None:
        """Nothing to do without an order."""

    def waiting(self, fd: int) -> None:
        """Nothing to do without an order."""


def poller_of(loop: asyncio.AbstractEventLoop) -> Poller:
    """The loop's hot selector where it has one, else its plain readers."""
    return loop.hot if isinstance(loop, HotLoop) else LoopPoller(loop)
