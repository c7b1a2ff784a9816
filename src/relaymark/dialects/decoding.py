"""A capture in, a ``Decoded`` out: framing, content coding, events, the API, the outcome. Never raises."""

from __future__ import annotations

import struct

from relaymark.dialects.answer import LENGTH_REASONS
from relaymark.dialects.chunk_tokens import with_tokens
from relaymark.dialects.decoded import Channel, Decoded, Delta
from relaymark.dialects.dialect import Dialect
from relaymark.dialects.outcome import IN_WORDS, Finding, classify
from relaymark.dialects.reading import Reading, read_body
from relaymark.dialects.response import MAX_BODY, MAX_HEADER, ParsedResponse, parse_response
from relaymark.dialects.server_errors import ServerError, http_error, one_line
from relaymark.trace import Capture, Outcome, TransferEnd


def decode_with(dialect: Dialect, capture: Capture, max_body: int = MAX_BODY) -> Decoded:
    """Decode one attempt as ``dialect``; always gives an outcome, whatever the bytes are.

    ``max_body`` bounds the body in bytes after de-chunking and again after decompression; give the wire's own cap.
    Reads are numbered by ``capture.sizes``. Keys of ``Decoded`` that the response said nothing about are ``None``.
    """
    # The wire applied its own header cap already; these bytes are here, so a smaller one would only misjudge them.
    parsed = parse_response(
        capture.raw, _sizes(capture.sizes), max_header=max(MAX_HEADER, len(capture.raw)), max_body=max_body
    )
    whole = parsed.complete or (parsed.close_delimited and capture.end in (TransferEnd.EOF, TransferEnd.COMPLETE))
    end = capture.end
    if parsed.framing_error:
        end = TransferEnd.TOO_LARGE if parsed.too_large else TransferEnd.BAD_FRAMING
    reading: Reading | None = None
    if parsed.status is not None and 200 <= parsed.status < 300:
        parsed.complete = whole
        reading = read_body(dialect, parsed, capture.streamed)
    end_mark = reading is not None and reading.answer.done_read is not None
    outcome = classify(
        end=end,
        any_bytes=bool(capture.raw),
        status=parsed.status,
        whole=whole,
        finding=reading.finding if reading else None,
        end_mark=end_mark,
    )
    told = _told(outcome, capture, end, parsed, reading, whole or end_mark)
    decoded = Decoded(
        outcome=outcome,
        http_status=parsed.status,
        error_type=told.type if told else None,
        error_message=told.message if told else None,
        body_bytes=parsed.body_bytes,
    )
    retry_after = parsed.header("retry-after")
    if retry_after is not None:
        decoded.retry_after = one_line(retry_after, 200)
    if reading:
        _fill(decoded, reading)
        if not whole and end_mark and outcome.good:
            decoded.warnings.append(f"the answer was complete when the transfer {IN_WORDS[end]}")
        if parsed.content_error and outcome.good:
            decoded.warnings.append(f"after the end of the answer: {parsed.content_error}")
        if whole and not parsed.content_whole and not parsed.content_error:
            decoded.warnings.append("the compressed stream has no end")
    if parsed.trailing:
        decoded.warnings.append(f"{parsed.trailing} bytes after the end of the response")
    return decoded


def _sizes(packed: bytes) -> tuple[int, ...]:
    count = len(packed) // 4
    return struct.unpack_from(f"<{count}I", packed)


def _told(
    outcome: Outcome,
    capture: Capture,
    end: TransferEnd,
    parsed: ParsedResponse,
    reading: Reading | None,
    arrived: bool,
) -> ServerError | None:
    """Why it failed: the server's words where the content decided, ours where the transfer did."""
    if outcome.good:
        return None
    if outcome is Outcome.HTTP_ERROR:
        return http_error(parsed)
    if reading and reading.told and (arrived or reading.finding is Finding.INBAND):
        return reading.told
    text = f"the connection {IN_WORDS[end]}"
    detail = parsed.framing_error or capture.error
    return ServerError(None, one_line(f"{text}: {detail}" if detail else text))


def _fill(decoded: Decoded, reading: Reading) -> None:
    answer = reading.answer
    usage, timings = answer.usage, answer.timings
    deltas = answer.deltas
    if answer.lenient:
        deltas = [Delta(delta.read, delta.channel, answer.clean(delta.text), delta.choice) for delta in deltas]
    decoded.deltas = with_tokens(deltas, answer.shared, answer.running, answer.logprobs, usage.completion)
    decoded.first_event_read = reading.first_event_read
    decoded.incremental = reading.incremental
    decoded.end_mark_read = answer.done_read
    decoded.finish_reason = _finish_reason(answer.finish, reading.finding)
    decoded.texts = answer.texts(Channel.ANSWER)
    decoded.reasonings = answer.texts(Channel.REASONING)
    decoded.tool_calls = answer.tool_calls()
    decoded.vectors = answer.vectors
    decoded.dimensions = answer.dimensions
    decoded.prompt_tokens = usage.prompt
    decoded.cached_tokens = timings.cached_tokens if usage.cached is None else usage.cached
    decoded.completion_tokens = usage.completion
    decoded.reasoning_tokens = usage.reasoning
    decoded.server_prefill_ns = timings.prefill_ns
    decoded.server_decode_ns = timings.decode_ns
    decoded.server_prompt_tokens = timings.prompt_tokens
    decoded.server_completion_tokens = timings.completion_tokens
    decoded.drafted_tokens = timings.drafted
    decoded.accepted_tokens = timings.accepted
    decoded.model = answer.model
    decoded.warnings = answer.warnings


def _finish_reason(finish: dict[int, str], finding: Finding) -> str | None:
    """One reason for the leg: the one that capped it if any did, else the first choice's."""
    if not finish:
        return None
    reasons = [reason for _, reason in sorted(finish.items())]
    if finding is Finding.LENGTH:
        return next((reason for reason in reasons if reason in LENGTH_REASONS), reasons[0])
    return reasons[0]
