"""What the paced endpoint really did: one record per request, written as JSON lines."""

from __future__ import annotations

from pathlib import Path

import msgspec

from relaymark.errors import ConfigError


class TruthRecord(msgspec.Struct, kw_only=True):
    """One request as the server saw it. Times are int64 ns of CLOCK_MONOTONIC on the server's host.

    ``due``, ``sent_at`` and ``tokens`` have one entry per token-bearing event, in order. ``due`` is when the event
    was promised, ``sent_at`` is read right before the bytes were handed to the kernel, so ``sent_at − due`` is the
    server's own lateness. A non-streaming answer is one event that holds every token.
    """

    seq: int  # order of arrival, from 0
    id: str | None = None  # the request's x-relaymark-id header
    user: str | None = None  # the request's "user" field
    prompt_sha: str = ""  # first 16 hex digits of the SHA-256 of the prompt's text
    api: str = "chat"
    fault: str | None = None  # name of the fault that answered, if any
    streamed: bool = True
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    arrived: int = 0  # the read that brought the request's last byte
    started: int = 0  # when a slot took it; equal to ``arrived`` unless it queued
    role_at: int | None = None  # the opening (role-only) event, where one was sent
    due: list[int] = msgspec.field(default_factory=list[int])
    sent_at: list[int] = msgspec.field(default_factory=list[int])
    tokens: list[int] = msgspec.field(default_factory=list[int])
    ended: int | None = None  # right before the last bytes of the response; None if they were never sent
    end: str = "done"  # "done", "client_gone" or "stopped"


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(TruthRecord)


class TruthLog:
    """Collects records and appends them to a file on :meth:`flush`; with no path it drops them."""

    def __init__(self, path: Path | None) -> None:
        self._file = None if path is None else path.open("ab")
        self._pending = bytearray()

    def add(self, record: TruthRecord) -> None:
        """Queue one record. It reaches the file on the next flush."""
        if self._file is not None:
            self._pending += _ENCODER.encode(record)
            self._pending += b"\n"

    def flush(self) -> None:
        """Write what is queued and hand it to the operating system."""
        if self._file is not None and self._pending:
            self._file.write(self._pending)
            self._file.flush()
            self._pending.clear()

    def close(self) -> None:
        """Flush and close."""
        self.flush()
        if self._file is not None:
            self._file.close()
            self._file = None


def read_truth(path: Path) -> list[TruthRecord]:
    """Read a truth log, ordered by arrival. A torn last line (the server was killed) is left out.

    Raises:
        ConfigError: The file is missing, or a line other than the last is not a record.
    """
    try:
        data = path.read_bytes()
    except OSError as problem:
        raise ConfigError(f"the truth log cannot be read: {problem.strerror}", where=str(path)) from problem
    records: list[TruthRecord] = []
    for number, line in enumerate(data.split(b"\n")[:-1], start=1):
        try:
            records.append(_DECODER.decode(line))
        except msgspec.MsgspecError as problem:
            raise ConfigError("not a truth record", where=f"{path}:{number}") from problem
    records.sort(key=lambda record: record.seq)
    return records
