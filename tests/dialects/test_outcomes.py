"""Precedence of outcomes, error texts, size caps; and any bytes at all."""

from __future__ import annotations

import gzip
import json
import struct
import time

import msgspec
import pytest
from dialect_captures import SSE_HEADERS, body, capture, chunk, cut, decode, delta, head, hello, sse, stream
from hypothesis import given, settings
from hypothesis import strategies as st

from relaymark.dialects import DIALECTS, Decoded, decode_capture
from relaymark.trace import Outcome, TransferEnd

BROKEN = [end for end in TransferEnd if end is not TransferEnd.COMPLETE]


@pytest.mark.parametrize("end", BROKEN)
def test_whatever_happens_after_done_the_answer_is_here(end: TransferEnd) -> None:
    decoded = stream(hello(), last_chunk=False, end=end)
    assert (decoded.outcome, decoded.texts, decoded.end_mark_read) == (Outcome.OK, ["Hello 日本"], 7)
    assert [text for text in decoded.warnings if text.startswith("the answer was complete when the transfer")]


def test_finish_reason_alone_does_not_outlive_a_cut() -> None:
    assert stream(hello()[:6], last_chunk=False, end=TransferEnd.TIMEOUT_IDLE).outcome is Outcome.TIMEOUT_IDLE
    assert stream(hello()[:6], last_chunk=False, end=TransferEnd.RESET).outcome is Outcome.TRUNCATED


@pytest.mark.parametrize("end", list(TransferEnd))
def test_a_whole_response_is_whole_however_the_socket_ended(end: TransferEnd) -> None:
    assert stream(hello(), end=end).outcome is Outcome.OK
    assert body({"error": "x"}, status="500 Oops", end=end).outcome is Outcome.HTTP_ERROR


@pytest.mark.parametrize("end", BROKEN)
def test_status_and_inband_errors_say_more_than_the_socket(end: TransferEnd) -> None:
    reads = [head("content-length: 500", status="502 Bad Gateway"), b"<title>no backend"]
    decoded = decode(reads, end=end)
    assert (decoded.outcome, decoded.http_status, decoded.error_message) == (Outcome.HTTP_ERROR, 502, "no backend")
    failed = stream([*hello()[:3], sse({"error": "boom"})], last_chunk=False, end=end)
    assert (failed.outcome, failed.error_message) == (Outcome.INBAND_ERROR, "boom")


def test_half_a_header_is_a_cut() -> None:
    for end, outcome in (
        (TransferEnd.EOF, Outcome.TRUNCATED),
        (TransferEnd.RESET, Outcome.TRUNCATED),
        (TransferEnd.TIMEOUT_TOTAL, Outcome.TIMEOUT_TOTAL),
    ):
        assert decode([b"HTTP/1.1 200 OK\r\nConte"], end=end).outcome is outcome
    decoded = decode([b"SSH-2.0-OpenSSH_9.2\r\n"], end=TransferEnd.BAD_FRAMING)
    assert decoded.outcome is Outcome.PROTOCOL_ERROR
    assert "not an HTTP response: b'SSH-2.0" in (decoded.error_message or "") or "status line" in (
        decoded.error_message or ""
    )


def test_content_length_cut() -> None:
    data = json.dumps({"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]}).encode()
    decoded = decode([head(f"content-length: {len(data) + 9}"), data], streamed=False, end=TransferEnd.EOF)
    assert (decoded.outcome, decoded.error_message) == (
        Outcome.TRUNCATED,
        "the connection was closed by the server before the response was whole",
    )


@pytest.mark.parametrize(
    ("data", "kind", "message"),
    [
        (
            {"error": {"code": 400, "message": "too long", "type": "invalid_request_error"}},
            "invalid_request_error",
            "too long",
        ),
        ({"error": {"code": 503, "message": "Loading model"}}, "503", "Loading model"),
        ({"detail": "Not Found"}, None, "Not Found"),
        (
            {"detail": [{"loc": ["body", "model"], "msg": "field required"}, {"msg": "x"}]},
            None,
            "body.model: field required; x",
        ),
        ({"object": "error", "message": "no", "type": "NotFoundError"}, "NotFoundError", "no"),
        ({"message": "Forbidden"}, None, "Forbidden"),
        ([{"error": {"message": "quota", "status": "RESOURCE_EXHAUSTED"}}], "RESOURCE_EXHAUSTED", "quota"),
        ("just text", None, "just text"),
        (b"upstream connect error", None, "upstream connect error"),
        (b"", None, "HTTP 400 Bad Request"),
        ({}, None, "HTTP 400 Bad Request"),
        (b"<html><script>alert(1)</script><body><h1>Bad &amp; worse</h1>\x1b[31m", None, "Bad & worse [31m"),
        (b'data: {"error": {"message": "in a stream"}}\n\n', None, "in a stream"),
    ],
)
def test_http_errors_in_the_servers_words(data: object, kind: str | None, message: str) -> None:
    decoded = body(data, status="400 Bad Request")
    assert (decoded.outcome, decoded.http_status) == (Outcome.HTTP_ERROR, 400)
    assert (decoded.error_type, decoded.error_message) == (kind, message)


def test_redirects_say_where() -> None:
    decoded = body(b"", status="307 Temporary Redirect", headers=["location: https://x/v1"])
    assert (decoded.outcome, decoded.error_message) == (
        Outcome.HTTP_ERROR,
        "HTTP 307 Temporary Redirect: redirects to https://x/v1",
    )


def test_messages_are_bounded_and_hostile_pages_are_fast() -> None:
    assert len(body({"error": "x" * 10_000}, status="500 Oops").error_message or "") == 2000
    before = time.process_time()
    for piece in (b"<script", b"<title", b"<", b"<!--", b"<style>", b"&amp", b"[", b'{"a":'):
        body(piece * (1_000_000 // len(piece)), status="500 Oops")
        body(piece * (1_000_000 // len(piece)))
    assert time.process_time() - before < 20  # quadratic would take minutes


def test_a_flood_of_broken_events_is_not_read_to_its_end() -> None:
    decoded = stream([*hello()[:3], b"data: x\n\n" * 200_000])
    assert (decoded.outcome, len(decoded.deltas)) == (Outcome.PROTOCOL_ERROR, 2)
    assert decoded.error_message == "10000 or more broken event(s) in the stream; first: not JSON: x"


def test_compressed_bodies() -> None:
    good = json.dumps({"choices": [{"message": {"content": "a" * 5000}, "finish_reason": "stop"}]}).encode()
    packed = gzip.compress(good)
    assert body(packed, headers=["content-encoding: gzip"], streamed=False).texts == ["a" * 5000]
    twice = body(gzip.compress(packed), headers=["content-encoding: gzip, gzip"], streamed=False)
    assert (twice.outcome, twice.warnings) == (Outcome.OK, [])
    members = gzip.compress(good[:50]) + gzip.compress(good[50:]) + b"\0\0\0"
    assert body(members, headers=["content-encoding: gzip"], streamed=False).outcome is Outcome.OK
    brotli = body(b"\x8b\x02\x80", headers=["content-encoding: br"])
    assert (brotli.outcome, brotli.error_message) == (Outcome.PROTOCOL_ERROR, "content-encoding 'br' is not supported")
    broken = body(packed[:20] + b"junk" * 20, headers=["content-encoding: gzip"])
    assert broken.outcome is Outcome.PROTOCOL_ERROR
    assert (broken.error_message or "").startswith("broken compressed body")
    half = body(packed[:-9], headers=["content-encoding: gzip"], streamed=False)
    assert half.outcome is Outcome.PROTOCOL_ERROR
    assert "the compressed stream has no end" in half.warnings


@pytest.mark.parametrize("layers", [1, 2])
def test_zip_bomb(layers: int) -> None:
    bomb = b" " * 20_000_000
    for _ in range(layers):
        bomb = gzip.compress(bomb)
    reads = [head(f"content-length: {len(bomb)}", "content-encoding: " + ", ".join(["gzip"] * layers)), bomb]
    decoded = decode_capture(capture(reads), 100_000)
    assert (decoded.outcome, decoded.error_message) == (Outcome.PROTOCOL_ERROR, "decompressed body above 100000 bytes")


def test_size_caps() -> None:
    decoded = decode_capture(capture([head("content-length: 500"), b"x" * 10], end=TransferEnd.TOO_LARGE), 100)
    assert (decoded.outcome, decoded.error_message) == (
        Outcome.PROTOCOL_ERROR,
        "the connection carried more than the size cap allows: body above 100 bytes",
    )


def test_sizes_that_do_not_fit_the_bytes() -> None:
    good = capture([head(SSE_HEADERS, "transfer-encoding: chunked"), *map(chunk, hello()), b"0\r\n\r\n"])
    for sizes in (
        b"",
        b"\x01",
        struct.pack("<2I", 1, 2),
        struct.pack("<2I", 1 << 31, 1 << 31),
        struct.pack("<3I", 0, 0, 0),
    ):
        decoded = decode_capture(msgspec.structs.replace(good, sizes=sizes))
        assert (decoded.outcome, decoded.texts) == (Outcome.OK, ["Hello 日本"])


# Any bytes, any end, any API, any split: always an outcome, and the split changes nothing but the reads.

scraps = st.sampled_from(
    [
        *hello(),
        sse(delta(tool_calls=[{"index": 0, "function": {"name": "f", "arguments": "{"}}])),
        sse({"error": {"message": "x"}}),
        sse({"error": {"error": {"error": [[[]]]}}}),
        sse({"choices": [{"delta": [], "text": 1, "finish_reason": {"type": "stop"}, "logprobs": []}], "usage": []}),
        sse(
            {
                "choices": [{"delta": {"content": {"a": 1}, "tool_calls": [[]], "reasoning_details": "x"}}],
                "timings": {"prompt_ms": 1e400},
            }
        ),
        sse({"type": "response.completed", "response": []}),
        sse({"type": "response.output_text.delta", "delta": [], "logprobs": 1}),
        sse({"type": "response.output_item.added", "item": {"type": ["x"], "name": {}}, "output_index": -1}),
        sse({"type": ["x"], "model": {}, "object": []}),
        b'data: {"choices":[{"index":0,"delta":{"content":"\\ud83d"},"finish_reason":"\\ud83d"}],'
        b'"model":"\\udc00"}\n\n',
        b"data: " + b"[" * 3000 + b"\n\n",
        b'data: {"error":' + b'{"error":' * 600 + b"1" + b"}" * 601 + b"\n\n",
        b'data: {"error":{"code":' + b"9" * 5000 + b',"message":"x"}}\n\n',
        b"event: error\n",
        b"\n\n",
        b"{",
        b"}",
        b'{"data":[{"embedding":"x="}]}',
        b'{"output":[{"type":[],"content":[{"text":1}]}],"status":[]}',
        b'{"choices":[{"message":{"content":"x"}}]}',
        b"\xff\xfe",
    ]
)
wrapped = st.tuples(
    st.sampled_from(["200 OK", "404 Not Found", "204 No Content", "301 Moved"]),
    st.sampled_from(["text/event-stream", "application/json", "text/html", "\xff"]),
    st.sampled_from(["", "gzip", "deflate", "br", "gzip, gzip"]),
    st.sampled_from(["chunked", "length", "close", "cut"]),
    st.lists(scraps, max_size=6).map(b"".join) | st.binary(max_size=80),
)


def wrap(parts: tuple[str, str, str, str, bytes]) -> bytes:
    status, kind, coding, framing, data = parts
    if coding == "gzip":
        data = gzip.compress(data)
    headers = [f"content-type: {kind}", f"content-encoding: {coding}"]
    if framing == "chunked":
        pieces = [chunk(data[i : i + 97]) for i in range(0, len(data), 97)]
        return head("transfer-encoding: chunked", *headers, status=status) + b"".join(pieces) + b"0\r\n\r\n"
    if framing == "close":
        return head(*headers, status=status) + data
    length = len(data) + (7 if framing == "cut" else 0)
    return head(f"content-length: {length}", *headers, status=status) + data


def without_reads(decoded: Decoded) -> Decoded:
    deltas = [msgspec.structs.replace(piece, read=0) for piece in decoded.deltas]
    return msgspec.structs.replace(decoded, deltas=deltas, first_event_read=None, end_mark_read=None, incremental=None)


@settings(deadline=None, max_examples=250)
@given(
    wrapped.map(wrap) | st.binary(max_size=120),
    st.lists(st.integers(0, 4000), max_size=8),
    st.sampled_from(TransferEnd),
    st.sampled_from(DIALECTS),
    st.booleans(),
)
def test_any_bytes_in_any_split(raw: bytes, places: list[int], end: TransferEnd, name: str, streamed: bool) -> None:
    one = decode([raw], end=end, dialect=name, streamed=streamed)
    other = decode(cut(raw, places), end=end, dialect=name, streamed=streamed)
    assert without_reads(one) == without_reads(other)
    assert one.outcome in Outcome
    assert one.outcome.good == (one.error_message is None)
    assert len(one.error_message or "") <= 2000
    msgspec.json.encode(one)  # no half of a surrogate pair anywhere


@settings(deadline=None, max_examples=80)
@given(st.lists(st.integers(0, 3000), max_size=12), st.sampled_from([b"\n", b"\r\n", b"\r"]), st.booleans())
def test_a_good_stream_in_any_split(places: list[int], line_end: bytes, packed: bool) -> None:
    data = b"".join(hello()).replace(b"\n", line_end)
    data = gzip.compress(data) if packed else data
    raw = head(SSE_HEADERS, "transfer-encoding: chunked", *(["content-encoding: gzip"] if packed else []))
    raw += b"".join(chunk(data[i : i + 61]) for i in range(0, len(data), 61)) + b"0\r\n\r\n"
    reads = cut(raw, places)
    decoded = decode(reads)
    assert (decoded.outcome, decoded.texts, decoded.completion_tokens, decoded.warnings) == (
        Outcome.OK,
        ["Hello 日本"],
        3,
        [],
    )
    # An event's read is the earliest that had all of it: with the reads after it gone, the delta is still there.
    for i, piece in enumerate(decoded.deltas):
        until = decode(reads[: piece.read + 1], end=TransferEnd.TIMEOUT_IDLE)
        before = decode(reads[: piece.read], end=TransferEnd.TIMEOUT_IDLE)
        assert len(before.deltas) <= i < len(until.deltas)
