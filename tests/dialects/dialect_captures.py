"""Captures as the wire would have made them, built from the bytes a server sends."""

from __future__ import annotations

import itertools
import json
import struct
from collections.abc import Iterable, Sequence

from relaymark.dialects import Decoded, decode_capture
from relaymark.trace import Capture, TransferEnd

SSE_HEADERS = "content-type: text/event-stream; charset=utf-8"


def head(*lines: str, status: str = "200 OK", version: str = "1.1") -> bytes:
    return "\r\n".join([f"HTTP/{version} {status}", *lines, "", ""]).encode("latin-1")


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def sse(obj: object) -> bytes:
    text = obj if isinstance(obj, str) else json.dumps(obj)
    return f"data: {text}\n\n".encode()


def delta(index: int = 0, finish: str | None = None, **fields: object) -> dict[str, object]:
    """One chat chunk with one choice; ``usage`` and ``logprobs`` go where they belong."""
    outer = {key: fields.pop(key) for key in ("usage", "timings") if key in fields}
    choice: dict[str, object] = {"index": index, "delta": fields, "finish_reason": finish}
    if "logprobs" in fields:
        choice["logprobs"] = fields.pop("logprobs")
    return {"id": "c1", "object": "chat.completion.chunk", "model": "m", "choices": [choice], **outer}


USAGE = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}}


def hello() -> list[bytes]:
    """Events of a good chat stream: role, three pieces, finish, usage, [DONE]."""
    return [
        sse(delta(role="assistant", content="")),
        sse(delta(content="Hel")),
        sse(delta(content="lo ")),
        sse(delta(content="日本")),
        sse(delta(finish="stop")),
        sse(USAGE),
        sse("[DONE]"),
    ]


def capture(
    reads: Iterable[bytes],
    *,
    end: TransferEnd = TransferEnd.COMPLETE,
    dialect: str = "openai-chat",
    streamed: bool = True,
    error: str = "",
) -> Capture:
    reads = list(reads)
    return Capture(
        leg_id=1,
        task_id=1,
        request=0,
        dialect=dialect,
        streamed=streamed,
        end=end,
        error=error,
        raw=b"".join(reads),
        sizes=struct.pack(f"<{len(reads)}I", *map(len, reads)),
    )


def decode(reads: Iterable[bytes], **options: object) -> Decoded:
    return decode_capture(capture(reads, **options))  # type: ignore[arg-type]  # forwarded as given


def stream(
    events: Sequence[bytes], *, last_chunk: bool = True, headers: Sequence[str] = (), **options: object
) -> Decoded:
    """Decode a chunked stream: headers in read 0, event i in read i + 1."""
    reads = [head(SSE_HEADERS, "transfer-encoding: chunked", *headers), *map(chunk, events)]
    if last_chunk:
        reads.append(b"0\r\n\r\n")
    return decode(reads, **options)


def body(data: object, *, status: str = "200 OK", kind: str = "application/json", **options: object) -> Decoded:
    """Decode a body with content-length; anything but bytes is written as JSON."""
    data = data if isinstance(data, bytes) else json.dumps(data).encode()
    headers = [f"content-type: {kind}", f"content-length: {len(data)}", *options.pop("headers", ())]  # type: ignore[misc]
    return decode([head(*headers, status=status), data], **options)


def cut(raw: bytes, places: Iterable[int]) -> list[bytes]:
    """Split bytes at the given places."""
    marks = [0, *sorted({place for place in places if 0 < place < len(raw)}), len(raw)]
    return [raw[a:b] for a, b in itertools.pairwise(marks)]
