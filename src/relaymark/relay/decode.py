"""From a capture to a leg: stamps mapped to one clock, the dialect's events joined to them."""

from __future__ import annotations

import re
import sys
from array import array
from hashlib import sha256
from operator import sub

import msgspec

from relaymark.dialects import Decoded, decode_capture
from relaymark.dialects.decoded import Channel, Delta
from relaymark.relay.records import Content
from relaymark.relay.redaction import Redactor
from relaymark.trace import Capture, ChunkTokens, Kind, Leg, TokenSource, TransferEnd
from relaymark.trace.turns import SaidCall, TurnSaid

# A kernel stamp later than the user's, or older than this, means that the wall clock was stepped under the capture.
_FUTURE_NS = 1_000_000
_STALE_NS = 600_000_000_000
# The offset between the clocks is known to well under a microsecond, so stamps may be this much "before" sending.
_SLACK_NS = 20_000
_REPEAT = re.compile(r"__repeat_\d+$")  # the k-th pass of a conversation, as MLPerf names it


def leg_from_capture(capture: Capture, max_body: int, request_ref: str | None) -> tuple[Leg, Decoded]:
    """Decodes one capture. Never raises for what a server sent."""
    decoded = decode_capture(capture, max_body)
    user = _numbers("q", capture.user_ns)
    stamps, added, source = _stamps(capture, user)
    sent = capture.sent
    origin = sent if sent is not None else (capture.started or 0)
    leg = Leg(
        task_id=capture.task_id,
        leg_id=capture.leg_id,
        parent_id=capture.parent_id,
        session_id=capture.session_id,
        turn=capture.turn,
        attempt=capture.attempt,
        final=capture.final,
        worker=capture.worker,
        stage=capture.stage,
        warmup=capture.warmup,
        endpoint=capture.endpoint,
        kind=Kind(capture.kind),
        role=capture.role,
        model=decoded.model or capture.model,
        scheduled=capture.scheduled,
        started=capture.started,
        connected=capture.connected,
        sent=sent,
        first_sent=capture.first_sent if capture.first_sent is not None else sent,
        first_byte=stamps[0] if stamps else None,
        ended=_ended(capture, decoded, stamps),
        streamed=capture.streamed,
        read_at=[stamp - origin for stamp in stamps],
        read_added=added,
        stamp_source=source,
        prompt_tokens=decoded.prompt_tokens,
        cached_tokens=decoded.cached_tokens,
        completion_tokens=decoded.completion_tokens,
        reasoning_tokens=decoded.reasoning_tokens,
        token_source=TokenSource.NONE if _uncounted(decoded) else TokenSource.USAGE,
        bytes_in=len(capture.raw),
        bytes_out=capture.bytes_out,
        items=decoded.vectors,
        outcome=decoded.outcome,
        http_status=decoded.http_status,
        finish_reason=decoded.finish_reason,
        error_type=decoded.error_type,
        error_message=decoded.error_message,
        retry_after=decoded.retry_after,
        reconnects=capture.reconnects,
        warnings=decoded.warnings,
        request_ref=request_ref,
        server_prefill_ns=decoded.server_prefill_ns,
        server_decode_ns=decoded.server_decode_ns,
        server_prompt_tokens=decoded.server_prompt_tokens,
        server_completion_tokens=decoded.server_completion_tokens,
        drafted_tokens=decoded.drafted_tokens,
        accepted_tokens=decoded.accepted_tokens,
    )
    if capture.streamed and stamps:
        _put_stream(leg, decoded, stamps, origin)
        if source == "kernel":
            _bound_joined_reads(leg, decoded, capture, user)
    return leg, decoded


def content_of(decoded: Decoded, redactor: Redactor) -> Content | None:
    """The answer as it is stored, named by its own hash; ``None`` when there is nothing to store."""
    if not (any(decoded.texts) or any(decoded.reasonings) or decoded.tool_calls):
        return None
    content = Content(
        ref="",
        texts=decoded.texts,
        reasonings=decoded.reasonings,
        tool_calls=[msgspec.structs.asdict(call) for call in decoded.tool_calls],
    )
    content = redactor.content(content)
    content.ref = sha256(msgspec.json.encode(content)).hexdigest()[:32]
    return content


def said_of(capture: Capture, decoded: Decoded, redactor: Redactor) -> TurnSaid:
    """What was said at a turn of a conversation: its first choice, and every tool call."""
    text = redactor.text
    session = capture.session_id or ""
    return TurnSaid(
        stage=capture.stage,
        warmup=capture.warmup,
        session=session,
        conversation=_REPEAT.sub("", session),
        turn=capture.turn,
        outcome=decoded.outcome.value,
        content=text(decoded.texts[0]) if decoded.texts and decoded.texts[0] else None,
        reasoning=text(decoded.reasonings[0]) if decoded.reasonings and decoded.reasonings[0] else None,
        calls=[SaidCall(text(call.name), text(call.arguments)) for call in decoded.tool_calls],
    )


def _uncounted(decoded: Decoded) -> bool:
    return decoded.completion_tokens is None and decoded.prompt_tokens is None


def _numbers(kind: str, packed: bytes) -> array[int]:
    values = array(kind, packed)
    if sys.byteorder == "big":
        values.byteswap()
    return values


def _stamps(capture: Capture, user: array[int]) -> tuple[list[int], list[int], str]:
    """The stamp of each read in CLOCK_MONOTONIC ns, what the client added to each, and where the stamps are from."""
    parts = _numbers("q", capture.kernel_ts)
    if len(parts) != 2 * len(user) or not any(parts):
        return list(user), [], "user"
    offset = capture.wall_offset_ns
    # A read the kernel did not stamp (seen once in 3.9 million) keeps its user stamp.
    stamps = [
        seconds * 1_000_000_000 + nanos - offset if seconds else late
        for seconds, nanos, late in zip(parts[::2], parts[1::2], user, strict=True)
    ]
    added = list(map(sub, user, stamps))
    least = min(added)
    # Not `sent`: an interim response or an early refusal may come while the request is still being written.
    earliest = capture.connected - _SLACK_NS if capture.connected is not None else stamps[0]
    if least < -_FUTURE_NS or max(added) > _STALE_NS or min(stamps) < earliest:
        return list(user), [], "user"
    return stamps, added if least >= 0 else [max(0, late) for late in added], "kernel"


def _ended(capture: Capture, decoded: Decoded, stamps: list[int]) -> int | None:
    """When the answer was over: its last read; for a stream cut after its end mark, the read with the mark."""
    if stamps and capture.end is TransferEnd.COMPLETE:
        return stamps[-1]
    if decoded.outcome.good and decoded.end_mark_read is not None and decoded.end_mark_read < len(stamps):
        return stamps[decoded.end_mark_read]
    return capture.ended


def _bound_joined_reads(leg: Leg, decoded: Decoded, capture: Capture, user: array[int]) -> None:
    """A read of several events has one kernel stamp, its last segment's: the first of them may have waited longer.

    For how long at most is known from when the worker was last caught up, and from the read before; that bound is what
    such a read counts as added. Where the server or a proxy joined the events, the worker was asleep and it is small.
    """
    since = _numbers("q", capture.since_ns)
    if len(since) != len(user):
        return
    before = -1
    for delta in decoded.deltas:
        at = delta.read
        if at == before:
            previous = user[at - 1] if at else (capture.sent or 0)
            leg.read_added[at] = max(leg.read_added[at], user[at] - max(since[at], previous))
        before = at


def _put_stream(leg: Leg, decoded: Decoded, stamps: list[int], origin: int) -> None:
    deltas = decoded.deltas
    if not deltas:
        return
    reads = [delta.read for delta in deltas]
    leg.chunk_at = [stamps[read] - origin for read in reads]
    leg.coalesced = sum(map(int.__eq__, reads[1:], reads))
    leg.chunk_tokens, leg.chunk_tokens_source = _chunk_tokens(deltas, decoded)
    leg.first_token = stamps[reads[0]]
    leg.last_token = stamps[reads[-1]]
    leg.first_answer_token = next((stamps[d.read] for d in deltas if d.channel is Channel.ANSWER), None)


def _chunk_tokens(deltas: list[Delta], decoded: Decoded) -> tuple[list[int], ChunkTokens]:
    """Tokens of each chunk and how they are known (see :class:`ChunkTokens`)."""
    exact = [delta.tokens for delta in deltas if delta.tokens is not None]
    if len(exact) == len(deltas):
        return exact, ChunkTokens.USAGE
    ones = [1] * len(deltas)
    count = decoded.completion_tokens
    if count is None:
        return ones, ChunkTokens.NONE
    # Servers count the end-of-sequence token, which carries no text and so has no chunk.
    silent_stop = decoded.finish_reason in ("stop", "tool_calls") and count == len(deltas) + 1
    return ones, ChunkTokens.ONE if count == len(deltas) or silent_stop else ChunkTokens.AVERAGE
