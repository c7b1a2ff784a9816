"""The hard inputs every peer gets wrong somewhere, as far as bytes decide them; numbered as in the comparison."""

from __future__ import annotations

import gzip
import json
import zlib

import pytest
from dialect_captures import SSE_HEADERS, USAGE, body, chunk, decode, delta, head, hello, sse, stream

from relaymark.dialects import Channel, Decoded
from relaymark.trace import Outcome, TransferEnd


def assert_hello(decoded: Decoded) -> None:
    assert (decoded.outcome, decoded.texts, decoded.warnings) == (Outcome.OK, ["Hello 日本"], [])
    assert [piece.text for piece in decoded.deltas] == ["Hel", "lo ", "日本"]
    assert (decoded.prompt_tokens, decoded.completion_tokens, decoded.finish_reason) == (7, 3, "stop")
    assert (decoded.error_message, decoded.error_type, decoded.http_status, decoded.model) == (None, None, 200, "m")


def test_the_plain_case_and_its_reads() -> None:
    decoded = stream(hello())
    assert_hello(decoded)
    assert [piece.read for piece in decoded.deltas] == [2, 3, 4]
    assert (decoded.first_event_read, decoded.incremental, decoded.end_mark_read) == (1, True, 7)
    assert decoded.body_bytes == sum(map(len, hello()))


def test_01_crlf() -> None:
    decoded = stream([event.replace(b"\n", b"\r\n") for event in hello()])
    assert_hello(decoded)
    assert [piece.read for piece in decoded.deltas] == [2, 3, 4]


@pytest.mark.parametrize("line_end", [b"\r\n", b"\r"])
def test_02_line_ends_split_anywhere(line_end: bytes) -> None:
    raw = head(SSE_HEADERS, version="1.0") + b"".join(hello()).replace(b"\n", line_end)
    assert_hello(decode([raw[i : i + 1] for i in range(len(raw))], end=TransferEnd.EOF))


def test_03_comments_are_no_tokens() -> None:
    comment = b": OPENROUTER PROCESSING\n\n"
    decoded = stream([comment, *hello()[:2], comment, *hello()[2:]])
    assert_hello(decoded)
    assert (decoded.first_event_read, decoded.deltas[0].read) == (2, 3)


def test_04_empty_data() -> None:
    assert_hello(stream([b"data:\n\n", b"data: \n\n", b"data\n\n", *hello()]))


def test_05_multi_line_data() -> None:
    events = [
        b"".join(b"data: " + line + b"\n" for line in json.dumps(json.loads(event[6:]), indent=1).encode().split(b"\n"))
        + b"\n"
        for event in hello()[:-1]
    ]
    assert_hello(stream([*events, hello()[-1]]))


def test_06_no_space() -> None:
    assert_hello(stream([event.replace(b"data: ", b"data:") for event in hello()]))


def test_07_other_fields() -> None:
    assert_hello(stream([b"event: message\nid: 7\nretry: 100\n" + event for event in hello()]))
    failed = stream([*hello()[:3], b'event: error\ndata: {"message": "out of memory", "code": 507}\n\n'])
    assert (failed.outcome, failed.error_message, failed.error_type) == (Outcome.INBAND_ERROR, "out of memory", "507")


def test_08_utf8_split() -> None:
    raw = head(SSE_HEADERS, "transfer-encoding: chunked")
    events = b"".join(hello()).replace(b"\\u65e5\\u672c", "日本".encode())
    assert "日".encode() in events
    for step in (1, 2, 3):
        pieces = [chunk(events[i : i + step]) for i in range(0, len(events), step)]
        assert_hello(decode([raw, *pieces, b"0\r\n\r\n"]))


def test_09_line_separators_of_unicode() -> None:
    text = "a\u2028b\u2029c\u0085d\x1ce\x0bf\x0c"
    event = b"data: " + json.dumps(delta(content=text), ensure_ascii=False).encode() + b"\n\n"
    decoded = stream([event, sse(delta(finish="stop")), sse("[DONE]")])
    assert (decoded.outcome, decoded.texts) == (Outcome.OK, [text])


def test_10_half_events_and_many_events_in_a_read() -> None:
    raw = b"".join(hello())
    middle = raw.index(b"lo ")
    decoded = decode(
        [head(SSE_HEADERS, "transfer-encoding: chunked"), chunk(raw[:middle]), chunk(raw[middle:]) + b"0\r\n\r\n"]
    )
    assert_hello(decoded)
    assert [piece.read for piece in decoded.deltas] == [1, 2, 2]
    assert decoded.incremental is True


def test_11_role_and_empty_deltas_are_no_tokens() -> None:
    empty = sse(delta(content=""))
    decoded = stream([hello()[0], empty, sse(delta(content=None)), sse(delta()), *hello()[1:]])
    assert_hello(decoded)
    assert (decoded.first_event_read, decoded.deltas[0].read) == (1, 5)


def test_13_usage_in_odd_places() -> None:
    azure = sse({"choices": [], "prompt_filter_results": [{"prompt_index": 0}], "usage": None})
    assert_hello(stream([azure, *hello()]))
    late = [
        sse(delta(content="x", usage=None)),
        sse(delta(finish="stop", usage={"completion_tokens": 9})),
        sse({"usage": None}),
    ]
    decoded = stream([*late, sse("[DONE]")])
    assert (decoded.outcome, decoded.completion_tokens, decoded.prompt_tokens) == (Outcome.OK, 9, None)


def test_14_no_usage_means_no_count() -> None:
    decoded = stream([*hello()[:5], sse("[DONE]")])
    assert (decoded.outcome, decoded.completion_tokens) == (Outcome.OK, None)
    assert [piece.tokens for piece in decoded.deltas] == [None] * 3


@pytest.mark.parametrize(
    "fields",
    [
        {"reasoning_content": "hm"},
        {"reasoning": "hm"},
        {"reasoning_details": [{"type": "reasoning.text", "text": "hm"}]},
        {"reasoning_content": "hm", "reasoning": "hm"},
        {"reasoning": "hm", "reasoning_details": [{"type": "reasoning.text", "text": "hm"}]},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]},
    ],
)
def test_15_reasoning_by_any_name(fields: dict[str, object]) -> None:
    decoded = stream([sse(delta(role="assistant", content=None)), sse(delta(**fields)), *hello()[1:]])
    assert [(piece.channel, piece.read) for piece in decoded.deltas][:2] == [
        (Channel.REASONING, 2),
        (Channel.ANSWER, 3),
    ]
    assert (decoded.reasonings, decoded.texts) == (["hm"], ["Hello 日本"])


def test_16_capped_inside_reasoning() -> None:
    decoded = stream([sse(delta(reasoning_content="hm")), sse(delta(finish="length")), sse(USAGE), sse("[DONE]")])
    assert (decoded.outcome, decoded.finish_reason) == (Outcome.OK_LENGTH, "length")
    assert [piece.channel for piece in decoded.deltas] == [Channel.REASONING]
    assert (decoded.texts, decoded.reasonings) == ([], ["hm"])


def test_19_error_mid_stream_then_done() -> None:
    decoded = stream(
        [*hello()[:3], sse({"error": {"message": "KV cache is full", "type": "server_error"}}), sse("[DONE]")]
    )
    assert (decoded.outcome, decoded.error_type, decoded.error_message) == (
        Outcome.INBAND_ERROR,
        "server_error",
        "KV cache is full",
    )
    assert decoded.texts == ["Hello "]


@pytest.mark.parametrize(
    ("data", "kind", "message"),
    [
        ({"error": {"message": "no such model", "code": 404}}, "application/json", "no such model"),
        ({"error": {"message": "no such model", "code": 404}}, "text/event-stream", "no such model"),
        ({"object": "error", "message": "no such model"}, "application/json", "no such model"),
        ({"detail": "no such model"}, "application/json", "no such model"),
        (b"<html><head><title>Sign in</title></head><body>x</body></html>", "text/html", "HTML: Sign in"),
        (b"<html><style>p{}</style><p>Please <b>wait</b>", "text/html", "HTML: Please wait"),
        (b"", "text/event-stream", "empty body"),
        (b"ok", "text/plain", "text that is no JSON: ok"),
        (b"Internal Server Error", "text/event-stream", "text that is no JSON: Internal Server Error"),
        ({"status": "ok"}, "application/json", "a JSON object that is no openai-chat answer"),
        ([], "application/json", "a JSON array that is no openai-chat answer"),
    ],
)
@pytest.mark.parametrize("streamed", [True, False])
def test_20_status_200_is_not_enough(data: object, kind: str, message: str, streamed: bool) -> None:
    decoded = body(data, kind=kind, streamed=streamed)
    assert (decoded.outcome, decoded.error_message, decoded.deltas) == (Outcome.PROTOCOL_ERROR, message, [])


@pytest.mark.parametrize("events", [hello()[:3], hello()[:6]], ids=["no finish", "finished"])
@pytest.mark.parametrize("end", [TransferEnd.RESET, TransferEnd.EOF])
def test_21ab_cut(events: list[bytes], end: TransferEnd) -> None:
    decoded = stream(events, last_chunk=False, end=end)
    assert (decoded.outcome, len(decoded.deltas) >= 2) == (Outcome.TRUNCATED, True)
    assert decoded.error_message


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_21c_orderly_close_without_the_end(version: str) -> None:
    decoded = decode([head(SSE_HEADERS, version=version), *hello()[:3]], end=TransferEnd.EOF)
    assert decoded.outcome is Outcome.TRUNCATED
    assert decoded.error_message == "stream ended without a finish reason and without [DONE]"
    assert stream(hello()[:3]).outcome is Outcome.TRUNCATED  # and the same although the framing is perfect


def test_21d_done_without_finish_reason_and_the_reverse() -> None:
    decoded = stream([*hello()[:4], sse("[DONE]")])
    assert (decoded.outcome, decoded.warnings) == (Outcome.OK, ["stream ended without a finish reason"])
    decoded = stream(hello()[:6])
    assert (decoded.outcome, decoded.warnings) == (Outcome.OK, ["stream ended without [DONE]"])


@pytest.mark.parametrize("after", ["120", "Wed, 21 Oct 2026 07:28:00 GMT"])
def test_22_retry_after(after: str) -> None:
    decoded = body({"error": "slow down"}, status="429 Too Many Requests", headers=[f"retry-after: {after}"])
    assert (decoded.outcome, decoded.http_status, decoded.retry_after) == (Outcome.HTTP_ERROR, 429, after)
    assert decoded.error_message == "slow down"


def test_22_html_503() -> None:
    page = b"<html>\r\n<head><title>503 Service Temporarily Unavailable</title></head>\r\n</html>"
    decoded = body(page, kind="text/html", status="503 Service Temporarily Unavailable")
    assert (decoded.outcome, decoded.error_message) == (Outcome.HTTP_ERROR, "503 Service Temporarily Unavailable")


def _raw_deflate(data: bytes) -> bytes:
    squeeze = zlib.compressobj(wbits=-15)
    return squeeze.compress(data) + squeeze.flush()


@pytest.mark.parametrize(
    ("coding", "squeeze"),
    [("gzip", gzip.compress), ("x-gzip", gzip.compress), ("deflate", zlib.compress), ("deflate", _raw_deflate)],
)
@pytest.mark.parametrize("step", [1, 50, 100_000])
def test_24_compressed(coding: str, squeeze: object, step: int) -> None:
    packed: bytes = squeeze(b"".join(hello()))  # type: ignore[operator]
    reads = [chunk(packed[i : i + step]) for i in range(0, len(packed), step)]
    assert_hello(
        decode([head(SSE_HEADERS, "transfer-encoding: chunked", f"content-encoding: {coding}"), *reads, b"0\r\n\r\n"])
    )


def test_24_flushed_gzip_keeps_the_reads() -> None:
    squeeze = zlib.compressobj(wbits=31)
    reads = [chunk(squeeze.compress(event) + squeeze.flush(zlib.Z_SYNC_FLUSH)) for event in hello()]
    reads.append(chunk(squeeze.flush()) + b"0\r\n\r\n")
    decoded = decode([head(SSE_HEADERS, "transfer-encoding: chunked", "content-encoding: gzip"), *reads])
    assert_hello(decoded)
    assert [piece.read for piece in decoded.deltas] == [2, 3, 4]


def test_24_buffered_huge_and_trailers() -> None:
    decoded = decode(
        [head(SSE_HEADERS, "transfer-encoding: chunked"), b"".join(map(chunk, hello())) + b"0\r\nx-cost: 3\r\n\r\n"]
    )
    assert_hello(decoded)
    assert decoded.incremental is False
    decoded = stream([sse(delta(content="x" * 1_000_000)), sse(delta(finish="stop")), sse("[DONE]")])
    assert (decoded.outcome, len(decoded.texts[0]), decoded.incremental) == (Outcome.OK, 1_000_000, None)
    plain = decode([head(SSE_HEADERS, "transfer-encoding: identity"), *hello()], end=TransferEnd.EOF)
    assert_hello(plain)


@pytest.mark.parametrize(
    ("end", "outcome"),
    [
        (TransferEnd.TIMEOUT_CONNECT, Outcome.TIMEOUT_CONNECT),
        (TransferEnd.TIMEOUT_FIRST_BYTE, Outcome.TIMEOUT_FIRST_BYTE),
        (TransferEnd.TIMEOUT_IDLE, Outcome.TIMEOUT_IDLE),
        (TransferEnd.TIMEOUT_TOTAL, Outcome.TIMEOUT_TOTAL),
        (TransferEnd.REFUSED, Outcome.REFUSED),
        (TransferEnd.RESET, Outcome.RESET),
        (TransferEnd.EOF, Outcome.RESET),
        (TransferEnd.CANCELLED, Outcome.CANCELLED),
        (TransferEnd.CLIENT_ERROR, Outcome.CLIENT_ERROR),
        (TransferEnd.BAD_FRAMING, Outcome.PROTOCOL_ERROR),
    ],
)
def test_25_silence(end: TransferEnd, outcome: Outcome) -> None:
    decoded = decode([], end=end, error="no more ports")
    assert (decoded.outcome, decoded.http_status) == (outcome, None)
    assert decoded.error_message is not None
    assert decoded.error_message.endswith(": no more ports")
    if end in (TransferEnd.TIMEOUT_IDLE, TransferEnd.TIMEOUT_TOTAL, TransferEnd.CANCELLED):
        assert stream(hello()[:3], last_chunk=False, end=end).outcome is outcome
