"""The framer against a plain oracle: any response, any split, one answer."""

from __future__ import annotations

import pytest
from dialect_captures import chunk, cut, head
from hypothesis import given, settings
from hypothesis import strategies as st

from relaymark.dialects import BAD_FRAMING, COMPLETE, NEED_MORE, TOO_LARGE, ResponseFramer, parse_response

FAST = settings(deadline=None, max_examples=150)


def framed(
    reads: list[bytes], max_header: int = 65536, max_body: int = 1 << 20, **kw: bool
) -> tuple[int, ResponseFramer, int]:
    """Feed reads until the framer has an answer; the code, the framer, and all bytes beyond the end."""
    framer = ResponseFramer(max_header, max_body, **kw)
    code = NEED_MORE
    for i, data in enumerate(reads):
        code = framer.feed(data)
        if code == COMPLETE:
            return code, framer, framer.trailing + sum(map(len, reads[i + 1 :]))
        if code < 0:
            break
    return code, framer, 0


payloads = st.one_of(
    st.binary(min_size=1, max_size=40),
    st.sampled_from(
        [
            b"0\r\n\r\n",
            b"\r\n0\r\n\r\n",
            b"5\r\nhello\r\n",
            b"\n",
            b"\r",
            b"data: [DONE]\n\n",
            b"HTTP/1.1 200 OK\r\n\r\n",
        ]
    ),
    st.integers(1, 600).map(lambda n: b"x" * n),
)
splits = st.lists(st.integers(0, 3000), max_size=12)


@FAST
@given(st.lists(payloads, max_size=8), st.data(), splits, st.binary(max_size=6), st.booleans())
def test_chunked_any_split(
    pieces: list[bytes], data: st.DataObject, places: list[int], beyond: bytes, bare: bool
) -> None:
    raw = head("Transfer-Encoding: chunked")
    for piece in pieces:
        size = data.draw(st.sampled_from(["%x", "%X", "%04x", "%x;name=v", '%x ; a="0"'])) % len(piece)
        raw += size.encode() + b"\r\n" + piece + b"\r\n"
    raw += data.draw(st.sampled_from([b"0\r\n\r\n", b"000\r\n\r\n", b"0;x\r\nT: 1\r\nU: 2\r\n\r\n"]))
    if bare and all(b"\r" not in piece for piece in pieces):
        raw = raw.replace(b"\r\n", b"\n")
    reads = cut(raw + beyond, places)
    code, framer, left = framed(reads)
    assert (code, framer.status, left, framer.keep_alive) == (COMPLETE, 200, len(beyond), True)
    parsed = parse_response(raw + beyond, [len(read) for read in reads])
    assert parsed.complete
    assert parsed.body == b"".join(pieces)
    assert parsed.trailing == len(beyond)
    # Any true prefix is unfinished, and a close there is a cut.
    whole = len(raw)
    stop = data.draw(st.integers(0, whole - 1))
    code, framer, _ = framed(cut(raw[:stop], places))
    assert (code, framer.eof()) == (NEED_MORE, False)


@FAST
@given(st.binary(max_size=300), splits, st.binary(max_size=5))
def test_content_length_any_split(payload: bytes, places: list[int], beyond: bytes) -> None:
    raw = head("Content-Type: x", f"Content-Length: {len(payload)}") + payload
    code, framer, left = framed(cut(raw + beyond, places))
    assert (code, left, framer.keep_alive) == (COMPLETE, len(beyond), True)
    assert parse_response(raw + beyond, [len(raw + beyond)]).body == payload


@FAST
@given(st.binary(max_size=300), splits)
def test_close_delimited(payload: bytes, places: list[int]) -> None:
    code, framer, _ = framed(cut(head("x: y", version="1.0") + payload, places))
    assert (code, framer.eof(), framer.keep_alive) == (NEED_MORE, True, False)


@FAST
@given(
    st.one_of(st.binary(max_size=200), st.binary(max_size=100).map(lambda tail: b"HTTP/1.1 200 OK\r\n" + tail)), splits
)
def test_any_bytes_same_answer_in_any_split(raw: bytes, places: list[int]) -> None:
    one, framer, beyond = framed([raw])
    other, again, beyond_again = framed(cut(raw, places))
    assert (one, framer.status, beyond, framer.eof()) == (other, again.status, beyond_again, again.eof())
    parsed = parse_response(raw, [len(raw)])
    assert parsed.complete == (one == COMPLETE)
    assert bool(parsed.framing_error) == (one < 0)


HELLO = b"5\r\nhello\r\n0\r\n\r\n"


@pytest.mark.parametrize(
    ("raw", "code", "keep_alive"),
    [
        (head("content-length: 0"), COMPLETE, True),
        (head("content-length: 5", status="204 No Content"), COMPLETE, True),
        (head("content-length: 5", status="304 Not Modified"), COMPLETE, True),
        (
            head(status="100 Continue") + head("link: x", status="103 Early Hints") + head("content-length: 0"),
            COMPLETE,
            True,
        ),
        (head("content-length: 5", "content-length: 5") + b"hello", COMPLETE, True),
        (head("content-length: 5, 5") + b"hello", COMPLETE, True),
        (head("content-length: 005") + b"hello", COMPLETE, True),
        (head("content-length: 5", "content-length: 6") + b"hello", BAD_FRAMING, False),
        (head("content-length: -5") + b"hello", BAD_FRAMING, False),
        (head("content-length: +5") + b"hello", BAD_FRAMING, False),
        (head("content-length: 0x5") + b"hello", BAD_FRAMING, False),
        (head("content-length:") + b"hello", BAD_FRAMING, False),
        (head("content-length: 99999999999999999999999"), TOO_LARGE, False),
        (head("connection: close", "content-length: 0"), COMPLETE, False),
        (head("Connection: Keep-Alive, Close", "content-length: 0"), COMPLETE, False),
        (head("content-length: 0", version="1.0"), COMPLETE, False),
        (head("connection: keep-alive", "content-length: 0", version="1.0"), COMPLETE, True),
        (head("transfer-encoding: chunked", "content-length: 3") + HELLO, COMPLETE, False),
        (head("transfer-encoding: Chunked") + HELLO, COMPLETE, True),
        (head("transfer-encoding: gzip, chunked") + HELLO, COMPLETE, True),
        (head("transfer-encoding: identity", "content-length: 5") + b"hello", COMPLETE, True),
        (head("transfer-encoding: gzip") + b"hello", NEED_MORE, False),
        (head("transfer-encoding: chunked, chunked") + HELLO, BAD_FRAMING, False),
        (head("transfer-encoding:", " chunked") + HELLO, COMPLETE, True),
        (head("x: a", "\tb", "content-length: 0"), COMPLETE, True),
        (head("transfer-encoding: chunked") + b"data: hello", BAD_FRAMING, False),
        (head("transfer-encoding: chunked") + b"5\r\nhelloX\r\n", BAD_FRAMING, False),
        (head("transfer-encoding: chunked") + b"+5\r\nhello\r\n", BAD_FRAMING, False),
        (head("transfer-encoding: chunked") + b"0x5\r\nhello\r\n", BAD_FRAMING, False),
        (head("transfer-encoding: chunked") + b"1_0\r\n", BAD_FRAMING, False),
        (head("transfer-encoding: chunked") + b"\r\n", BAD_FRAMING, False),
        (head("transfer-encoding: chunked") + b"-5\r\nhello\r\n", BAD_FRAMING, False),
        (head("transfer-encoding: chunked") + b"fffffffffffffffff\r\n", BAD_FRAMING, False),
        (head("transfer-encoding: chunked") + b"ffffffffffffffff\r\n", TOO_LARGE, False),
        (head("no colon"), BAD_FRAMING, False),
        (head(": no name"), BAD_FRAMING, False),
        (head("upgrade: h2c", status="101 Switching Protocols"), BAD_FRAMING, False),
        (b"HTTP/1.1 200\r\ncontent-length: 0\r\n\r\n", COMPLETE, True),
        (b"HTTP/1.1 200 OK\ncontent-length: 0\n\n", COMPLETE, True),
        (b"\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", COMPLETE, True),
        (b"HTTP/1.1 20 OK\r\n\r\n", BAD_FRAMING, False),
        (b"HTTP/1.1 2000 OK\r\n\r\n", BAD_FRAMING, False),
        (b"HTTP/2 200\r\n\r\n", BAD_FRAMING, False),
        (b"<html>", BAD_FRAMING, False),
        (b"\x16\x03\x01\x02", BAD_FRAMING, False),
        (b"S", BAD_FRAMING, False),
    ],
)
def test_rules(raw: bytes, code: int, keep_alive: bool) -> None:
    for reads in ([raw], [raw[i : i + 1] for i in range(len(raw))]):
        got, framer, _ = framed(reads)
        assert (got, framer.keep_alive, bool(framer.error)) == (code, keep_alive, code < 0)


def test_head_request_has_no_body() -> None:
    assert framed([head("content-length: 500")], head_request=True)[0] == COMPLETE


@pytest.mark.parametrize("split", [1, 7, 10_000])
@pytest.mark.parametrize(
    "raw",
    [
        head("x: " + "y" * 3000),
        b"HTTP/1.1 200 " + b"y" * 3000,
        head(status="100 Continue") * 200,
        head("transfer-encoding: chunked") + b"5;" + b"y" * 3000,
        head("transfer-encoding: chunked") + b"0\r\n" + b"a: b\r\n" * 500,
        head("transfer-encoding: chunked") + chunk(b"y" * 250) * 5,
        head("transfer-encoding: chunked") + b"1;" + b"y" * 900 + b"\r\nz\r\n" + b"1;" + b"y" * 900,
        head("content-length: 1001"),
        head("x: y", version="1.0") + b"y" * 1001,
    ],
)
def test_caps(raw: bytes, split: int) -> None:
    reads = [raw[i : i + split] for i in range(0, len(raw), split)]
    code, framer, _ = framed([*reads, b"\r\nz\r\n" * 3], max_header=1000, max_body=1000)
    assert code == TOO_LARGE, framer.error


def test_attributes_and_views() -> None:
    framer = ResponseFramer(1000, 1000)
    assert framer.feed(memoryview(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chu")) == NEED_MORE
    assert (framer.status, framer.headers_done) == (None, False)
    assert framer.feed(bytearray(b"nked\r\n\r\n")) == NEED_MORE
    assert (framer.status, framer.headers_done) == (200, True)
    assert framer.feed(memoryview(chunk(b"x" * 20))) == NEED_MORE
    assert framer.feed(b"0\r\n\r\nHTTP") == COMPLETE
    assert framer.trailing == 4
    assert framer.feed(b"/1.1") == COMPLETE
    assert framer.trailing == 4


def test_every_lone_chunk_size() -> None:
    framer = ResponseFramer(1000, 1 << 40)
    framer.feed(head("transfer-encoding: chunked"))
    for size in range(1, 5000):
        # The payload is full of line ends and ends like a chunk does.
        data = chunk((b"\r\n0\r\n\r\n" * (size // 7 + 1))[-size:])
        assert framer.feed(data) == NEED_MORE
    assert framer.feed(b"0\r\n\r\n") == COMPLETE
