"""Captures with stamps to the nanosecond, and run folders without an endpoint."""

from __future__ import annotations

import json
import struct
from array import array
from pathlib import Path
from typing import Any

from relaymark.relay.live import create_live
from relaymark.relay.pack import write_pack
from relaymark.relay.plan import Plan, write_plan
from relaymark.trace import Capture, RunRecord, StageRecord, TransferEnd, write_run_record

SENT = 5_000_000_000  # CLOCK_MONOTONIC ns
OFFSET = 1_700_000_000_000_000_000  # CLOCK_REALTIME − CLOCK_MONOTONIC
MS = 1_000_000


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def event(delta: dict[str, Any] | None = None, finish: str | None = None, **outer: Any) -> bytes:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    body = {"object": "chat.completion.chunk", "model": "m-1", "choices": choices, **outer}
    return chunk(b"data: " + json.dumps(body).encode() + b"\n\n")


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
DONE = chunk(b"data: [DONE]\n\n")
LAST = b"0\r\n\r\n"


def stream(tokens: int = 3, *, usage: int | None = None, finish: str = "stop") -> list[bytes]:
    """Reads of a good stream: head and role, one event a token, the rest in one read."""
    reads = [HEAD + event({"role": "assistant", "content": ""})]
    reads += [event({"content": f" w{n}"}) for n in range(tokens)]
    counts = {} if usage is None else {"usage": {"prompt_tokens": 7, "completion_tokens": usage}}
    reads.append(event({}, finish) + (event(None, **counts) if counts else b"") + DONE + LAST)
    return reads


def timespec(monotonic: int, offset: int = OFFSET) -> bytes:
    return struct.pack("<qq", *divmod(monotonic + offset, 1_000_000_000))


def captured(
    reads: list[bytes],
    at: list[int] | None = None,
    *,
    late: int = 30_000,
    kernel: bool = True,
    **fields: Any,
) -> Capture:
    """A capture whose read n arrived ``at[n]`` ns after SENT by the kernel and was stamped ``late`` ns later."""
    at = [(n + 1) * 10 * MS for n in range(len(reads))] if at is None else at
    arrived = [SENT + offset for offset in at]
    settings: dict[str, Any] = {
        "leg_id": 1,
        "task_id": 1 << 32,
        "request": 0,
        "started": SENT - 2 * MS,
        "connected": SENT - 1000,
        "sent": SENT,
        "ended": (arrived[-1] if arrived else SENT) + late,
        "end": TransferEnd.COMPLETE,
        "wall_offset_ns": OFFSET,
        "user_ns": array("q", [stamp + late for stamp in arrived]).tobytes(),
        "kernel_ts": b"".join(map(timespec, arrived)) if kernel else b"",
        "sizes": array("I", map(len, reads)).tobytes(),
        "raw": b"".join(reads),
    }
    return Capture(**(settings | fields))


def run_folder(folder: Path, *, workers: int = 1, status: str = "complete", pid: int = 0, **plan: Any) -> Plan:
    """A run folder as ``prepare`` leaves it, with one stage that has started."""
    folder.mkdir(parents=True, exist_ok=True)
    settings: dict[str, Any] = {
        "run_id": "run-1",
        "workers": workers,
        "url": "http://127.0.0.1:1",
        "path": "/v1/chat/completions",
        "dialect": "openai-chat",
        "model": "m",
        "streamed": True,
    }
    made = Plan(**(settings | plan))
    write_plan(folder, made)
    write_pack(folder, [b'{"n": %d}' % n for n in range(4)])
    create_live(folder, workers)
    record = RunRecord(
        run_id="run-1",
        name="hand",
        version="0",
        started_at="2026-01-01T00:00:00+00:00",
        url="http://127.0.0.1:1",
        model="m",
        dialect="openai-chat",
        status=status,
        pid=pid,
        workers=workers,
        stages=[StageRecord(index=0, name="s", load="single", open_loop=False, started_ns=SENT)],
    )
    write_run_record(folder, record)
    return made
