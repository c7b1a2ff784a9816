"""One request and the response to it, while both are in flight: what the hot path appends to."""

from __future__ import annotations

import asyncio
from array import array
from typing import TYPE_CHECKING, Any

from relaymark.dialects.http1 import NEED_MORE, ResponseFramer
from relaymark.trace import Capture, TransferEnd
from relaymark.wire.limits import Limits

if TYPE_CHECKING:
    from relaymark.wire.connection import Connection


_READ_OVERHEAD = 250  # four objects of a read beside its bytes


class Exchange:
    """State of one attempt. ``put`` takes four things per read: user stamp, kernel stamp, ``since``, the bytes.

    They all go into one list. With 1,000 streams every read finds its own stream's memory cold, so what counts is the
    number of objects touched, and one list is one; it is taken apart when the exchange is sealed.
    """

    __slots__ = (
        "_skipped",
        "address",
        "body",
        "budget",
        "capture",
        "connected",
        "connection",
        "framer",
        "future",
        "head",
        "kernel_stamped",
        "limits",
        "put",
        "reads",
        "sent",
        "started",
        "unsent",
    )

    def __init__(self, capture: Capture, head: bytes, body: bytes | memoryview, limits: Limits, started: int) -> None:
        self.capture = capture
        self.head = head
        self.body = body
        self.limits = limits
        self.frame_afresh()
        self.future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.started = started
        self.connected = 0
        self.sent = 0
        self.address = 0  # index into the target's addresses being tried
        self.connection: Connection | None = None
        self.unsent: memoryview | None = None
        self.reads: list[Any] = []
        self.put = self.reads.append
        self.kernel_stamped = False

    def frame_afresh(self) -> None:
        """Expects a response from its first byte."""
        self.framer = ResponseFramer(self.limits.header, self.limits.body)
        self.budget = 0
        self._skipped = 0

    def frame(self, data: bytes, left: int) -> int:
        """Follows the framing of a read that was put; the framer's code. ``left`` is what a flow left of the budget.

        A flow takes whole chunks without telling payload from size lines, so what it took counts with both. Where the
        body's cap might be passed by that count, the framer is shown everything: where a response is cut must not
        depend on the way taken.
        """
        self._skipped += self.budget - left
        body = self.limits.body
        code = self.framer.feed(data)
        if code >= 0 and self._skipped and self.framer.announced + self._skipped > body:
            self._skipped = 0
            self.framer = ResponseFramer(self.limits.header, body)
            code = self.framer.feed(b"".join(self.reads[3::4]))
        between = code == NEED_MORE and self.framer.between_chunks
        self.budget = max(0, body - self.framer.announced - self._skipped) if between else 0
        return code

    @property
    def silent(self) -> bool:
        """True while no byte of the response has arrived."""
        return not self.reads

    @property
    def count(self) -> int:
        """Number of reads so far."""
        return len(self.reads) // 4

    @property
    def last_read(self) -> int:
        """User stamp of the last read; there must have been one."""
        return self.reads[-4]

    @property
    def weight(self) -> int:
        """About the bytes of memory that it holds."""
        return self._skipped + self.framer.announced + _READ_OVERHEAD * self.count

    def over(self, end: TransferEnd, error: str, ended: int, wall_offset: int) -> None:
        """Notes how and when it ended; nothing is packed yet."""
        capture = self.capture
        capture.end = end
        capture.error = error
        capture.ended = ended
        capture.wall_offset_ns = wall_offset

    def seal(self) -> Capture:
        """Packs what was gathered into the capture; call it once, after the exchange is over."""
        capture = self.capture
        capture.started = self.started
        capture.connected = self.connected or None
        capture.sent = self.sent or None
        capture.bytes_out = (len(self.head) + len(self.body)) if self.sent else 0
        reads = self.reads
        capture.user_ns = array("q", reads[0::4]).tobytes()
        if self.kernel_stamped:
            capture.kernel_ts = b"".join(reads[1::4])
        capture.since_ns = array("q", reads[2::4]).tobytes()
        data: list[bytes] = reads[3::4]
        capture.sizes = array("I", map(len, data)).tobytes()
        capture.raw = data[0] if len(data) == 1 else b"".join(data)
        return capture
