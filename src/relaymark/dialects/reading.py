"""From the body of a 2xx response to an answer and a finding; the part all APIs share."""

from __future__ import annotations

import msgspec

from relaymark.dialects.answer import FAILED_REASONS, LENGTH_REASONS, Answer, MalformedError
from relaymark.dialects.dialect import Dialect
from relaymark.dialects.outcome import Finding
from relaymark.dialects.repeating import Repeating
from relaymark.dialects.response import ParsedResponse
from relaymark.dialects.server_errors import (
    NotJsonError,
    ServerError,
    error_in,
    error_of,
    one_line,
    plain_text,
    read_json,
)
from relaymark.dialects.sse import EventReader
from relaymark.dialects.usage import is_array, is_object

_DONE = b"[DONE]"
_ENOUGH = 10_000  # broken events after which the rest of a stream can't change the outcome for the better
_STREAM_STARTS = (b"data:", b"event:", b"id:", b"retry:", b":")

_decode = msgspec.json.Decoder().decode


class Reading(msgspec.Struct):
    """What a body held. ``told`` explains every finding but FINISHED and LENGTH."""

    answer: Answer
    finding: Finding
    told: ServerError | None = None
    first_event_read: int | None = None
    incremental: bool | None = None


def read_body(dialect: Dialect, parsed: ParsedResponse, asked_stream: bool) -> Reading:
    """Read the body of a 2xx response as ``dialect``; never raises on what a server sent.

    The body decides whether it is a stream or one JSON text, since servers answer either way to either request
    and label both wrongly.
    """
    answer = Answer()
    body = parsed.body
    content_type = (parsed.header("content-type") or "").lower()
    start = body.lstrip()[:8]
    if not start:
        return _wrong(answer, parsed.content_error or "empty body")
    begun = start.startswith(_STREAM_STARTS)
    if begun or content_type.startswith("text/event-stream"):
        reading = _read_stream(dialect, parsed, answer, asked_stream)
        # A JSON error, HTML or text under a stream's label has no events in it.
        if begun or reading:
            return reading or _judge_stream(dialect, parsed, answer, _Events())
    return _read_whole(dialect, parsed, body, answer, asked_stream)


def _wrong(answer: Answer, message: str, kind: str | None = None) -> Reading:
    return Reading(answer, Finding.WRONG, ServerError(kind, one_line(message)))


class _Events(msgspec.Struct):
    """What came of the events of a stream."""

    first_read: int | None = None
    broken: int = 0
    example: str = ""

    def reject(self, why: str, data: bytes = b"") -> None:
        """Count an event that is none of this API; the first is quoted."""
        self.broken += 1
        if self.broken == 1:
            self.example = f"{why}: {plain_text(data[:400])[:200]}" if data else why


def _read_stream(dialect: Dialect, parsed: ParsedResponse, answer: Answer, asked_stream: bool) -> Reading | None:
    """Read the body as a stream; ``None`` if there is no event in it, not even an unfinished one."""
    stream = EventReader(parsed.segments)
    events = _read_events(dialect, stream, answer)
    left = stream.leftover
    if left is None and events.first_read is None:
        return None
    if not asked_stream:
        answer.warn("streamed though no stream was asked for")
    if left:
        # The spec drops an event without its blank line. [DONE] is no event, and nothing can be missing of it.
        if parsed.complete and left.data.strip() == _DONE and answer.done_read is None:
            answer.done_read = left.read
            answer.warn("no blank line after [DONE]")
        else:
            answer.warn("the stream ends inside an event, which was not counted")
    reading = _judge_stream(dialect, parsed, answer, events)
    reading.first_event_read = events.first_read
    if len(answer.deltas) - len(answer.shared) > 1:
        reading.incremental = answer.deltas[0].read != answer.deltas[-1].read
    return reading


def _read_events(dialect: Dialect, stream: EventReader, answer: Answer) -> _Events:
    """Hand every event to the dialect."""
    events = _Events()
    take = dialect.event
    deltas = answer.deltas
    repeating = Repeating(answer, take)
    for event in stream:
        data = event.data
        stream.repeating = None
        if events.first_read is None:
            events.first_read = event.read
        try:
            obj = _decode(data)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            if events.broken >= _ENOUGH:
                break
            text = data.strip()
            if text == _DONE:
                if answer.done_read is None:
                    answer.done_read = event.read
                continue
            if not text:
                continue  # a ping: an event with nothing in it
            if event.event == "error":
                answer.error = answer.error or ServerError(None, plain_text(text))
                continue
            try:
                obj, _ = read_json(data)
            except NotJsonError:
                events.reject("not JSON", text)
                continue
            answer.lenient = True
            answer.warn("an event is not strict JSON")
        if type(obj) is not dict:
            if event.event == "error":
                answer.error = answer.error or error_of(obj) or ServerError(None, plain_text(data))
            else:
                events.reject("not a JSON object")
            continue
        if event.event == "error":
            answer.error = answer.error or error_of(obj) or ServerError(None, plain_text(data))
        elif "error" in obj or obj.get("object") == "error" or obj.get("type") == "error":
            answer.error = answer.error or error_in(obj)
        before = len(deltas)
        logprobs = None
        try:
            logprobs = take(answer, event.read, obj)
        except MalformedError as error:
            events.reject(str(error))
        usage = obj.get("usage")
        if usage:
            answer.add_usage(usage)
        timings = obj.get("timings")
        if timings:
            answer.add_timings(timings)
        fresh = len(deltas) - before
        if fresh > 1 or (fresh and (usage or timings or logprobs is not None)):
            answer.end_event(before, usage, timings, logprobs)
        elif fresh and answer.model is not None and not event.event and repeating.learn(data):
            stream.repeating = repeating
        if answer.model is None:
            answer.add_model(obj.get("model"))
    return events


def _judge_stream(dialect: Dialect, parsed: ParsedResponse, answer: Answer, events: _Events) -> Reading:
    failed = next((reason for reason in answer.finish.values() if reason in FAILED_REASONS), None)
    if answer.error:
        return Reading(answer, Finding.INBAND, answer.error)
    if failed:
        return Reading(answer, Finding.INBAND, ServerError(failed, f"finish reason {failed!r}"))
    if parsed.content_error and answer.done_read is None:
        return _wrong(answer, parsed.content_error)
    if events.broken:
        more = " or more" if events.broken >= _ENOUGH else ""
        return _wrong(answer, f"{events.broken}{more} broken event(s) in the stream; first: {events.example}")
    finished = bool(answer.choices) and answer.choices <= answer.finish.keys()
    if answer.done_read is not None:
        if not answer.choices:
            return _wrong(answer, f"the stream held nothing before {dialect.end_mark}")
        if not finished:
            answer.warn("stream ended without a finish reason")
    elif finished:
        answer.warn(f"stream ended without {dialect.end_mark}")
    else:
        text = f"stream ended without a finish reason and without {dialect.end_mark}"
        return Reading(answer, Finding.UNFINISHED, ServerError(None, text))
    return _good(answer)


def _good(answer: Answer) -> Reading:
    capped = any(reason in LENGTH_REASONS for reason in answer.finish.values())
    return Reading(answer, Finding.LENGTH if capped else Finding.FINISHED)


def _read_whole(dialect: Dialect, parsed: ParsedResponse, body: bytes, answer: Answer, asked_stream: bool) -> Reading:
    if parsed.content_error:
        return _wrong(answer, parsed.content_error)
    try:
        obj, strict = read_json(body)
    except NotJsonError:
        kind = "HTML" if body.lstrip()[:1] == b"<" else "text that is no JSON"
        return _wrong(answer, f"{kind}: {plain_text(body)}")
    if not strict:
        answer.lenient = True
        answer.warn("the body is not strict JSON")
    told = error_in(obj) if is_object(obj) else None
    if told:
        return Reading(answer, Finding.WRONG, told)
    try:
        known = is_object(obj) and dialect.whole(answer, obj)
    except MalformedError as error:
        return _wrong(answer, str(error))
    if answer.error:
        return Reading(answer, Finding.WRONG, answer.error)
    if not known or not is_object(obj):
        kind = "array" if is_array(obj) else "object" if is_object(obj) else "value"
        told = error_of(obj) if is_object(obj) else None
        return Reading(
            answer, Finding.WRONG, told or ServerError(None, f"a JSON {kind} that is no {dialect.name} answer")
        )
    answer.add_usage(obj.get("usage"))
    answer.add_timings(obj.get("timings"))
    answer.add_model(obj.get("model"))
    failed = next((reason for reason in answer.finish.values() if reason in FAILED_REASONS), None)
    if failed:
        return Reading(answer, Finding.INBAND, ServerError(failed, f"finish reason {failed!r}"))
    if not answer.choices <= answer.finish.keys():
        answer.warn("answer without a finish reason")
    reading = _good(answer)
    if asked_stream and dialect.streams:
        answer.warn("not streamed")
        reading.incremental = False
    return reading
