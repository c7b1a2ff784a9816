"""Reading what has come on many sockets: stamp, store, and tell the ends of responses. The hot path.

Per read: one ``recvmsg``, one clock read, four appends, and one look at whether the bytes are exactly one chunk of a
chunked body, which is what a token stream sends. No JSON, no SSE, no logging here; decoding happens after the response,
elsewhere (ARCHITECTURE.md, one request). With 1,000 streams every read finds its own stream's memory cold, so what a
usual read touches is one :class:`Flow` and one list.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from relaymark.dialects.http1 import lone_chunk_lines
from relaymark.wire import stamps

_now = time.monotonic_ns
READABLE = 1  # EPOLLIN, POLLIN
# What fits a block of Python's small-object allocator, which takes a copy of the right size when the read was shorter.
# Above that, what `recvmsg` allocates is cut where it lies, and a hole in the heap that is too small for the next full
# read is lost.
READ_BYTES = 479
# Larger reads go through one buffer for all connections: they are copied out at once, and none spans an await.
_BUFFER = bytearray(1 << 17)
_VIEW = memoryview(_BUFFER)
_BUFFERS = (_BUFFER,)
_LONE_LINE = lone_chunk_lines(len(_BUFFER))
_ANCILLARY = stamps.ANCILLARY_BYTES
_NO_STAMP = stamps.NO_STAMP
_Ancillary = list[tuple[int, int, bytes]]
_Recvmsg = Callable[[int, int], tuple[bytes, _Ancillary, int, Any]]


class Receiver(Protocol):
    """Whom a flow belongs to: a connection."""

    def received(self, data: bytes, now: int, stamp: bytes, since: int) -> None:
        """Takes a read that was not just one more chunk; no bytes are the peer's close.

        Args:
            data: What was read.
            now: User stamp, CLOCK_MONOTONIC ns.
            stamp: The kernel's, a 16-byte ``struct timespec``; zeros where there is none.
            since: See :mod:`relaymark.wire.poller`.
        """

    def lost(self, error: OSError) -> None:
        """The socket failed."""


class Flow:
    """The receiving half of a connection.

    Attributes:
        recv: The socket's ``recvmsg``, or what stands in for it while reads are large.
        put: Takes what :class:`~relaymark.wire.exchange.Exchange` keeps of a read; that of the exchange in flight.
        budget: Bytes that may come as whole chunks without anyone looking: the rest of the cap on a body while that
            body ends between two chunks, else 0.
        owner: Takes every other read.
    """

    __slots__ = ("_into", "_small", "budget", "owner", "put", "recv")

    def __init__(self, sock: socket.socket, owner: Receiver) -> None:
        self.recv: _Recvmsg = sock.recvmsg
        self._small: _Recvmsg = sock.recvmsg
        self._into = sock.recvmsg_into
        self.put: Callable[[Any], None] = _nowhere
        self.budget = 0
        self.owner = owner

    def rest(self) -> None:
        """Carries nothing from now on, and holds nothing of what it carried."""
        self.put = _nowhere
        self.budget = 0

    def end(self) -> None:
        """Holds nothing any more, itself included: nobody collects cycles while a run goes on."""
        self.rest()
        self.recv = self._small

    def whole(self, data: bytes, stamp: bytes) -> tuple[bytes, bytes]:
        """A read, and the kernel's stamp of its end, together with what more there is if it was a full one."""
        if len(data) != READ_BYTES:
            return data, stamp
        try:
            more, ancillary, _, _ = self._large(0, _ANCILLARY)
        except OSError:
            return data, stamp  # nothing more; or an error, which the next read will meet again
        if not more:
            return data, stamp
        self.recv = self._large
        return data + more, ancillary[0][2] if ancillary else _NO_STAMP

    def _large(self, _: int, ancillary_bytes: int) -> tuple[bytes, _Ancillary, int, Any]:
        """In place of ``recvmsg`` until a read is small again."""
        size, ancillary, flags, address = self._into(_BUFFERS, ancillary_bytes)
        if size < READ_BYTES:
            self.recv = self._small
        return bytes(_VIEW[:size]), ancillary, flags, address


def _nowhere(_: object) -> None:
    """No exchange is in flight; ``budget`` is 0 then, so nothing comes here."""


def read_ready(ready: Iterable[tuple[int, int]], flows: Mapping[int, Flow], since: int) -> list[tuple[int, int]]:
    """Reads every flow that can be read and nothing else; returns the other descriptors with their events.

    Args:
        ready: Descriptors and what happened to them, as ``epoll.poll`` gives them.
        flows: By descriptor. Looked up at each turn: serving one may close or open another.
        since: See :mod:`relaymark.wire.poller`.
    """
    others: list[tuple[int, int]] = []
    now, lone_line, flow_of = _now, _LONE_LINE, flows.get
    for fd, event in ready:
        flow = flow_of(fd)
        if flow is None or event != READABLE:
            others.append((fd, event))
            continue
        try:
            data, ancillary, _, _ = flow.recv(READ_BYTES, _ANCILLARY)
        except BlockingIOError:
            continue
        except OSError as error:
            flow.owner.lost(error)
            continue
        size = len(data)
        if size < flow.budget and data.startswith(lone_line[size]) and data.endswith(b"\r\n"):
            flow.budget -= size
            put = flow.put
            put(now())
            put(ancillary[0][2] if ancillary else _NO_STAMP)
            put(since)
            put(data)
        else:
            flow.owner.received(data, now(), ancillary[0][2] if ancillary else _NO_STAMP, since)
    return others
