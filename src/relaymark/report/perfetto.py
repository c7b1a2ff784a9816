"""The trace for ui.perfetto.dev and chrome://tracing (Trace Event Format, JSON object form).

Tracks: one process a worker; in it one thread a slot, or a session's own threads where legs have a session. Slices are
complete events (``X``) and, on one thread, must nest: so legs that overlap get threads of their own. The requests
in flight are a counter (``C``) of process 0.
"""

from __future__ import annotations

import os
from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from relaymark.errors import RelaymarkError
from relaymark.report.clean import plain_line
from relaymark.trace.leg import Kind, Leg

_Event = dict[str, Any]
_MOST_BINS = 16_384
_FIRST_BIN = 1_000_000  # ns


def write_perfetto(legs: Iterable[Leg], path: Path) -> int:
    """Write the legs to `path` as trace JSON, whole or not at all; return how many were written.

    Legs that were never started have nothing to draw and are left out. Memory is bounded by the number of
    tracks, not of legs, for legs in order of start or of end; any other order is correct too but may use more tracks.

    Raises:
        RelaymarkError: the file cannot be written.
    """
    partial = path.with_name(path.name + ".partial")
    try:
        with partial.open("wb") as file:
            written = _write(legs, file)
        os.replace(partial, path)  # noqa: PTH105 (rename that overwrites, spelled as the atomic call it is)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise RelaymarkError(
            f"the trace cannot be written: {error.strerror or error}",
            where=str(path),
            mend="check that the folder exists, is writable and has space",
        ) from error
    return written


def _write(legs: Iterable[Leg], file: BinaryIO) -> int:
    encode = msgspec.json.Encoder().encode
    tracks, flight = _Tracks(), _InFlight()
    written = 0
    file.write(b'{"displayTimeUnit":"ms","traceEvents":[\n')
    file.write(encode({"ph": "M", "pid": 0, "tid": 0, "name": "process_name", "args": {"name": "run"}}))
    for leg in legs:
        start = leg.started if leg.started is not None else leg.sent
        if start is None:
            continue
        end = max(_last_stamp(leg), start)
        track, news = tracks.place(leg, start, end)
        for event in (*news, *_slices(leg, start, end, track)):
            file.write(b",\n")
            file.write(encode(event))
        flight.add(start, end)
        written += 1
    for at, level in flight.levels():
        file.write(b",\n")
        file.write(
            encode({"ph": "C", "pid": 0, "tid": 0, "name": "in flight", "ts": _us(at), "args": {"requests": level}})
        )
    file.write(b"\n]}\n")
    return written


def _last_stamp(leg: Leg) -> int:
    stamps = (leg.ended, leg.last_token, leg.first_token, leg.first_byte, leg.sent, leg.connected, leg.started)
    return max((s for s in stamps if s is not None), default=0)


def _us(ns: int) -> float:
    """Microseconds, the format's unit; three decimals keep every nanosecond."""
    return ns / 1000


def _slices(leg: Leg, start: int, end: int, track: tuple[int, int]) -> Iterator[_Event]:
    name = plain_line(leg.role, 40) or leg.kind.value
    yield _slice(f"{name} {leg.outcome.value}", leg.kind.value, start, end, track, _args(leg))
    if leg.kind not in (Kind.LLM, Kind.EMBED, Kind.JUDGE) or leg.service_ns is not None:
        if leg.queued_ns and leg.service_ns is not None:  # a stage of ours: what it waited there and what it took
            served = max(start, end - leg.service_ns)
            yield _slice("queued", "phase", max(start, served - leg.queued_ns), served, track)
            yield _slice("served", "phase", served, end, track)
        return
    if leg.connected is not None and leg.connected > start:
        yield _slice("connect", "phase", start, leg.connected, track)
    sent = leg.sent
    if sent is None:
        return
    sent = max(sent, start)
    if leg.first_token is None:
        if leg.ended is not None and leg.ended > sent:
            yield _slice("response", "phase", sent, leg.ended, track)
        return
    first = max(leg.first_token, sent)
    yield _slice("prefill (TTFT)", "phase", sent, first, track)
    last = leg.last_token if leg.last_token is not None else end
    if last > first:
        yield _slice("decode", "phase", first, last, track)


def _slice(
    name: str, category: str, start: int, end: int, track: tuple[int, int], args: _Event | None = None
) -> _Event:
    pid, tid = track
    event: _Event = {"ph": "X", "name": name, "cat": category, "pid": pid, "tid": tid}
    event |= {"ts": _us(start), "dur": _us(end - start)}
    return event | {"args": args} if args else event


def _args(leg: Leg) -> _Event:
    known: _Event = {
        "task_id": leg.task_id,
        "leg_id": leg.leg_id,
        "parent_id": leg.parent_id,
        "turn": leg.turn or None,
        "stage": leg.stage,
        "warmup": leg.warmup or None,
        "attempt": leg.attempt if leg.attempt > 1 else None,
        "role": plain_line(leg.role, 80) or None,
        "model": plain_line(leg.model, 120) or None,
        "outcome": leg.outcome.value,
        "http_status": leg.http_status,
        "finish_reason": plain_line(leg.finish_reason, 80) if leg.finish_reason else None,
        "error": plain_line(leg.error_message, 300) if leg.error_message else None,
        "send_lag_us": _us(leg.sent - leg.scheduled) if leg.sent is not None and leg.scheduled is not None else None,
        "prompt_tokens": leg.prompt_tokens,
        "cached_tokens": leg.cached_tokens,
        "completion_tokens": leg.completion_tokens,
        "reasoning_tokens": leg.reasoning_tokens,
        "token_source": leg.token_source.value,
        "chunks": len(leg.chunk_at) or None,
        "bytes_in": leg.bytes_in,
    }
    return {name: value for name, value in known.items() if value is not None}


class _Tracks:
    """Gives each leg a thread on which nothing overlaps it."""

    def __init__(self) -> None:
        # Per worker and session: (end of the last slice, tid) ascending, so the tightest fit is one bisection away.
        self._lanes: dict[tuple[int, str | None], list[tuple[int, int]]] = {}
        self._next: dict[int, int] = {}

    def place(self, leg: Leg, start: int, end: int) -> tuple[tuple[int, int], list[_Event]]:
        """The leg's (pid, tid), and the naming events of tracks that this leg is the first on."""
        pid = leg.worker + 1
        news: list[_Event] = []
        if pid not in self._next:
            self._next[pid] = 1
            news.append(_named("process_name", pid, 0, f"worker {leg.worker}"))
        lanes = self._lanes.setdefault((pid, leg.session_id), [])
        at = bisect_right(lanes, (start, 1 << 62)) - 1
        if at >= 0:
            tid = lanes.pop(at)[1]
        else:
            tid = self._next[pid]
            self._next[pid] = tid + 1
            session = plain_line(leg.session_id, 80) if leg.session_id is not None else None
            label = f"slot {len(lanes) + 1}" if session is None else f"session {session}"
            more = f" ({len(lanes) + 1})" if session is not None and lanes else ""
            news.append(_named("thread_name", pid, tid, label + more))
        insort(lanes, (end, tid))
        return (pid, tid), news


def _named(what: str, pid: int, tid: int, name: str) -> _Event:
    return {"ph": "M", "pid": pid, "tid": tid, "name": what, "args": {"name": name}}


class _InFlight:
    """How many legs are under way, at the ends of bins that widen as the run grows: bounded whatever its length."""

    def __init__(self) -> None:
        self._width = _FIRST_BIN
        self._changes: dict[int, int] = {}

    def add(self, start: int, end: int) -> None:
        """Count one leg."""
        for at, change in ((start, 1), (end, -1)):
            bin_ = at // self._width
            self._changes[bin_] = self._changes.get(bin_, 0) + change
        if len(self._changes) > _MOST_BINS:
            self._width *= 2
            merged: dict[int, int] = {}
            for bin_, change in self._changes.items():
                merged[bin_ // 2] = merged.get(bin_ // 2, 0) + change
            self._changes = merged

    def levels(self) -> Iterator[tuple[int, int]]:
        """(ns, legs under way) in order of time."""
        level = 0
        for bin_, change in sorted(self._changes.items()):
            level += change
            yield bin_ * self._width, level
