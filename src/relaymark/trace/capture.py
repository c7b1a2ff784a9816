"""What the wire saw of one attempt, before anybody decoded it."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class TransferEnd(StrEnum):
    """How the transfer of one response ended, as the socket and HTTP framing saw it."""

    COMPLETE = "complete"  # the framing (content-length, last chunk) said so
    EOF = "eof"  # the peer closed in order; complete only for close-delimited bodies
    RESET = "reset"
    REFUSED = "refused"
    BAD_FRAMING = "bad_framing"  # bytes that are not HTTP/1.1, or a broken chunk
    TOO_LARGE = "too_large"  # header or body above our cap
    TIMEOUT_CONNECT = "timeout_connect"
    TIMEOUT_FIRST_BYTE = "timeout_first_byte"
    TIMEOUT_IDLE = "timeout_idle"
    TIMEOUT_TOTAL = "timeout_total"
    CANCELLED = "cancelled"
    CLIENT_ERROR = "client_error"  # this machine could not send it: no port, no descriptor, no name


class Capture(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One attempt as captured: identity, stamps, and the bytes of the response exactly as they were read.

    Packed fields are little-endian machine arrays, one entry per socket read: ``user_ns`` int64 ns of
    CLOCK_MONOTONIC; ``kernel_ts`` the kernel's 16-byte ``struct timespec`` of CLOCK_REALTIME (empty where it
    gave none; a zero entry marks a single read without one); ``since_ns`` int64 ns before which no byte of the read
    can have arrived unnoticed (0: unknown; wire/poller); ``sizes`` uint32 bytes. ``raw`` is the reads joined,
    after TLS and before HTTP framing. ``ended`` is when the end was noticed: the user stamp of the last read, or
    the moment of the timeout, reset or close. ``wall_offset_ns`` is CLOCK_REALTIME − CLOCK_MONOTONIC by then.
    """

    leg_id: int
    task_id: int
    request: int  # index of the request in the run's request pack; -1 when built during the run
    stage: int = 0
    warmup: bool = False
    parent_id: int | None = None
    session_id: str | None = None
    turn: int = 0
    attempt: int = 1
    final: bool = True
    first_sent: int | None = None
    worker: int = 0
    endpoint: str = ""
    dialect: str = "openai-chat"
    kind: str = "llm"
    role: str = ""
    model: str = ""
    streamed: bool = True
    scheduled: int | None = None
    started: int | None = None
    connected: int | None = None
    sent: int | None = None
    ended: int | None = None
    end: TransferEnd = TransferEnd.COMPLETE
    error: str = ""
    reconnects: int = 0
    bytes_out: int = 0
    wall_offset_ns: int = 0
    user_ns: bytes = b""
    kernel_ts: bytes = b""
    since_ns: bytes = b""
    sizes: bytes = b""
    raw: bytes = b""
