"""One request and the response to it, while both are in flight: what the hot path appends to."""

from __future__ import annotations

import asyncio
from array import array
from typing import TYPE_CHECKING

from relaymark.dialects.http1 import ResponseFramer
from relaymark.trace import Capture, TransferEnd

if TYPE_CHECKING:
    from relaymark.wire.connection import Connection


class Exchange:
    """State of one attempt. Per read it grows a user stamp, a kernel stamp, a size and the bytes; nothing is decoded.

    They go into plain lists, which cost a third of arrays and bytearrays to append to (1.2 µs instead of 2.9 µs
    a read with all that ``Connection`` does), and packing 128 of them at the end costs 25 µs once.
    """

    __slots__ = (
        "address",
        "body",
        "capture",
        "connected",
        "connection",
        "data",
        "feed",
        "framer",
        "future",
        "head",
        "kernel",
        "kernel_stamped",
        "sent",
        "since",
        "started",
        "unsent",
        "user",
    )

    def __init__(
        self, capture: Capture, head: bytes, body: bytes | memoryview, framer: ResponseFramer, started: int
    ) -> None:
        self.capture = capture
        self.head = head
        self.body = body
        self.framer = framer
        self.feed = framer.feed
        self.future: asyncio.Future[Capture] = asyncio.get_running_loop().create_future()
        self.started = started
        self.connected = 0
        self.sent = 0
        self.address = 0  # index into the target's addresses being tried
        self.connection: Connection | None = None
        self.unsent: memoryview | None = None
        self.user: list[int] = []
        self.kernel: list[bytes] = []
        self.since: list[int] = []
        self.data: list[bytes] = []
        self.kernel_stamped = False

    @property
    def silent(self) -> bool:
        """True while no byte of the response has arrived."""
        return not self.data

    def seal(self, end: TransferEnd, error: str, ended: int, wall_offset: int) -> Capture:
        """Packs what was gathered into the capture. Called once, when the exchange is over."""
        capture = self.capture
        capture.started = self.started
        capture.connected = self.connected or None
        capture.sent = self.sent or None
        capture.ended = ended
        capture.end = end
        capture.error = error
        capture.bytes_out = (len(self.head) + len(self.body)) if self.sent else 0
        capture.wall_offset_ns = wall_offset
        capture.user_ns = array("q", self.user).tobytes()
        if self.kernel_stamped:
            capture.kernel_ts = b"".join(self.kernel)
        capture.since_ns = array("q", self.since).tobytes()
        capture.sizes = array("I", map(len, self.data)).tobytes()
        capture.raw = self.data[0] if len(self.data) == 1 else b"".join(self.data)
        return capture
