"""Hot path, framer and decoder: whichever looks at a read, the response ends, or is cut, at the same byte."""

from __future__ import annotations

import asyncio
import itertools
import socket
import time
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from relaymark.dialects.http1 import COMPLETE, NEED_MORE, TOO_LARGE, ResponseFramer
from relaymark.dialects.response import parse_response
from relaymark.trace import Capture
from relaymark.wire.connection import Connection
from relaymark.wire.exchange import Exchange
from relaymark.wire.flow import READ_BYTES, READABLE, Flow, read_ready
from relaymark.wire.limits import Limits

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
PAYLOADS = [b"x", b"data: a\n\n", b"0\r\n\r\n", b"\r\n", b"a\r\n0\r\n\r\n", b"y" * 300, b"z" * 1300]


class Ending:
    """Takes what a connection tells its client."""

    def __init__(self) -> None:
        self.ends: list[tuple[Any, str]] = []

    def over(self, connection: Connection, exchange: Exchange, end: Any, error: str) -> None:
        self.ends.append((end, error))

    def failed_to_connect(self, exchange: Exchange, end: Any, error: str, code: int) -> None:
        raise AssertionError(error)

    def idle(self, connection: Connection) -> None:
        raise AssertionError

    def idle_lost(self, connection: Connection) -> None:
        raise AssertionError


class Receiving(Connection):
    """A connection whose socket is a list of reads."""

    def __init__(self, owner: Ending, exchange: Exchange, reads: list[bytes]) -> None:
        super().__init__(_NoPoller(), owner, None)  # pyright: ignore
        left = iter(reads)
        self.flow = self._flow = Flow(_NO_SOCKET, self)
        self.flow.recv = lambda size, ancillary: (next(left), [], 0, None)
        self.flow.put = exchange.put
        self._exchange = exchange


class _NoSocket:
    def recvmsg(self) -> None: ...

    def recvmsg_into(self, *_: object) -> None:
        raise BlockingIOError


_NO_SOCKET: Any = _NoSocket()


class _NoPoller:
    since = 0

    def flowing(self, fd: int) -> None: ...

    def waiting(self, fd: int) -> None: ...

    def remove(self, fd: int) -> None: ...


def chunk(payload: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(payload), payload)


@settings(deadline=None, max_examples=300)
@given(
    st.lists(st.sampled_from(PAYLOADS), max_size=30),
    st.lists(st.integers(0, 10_000), max_size=6),
    st.sampled_from([60, 400, 1300, 3000, 1 << 20]),
    st.booleans(),
)
def test_flow_and_framer_agree_on_every_split(payloads: list[bytes], cuts: list[int], cap: int, ended: bool) -> None:
    whole = [HEAD, *map(chunk, payloads), *([b"0\r\n\r\n"] if ended else [])]
    # Mostly whole chunks, as servers send them; some reads are cut or joined elsewhere.
    edges = {0}
    for piece in whole:
        edges.add(max(edges) + len(piece))
    stream = b"".join(whole)
    for cut in cuts:
        at = cut % (len(stream) + 1)
        edges ^= {at} if 0 < at < len(stream) else set()
    ordered = sorted(edges)
    reads = [stream[a:b] for a, b in itertools.pairwise(ordered)]

    framer = ResponseFramer(1 << 16, cap)
    expected, seen = NEED_MORE, 0
    for read in reads:
        expected = framer.feed(read)
        seen += 1
        if expected != NEED_MORE:
            break

    async def work() -> tuple[Exchange, Ending]:
        exchange = Exchange(Capture(leg_id=1, task_id=1, request=0), b"", b"", Limits(1 << 16, cap), 0)
        owner = Ending()
        receiving = Receiving(owner, exchange, reads)
        for _ in reads:
            if not owner.ends:
                assert read_ready([(7, READABLE)], {7: receiving.flow}, 0) == []
        return exchange, owner

    exchange, owner = asyncio.run(work())
    assert exchange.count == seen
    assert b"".join(exchange.reads[3::4]) == b"".join(reads[:seen])
    captured = exchange.seal()
    parsed = parse_response(captured.raw, [len(read) for read in reads[:seen]], max_header=1 << 16, max_body=cap)
    assert (parsed.complete, parsed.too_large) == (expected == COMPLETE, expected == TOO_LARGE)
    assert [end.value for end, _ in owner.ends] == {
        NEED_MORE: [],
        COMPLETE: ["complete"],
        TOO_LARGE: ["too_large"],
    }[expected]


def test_large_reads_come_whole_and_small_ones_follow() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        flow = Flow(ours, None)  # pyright: ignore
        ours.setblocking(False)
        for size in (READ_BYTES - 1, READ_BYTES, READ_BYTES + 1, 50_000, 50_000, 3, READ_BYTES, 10):
            sent = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
            theirs.sendall(sent)
            data, *_ = flow.recv(READ_BYTES, 0)
            data, _ = flow.whole(data, b"")
            assert data == sent


def test_reads_of_other_descriptors_are_handed_back_in_order() -> None:
    assert read_ready([(3, 1), (4, 4), (5, 16)], {4: None, 5: None}, time.monotonic_ns()) == [(3, 1), (4, 4), (5, 16)]  # pyright: ignore
