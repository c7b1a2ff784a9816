"""What a response said, decoded from captured bytes; the same shape for every API."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from relaymark.trace import Outcome


class Channel(StrEnum):
    """Which part of the answer a delta belongs to. Any channel's first token sets TTFT; ``answer`` sets TTFAT."""

    ANSWER = "answer"
    REASONING = "reasoning"
    TOOL = "tool"


class Delta(msgspec.Struct, frozen=True, gc=False):
    """One token-bearing event.

    ``read`` is the index of the socket read that completed the event: its stamp is the event's. ``tokens`` is the
    exact number of tokens in the event where the server told it for every event of the stream (running usage
    counts, llama.cpp timings on each chunk, or log-probabilities), else ``None``. An event that carries several
    channels or choices gives several deltas; the first has the event's tokens and the others 0.
    """

    read: int
    channel: Channel
    text: str
    choice: int = 0
    tokens: int | None = None


class ToolCall(msgspec.Struct):
    """One tool call, its argument fragments joined by index. ``arguments`` is the model's text, maybe not JSON."""

    choice: int
    index: int
    id: str | None = None
    name: str = ""
    arguments: str = ""


class Decoded(msgspec.Struct, kw_only=True):
    """A decoded response. Absent is ``None``; a decoder never raises on what a server sent."""

    outcome: Outcome
    http_status: int | None = None
    finish_reason: str | None = None
    error_type: str | None = None
    error_message: str | None = None  # at most 2,000 characters of what the server said
    retry_after: str | None = None
    deltas: list[Delta] = msgspec.field(default_factory=list[Delta])
    first_event_read: int | None = None  # first SSE event of any kind (role-only, empty, usage)
    texts: list[str] = msgspec.field(default_factory=list[str])  # answer text per choice
    reasonings: list[str] = msgspec.field(default_factory=list[str])  # reasoning text per choice
    tool_calls: list[ToolCall] = msgspec.field(default_factory=list[ToolCall])
    vectors: int | None = None  # embeddings: number of vectors
    dimensions: int | None = None  # embeddings: length of each
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    server_prefill_ns: int | None = None
    server_decode_ns: int | None = None
    server_prompt_tokens: int | None = None
    server_completion_tokens: int | None = None
    drafted_tokens: int | None = None
    accepted_tokens: int | None = None
    model: str | None = None  # the model the server says it used
    # False: all token-bearing events of a stream of ≥ 2 came with one read, or a stream was asked for and one JSON
    # body came. None: fewer than 2 such events, or no stream was asked for and none came.
    incremental: bool | None = None
    # The read that completed the answer's own end mark ([DONE], response.completed). Where the transfer failed or
    # timed out only after it, this is when the answer ended.
    end_mark_read: int | None = None
    body_bytes: int = 0  # after de-chunking, before decompression
    warnings: list[str] = msgspec.field(default_factory=list[str])  # e.g. "stream ended without [DONE]"
