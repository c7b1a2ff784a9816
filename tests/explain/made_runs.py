"""Runs made by hand: traces whose shares, queues and costs are known."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from pathlib import Path
from random import Random

from relaymark.trace import Kind, Leg, Outcome, RunRecord, StageRecord, write_run_record
from relaymark.trace.runfolder import TRACE_FILE
from relaymark.trace.table import TraceWriter

MS = 1_000_000


def write_run(folder: Path, legs: Sequence[Leg], *, load: str = "single", slots: int | None = 1) -> Path:
    """A run's folder with these legs."""
    folder.mkdir(parents=True, exist_ok=True)
    stage = StageRecord(index=0, name=load, load=load, open_loop=slots is None, slots=slots, started_ns=0)
    record = RunRecord(
        run_id="made", name="made", version="0", started_at="2026-12-01T00:00:00+00:00", url="http://x", model="m",
        dialect="openai-chat", status="complete", stages=[stage], prompts_sha256="p", schedule_sha256="s",
    )  # fmt: skip
    write_run_record(folder, record)
    writer = TraceWriter(folder / TRACE_FILE, "made")
    for leg in legs:
        writer.add(leg)
    writer.close()
    return folder


def task_legs(
    task: int, began: int, parts: Sequence[tuple[str, Kind, int, int]], own: int = 0, endpoint: str = "http://x"
) -> list[Leg]:
    """One task: (name, kind, begin, end) of each leg in ns from its beginning; it ends ``own`` ns after the last."""
    whole = task * 1000
    legs = [
        Leg(
            task_id=task,
            leg_id=whole + place + 1,
            parent_id=whole,
            kind=kind,
            role=name if kind is Kind.LLM else "",
            endpoint=endpoint if kind is Kind.LLM else "",
            started=began + begin,
            sent=began + begin,
            ended=began + end,
            outcome=Outcome.OK,
        )
        for place, (name, kind, begin, end) in enumerate(parts)
    ]
    ended = max(leg.ended or 0 for leg in legs) + own
    legs.append(
        Leg(task_id=task, leg_id=whole, kind=Kind.TASK, started=began, sent=began, ended=ended, outcome=Outcome.OK)
    )
    return legs


def in_a_row(parts: Sequence[tuple[str, Kind, int]]) -> list[tuple[str, Kind, int, int]]:
    """(name, kind, length) one after the other."""
    placed: list[tuple[str, Kind, int, int]] = []
    at = 0
    for name, kind, length in parts:
        placed.append((name, kind, at, at + length))
        at += length
    return placed


def queued_run(tasks: int, servers: int, rate: float, seed: int, speed: dict[str, float] | None = None) -> list[Leg]:
    """Tasks of two LLM calls with a tool between them, arriving at random at an endpoint with so many servers."""
    draw = Random(seed)
    speed = speed or {}
    at, plans = 0.0, []
    for task in range(tasks):
        at += draw.expovariate(rate) * 1e9
        plans.append((task, int(at), draw.uniform(0.9, 1.1), draw.uniform(0.9, 1.1)))
    legs: list[Leg] = []
    free = [0] * servers
    heapq.heapify(free)
    events = [(began, 0, task, 0, began) for task, began, _, _ in plans]
    heapq.heapify(events)
    shape = {task: (one, two) for task, _, one, two in plans}
    begun = {task: began for task, began, _, _ in plans}
    while events:
        now, _, task, step, _ = heapq.heappop(events)
        name = ("plan", "answer")[step]
        length = int((30 * MS, 60 * MS)[step] * shape[task][step] / speed.get(name, 1.0))
        start = max(now, heapq.heappop(free))
        end = start + length
        heapq.heappush(free, end)
        legs.append(
            Leg(
                task_id=task, leg_id=task * 10 + step + 1, parent_id=task * 10, role=name, endpoint="http://x",
                started=now, sent=now, ended=end, outcome=Outcome.OK,
            )
        )  # fmt: skip
        if step == 0:
            tool = end + 10 * MS
            legs.append(
                Leg(
                    task_id=task, leg_id=task * 10 + 5, parent_id=task * 10, kind=Kind.TOOL, started=end, sent=end,
                    ended=tool, outcome=Outcome.OK,
                )
            )  # fmt: skip
            heapq.heappush(events, (tool, 1, task, 1, tool))
        else:
            legs.append(
                Leg(
                    task_id=task, leg_id=task * 10, kind=Kind.TASK, scheduled=begun[task], started=begun[task],
                    sent=begun[task], ended=end, outcome=Outcome.OK,
                )
            )  # fmt: skip
    return legs
