"""Where a response ends, seen through a real socket: framing, not payload, decides."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from raw_server import Peer, RawServer, answers, chunked, head, meet, sizes, user_stamps, with_length

from relaymark.trace import Capture, TransferEnd
from relaymark.wire import Limits

TRICKS = [b"0\r\n\r\n", b"\r\n\r\n", b"data: [DONE]\n\n0\r\n\r\nHTTP/1.1 500 No\r\n\r\n", b"\r\n5\r\n", b"\x00\xff" * 9]


def consistent(captured: Capture) -> None:
    """What every capture with bytes must satisfy."""
    user = user_stamps(captured)
    assert len(user) == len(sizes(captured))
    assert sum(sizes(captured)) == len(captured.raw)
    assert user == sorted(user)
    assert captured.started is not None and captured.ended is not None
    assert captured.connected is not None and captured.sent is not None
    assert captured.started <= captured.connected <= captured.sent <= user[0] <= user[-1] <= captured.ended
    if captured.end is TransferEnd.COMPLETE:
        assert captured.ended == user[-1]


@pytest.mark.parametrize("loop", ["uvloop", "asyncio"])
@pytest.mark.parametrize("payload", [b"", b"hello", *TRICKS])
def test_a_counted_body_ends_at_its_length_and_the_connection_is_used_again(payload: bytes, loop: str) -> None:
    response = with_length(payload)
    with RawServer(answers(response)) as server:
        first, second = meet(server.url, times=2, loop=loop)
        assert len(server.peers) == 1
    for captured in (first, second):
        assert captured.end is TransferEnd.COMPLETE
        assert captured.raw == response
        assert captured.error == ""
        assert captured.reconnects == 0
        consistent(captured)
    head_, body = server.peers[0].requests[0]
    assert first.bytes_out == len(head_) + 4 + len(body)


@pytest.mark.parametrize("loop", ["uvloop", "asyncio"])
def test_a_chunked_body_whose_payload_looks_like_the_end(loop: str) -> None:
    response = head("Transfer-Encoding: chunked") + chunked(*TRICKS)
    with RawServer(answers(response)) as server:
        captures = meet(server.url, times=3, loop=loop)
        assert len(server.peers) == 1
    assert [captured.raw for captured in captures] == [response] * 3


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.one_of(st.sampled_from(TRICKS), st.binary(min_size=1, max_size=30)), min_size=1, max_size=5),
    st.lists(st.integers(1, 60), max_size=12),
)
def test_any_split_of_a_chunked_response_is_one_response(pieces: list[bytes], cuts: list[int]) -> None:
    response = head("Transfer-Encoding: chunked", "X: y") + chunked(*pieces)
    writes: list[bytes] = []
    rest = response
    for cut in cuts:
        writes.append(rest[:cut])
        rest = rest[cut:]
    writes.append(rest)
    with RawServer(answers(*writes)) as server:
        first, second = meet(server.url, times=2)
        assert len(server.peers) == 1
    for captured in (first, second):
        assert captured.end is TransferEnd.COMPLETE
        assert captured.raw == response
        consistent(captured)


def test_without_a_length_the_close_is_the_end() -> None:
    response = head("Content-Type: text/event-stream") + b"data: 0\r\n\r\n"

    def handler(peer: Peer) -> None:
        peer.request()
        peer.send(response)

    with RawServer(handler) as server:
        first, second = meet(server.url, times=2)
        assert len(server.peers) == 2
    assert (first.end, first.raw) == (TransferEnd.COMPLETE, response)
    assert (second.end, second.raw, second.reconnects) == (TransferEnd.COMPLETE, response, 0)


def test_compressed_bytes_are_kept_as_they_came() -> None:
    body = gzip.compress(b'{"choices": []}' * 50)
    response = with_length(body, "Content-Encoding: gzip")
    with RawServer(answers(response)) as server:
        (captured,) = meet(server.url)
    assert captured.raw.endswith(body)


def test_interim_responses_come_before_the_answer_and_are_not_it() -> None:
    interim = head(status="100 Continue") + head("Link: </x>", status="103 Early Hints")
    with RawServer(answers(interim, with_length(b"answer"))) as server:
        captures = meet(server.url, times=2)
        assert len(server.peers) == 1
    assert all(c.end is TransferEnd.COMPLETE and c.raw == interim + with_length(b"answer") for c in captures)


@pytest.mark.parametrize(
    "garbage",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"\x16\x03\x01\x02\x00",
        b"HTTP/2 200\r\n\r\n",
        b"<html>no</html>\r\n\r\n",
        bytes(100),
    ],
)
def test_what_is_not_http_is_bad_framing_at_once(garbage: bytes) -> None:
    def handler(peer: Peer) -> None:
        peer.request()
        peer.send(garbage)
        peer.wait_closed()  # the client must not wait for more

    with RawServer(handler) as server:
        (captured,) = meet(server.url)
    assert captured.end is TransferEnd.BAD_FRAMING
    assert captured.error
    assert captured.raw == garbage


def test_a_broken_chunk_is_bad_framing_and_the_connection_is_not_used_again() -> None:
    broken = head("Transfer-Encoding: chunked") + b"5\r\nhello\r\nzz\r\n"

    def handler(peer: Peer) -> None:
        peer.request()
        peer.send(broken if peer.number == 0 else with_length(b"fine"))
        peer.wait_closed()

    with RawServer(handler) as server:
        first, second = meet(server.url, times=2)
        assert len(server.peers) == 2
    assert first.end is TransferEnd.BAD_FRAMING
    assert second.end is TransferEnd.COMPLETE


@pytest.mark.parametrize(
    "response",
    [
        with_length(b"x" * 5000),
        head("Transfer-Encoding: chunked") + chunked(b"x" * 600, b"x" * 600),
        head("Connection: close") + b"x" * 5000,
        head("X-Long: " + "y" * 5000, "Content-Length: 0"),
    ],
    ids=["length", "chunked", "close", "header"],
)
def test_more_than_the_cap_is_cut_off(response: bytes) -> None:
    def handler(peer: Peer) -> None:
        peer.request()
        peer.send(response)
        peer.wait_closed()

    with RawServer(handler) as server:
        (captured,) = meet(server.url, limits=Limits(header=2000, body=1000))
    assert captured.end is TransferEnd.TOO_LARGE
    assert "above" in captured.error


def test_bytes_after_the_end_leave_a_connection_nobody_trusts() -> None:
    def handler(peer: Peer) -> None:
        while peer.request() is not None:
            peer.send(with_length(b"one") + with_length(b"nobody asked"))

    with RawServer(handler) as server:
        captures = meet(server.url, times=2)
        assert len(server.peers) == 2
    assert all(captured.end is TransferEnd.COMPLETE for captured in captures)
    assert all(b"nobody asked" not in captures[1].raw[:60] for captured in captures)


@pytest.mark.parametrize("lines", [["Connection: close"], ["connection: Keep-Alive, CLOSE"]])
def test_connection_close_is_honoured(lines: list[str]) -> None:
    def handler(peer: Peer) -> None:
        peer.request()
        peer.send(with_length(b"bye", *lines))
        peer.wait_closed()

    with RawServer(handler) as server:
        captures = meet(server.url, times=3)
        assert len(server.peers) == 3
    assert all(c.end is TransferEnd.COMPLETE and c.reconnects == 0 for c in captures)


def test_without_keep_alive_each_request_has_its_own_connection() -> None:
    with RawServer(answers(with_length(b"x"))) as server:
        captures = meet(server.url, times=3, keep_alive=False)
        assert len(server.peers) == 3
    assert all(captured.end is TransferEnd.COMPLETE for captured in captures)


def test_http_1_0_without_keep_alive_is_not_reused() -> None:
    def handler(peer: Peer) -> None:
        peer.request()
        peer.send(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok")
        peer.wait_closed()

    with RawServer(handler) as server:
        captures = meet(server.url, times=2)
        assert len(server.peers) == 2
    assert all(captured.end is TransferEnd.COMPLETE for captured in captures)
