"""One row of the trace: a leg. A task is the legs that share ``task_id`` (design §3)."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Outcome(StrEnum):
    """How a leg ended (design §4). Decided from bytes and socket events alone; nothing is guessed."""

    OK = "ok"
    OK_LENGTH = "ok_length"
    TRUNCATED = "truncated"
    INBAND_ERROR = "inband_error"
    PROTOCOL_ERROR = "protocol_error"
    HTTP_ERROR = "http_error"
    REFUSED = "refused"
    RESET = "reset"
    TIMEOUT_CONNECT = "timeout_connect"
    TIMEOUT_FIRST_BYTE = "timeout_first_byte"
    TIMEOUT_IDLE = "timeout_idle"
    TIMEOUT_TOTAL = "timeout_total"
    CANCELLED = "cancelled"
    CLIENT_ERROR = "client_error"

    @property
    def good(self) -> bool:
        """True for the outcomes that count as a success."""
        return self in (Outcome.OK, Outcome.OK_LENGTH)


class Kind(StrEnum):
    """What sort of work a leg is."""

    LLM = "llm"
    EMBED = "embed"
    SEARCH = "search"
    RERANK = "rerank"
    PARSE = "parse"
    INDEX = "index"
    TOOL = "tool"
    JUDGE = "judge"
    WAIT = "wait"
    TASK = "task"  # the whole of a task of many legs, which name it as their parent


class TokenSource(StrEnum):
    """Where token counts came from; ``none`` means that they are absent, never that they were guessed."""

    USAGE = "usage"
    TOKENIZER = "tokenizer"
    NONE = "none"


class ChunkTokens(StrEnum):
    """How the number of tokens in each chunk is known.

    ``usage``: the server sent a running count with each chunk. ``one``: the stream had as many token-bearing
    chunks as the server's total says tokens, so each held one. ``average``: only the total is known and it
    differs from the number of chunks; gaps are weighted with the mean. ``none``: no token counts at all.
    """

    USAGE = "usage"
    ONE = "one"
    AVERAGE = "average"
    NONE = "none"


class Leg(msgspec.Struct, kw_only=True):
    """One leg. All times are int64 ns of CLOCK_MONOTONIC; ``None`` means that it did not happen or is unknown.

    Stream columns (equal length ``chunk_at``/``chunk_tokens``): one entry per token-bearing event, in order.
    ``chunk_at`` counts ns from ``sent`` to the arrival of the read that completed the event. Events completed
    by the same read share a stamp; ``coalesced`` counts those that share it with the event before them.
    Read columns (equal length ``read_at``/``read_added``): one entry per socket read. ``read_at`` counts ns from
    ``sent``; ``read_added`` is user stamp − kernel stamp in ns, empty where the kernel gave no stamp.
    """

    # identity
    task_id: int
    leg_id: int
    parent_id: int | None = None
    session_id: str | None = None
    turn: int = 0
    attempt: int = 1
    final: bool = True  # False: another attempt of this leg followed
    worker: int = 0
    stage: int = 0
    warmup: bool = False
    endpoint: str = ""
    # what
    kind: Kind = Kind.LLM
    role: str = ""
    model: str = ""
    # when
    scheduled: int | None = None
    started: int | None = None
    connected: int | None = None
    sent: int | None = None
    first_sent: int | None = None  # of the leg's first attempt
    first_byte: int | None = None
    first_token: int | None = None
    first_answer_token: int | None = None
    last_token: int | None = None
    ended: int | None = None
    # stream
    streamed: bool = False
    chunk_at: list[int] = msgspec.field(default_factory=list[int])
    chunk_tokens: list[int] = msgspec.field(default_factory=list[int])
    chunk_tokens_source: ChunkTokens = ChunkTokens.NONE
    coalesced: int = 0
    read_at: list[int] = msgspec.field(default_factory=list[int])
    read_added: list[int] = msgspec.field(default_factory=list[int])
    stamp_source: str = "user"
    # amount
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    token_source: TokenSource = TokenSource.NONE
    bytes_in: int = 0
    bytes_out: int = 0
    items: int | None = None
    # served by a stage of the pipeline's own, which tells how long the leg waited for its turn and how long it took
    queued_ns: int | None = None
    service_ns: int | None = None
    # outcome
    outcome: Outcome = Outcome.OK
    http_status: int | None = None
    finish_reason: str | None = None
    error_type: str | None = None
    error_message: str | None = None
    retry_after: str | None = None
    reconnects: int = 0
    warnings: list[str] = msgspec.field(default_factory=list[str])
    # content
    request_ref: str | None = None
    response_ref: str | None = None
    # server
    server_prefill_ns: int | None = None
    server_decode_ns: int | None = None
    server_prompt_tokens: int | None = None
    server_completion_tokens: int | None = None
    drafted_tokens: int | None = None
    accepted_tokens: int | None = None
