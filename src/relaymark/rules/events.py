"""A run as the reference client's run folder: what is kept of a point beside the bundle (§4.1 of its files).

``config.yaml``, ``performance/result_summary.json``, ``events.jsonl`` and ``sample_idx_map.json``. The events carry the
stamps of the trace (CLOCK_MONOTONIC, ns) and no content: prompts and answers stay in the run's own folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from relaymark.rules.runsource import read_run
from relaymark.rules.yamltext import yaml_text
from relaymark.trace import Leg
from relaymark.trace.runfolder import TRACE_FILE


def write_run_archive(run: Path, out: Path, stage: int = 0) -> Path:
    """Writes a stage of a Relaymark run as a run folder of the reference client; returns ``out``.

    Raises:
        TraceError: The run cannot be read.
    """
    source = read_run(run, stage=stage)
    (out / "performance").mkdir(parents=True, exist_ok=True)
    (out / "config.yaml").write_text(yaml_text(source.config), encoding="utf-8")
    summary = msgspec.json.format(msgspec.json.encode(source.summary), indent=2)
    (out / "performance" / "result_summary.json").write_bytes(summary + b"\n")
    indices: dict[str, int] = {}
    encoder = msgspec.json.Encoder()
    with (out / "events.jsonl").open("wb") as file:
        for event in events_of(run, stage):
            file.write(encoder.encode(event) + b"\n")
            if event["event_type"] == "sample.issued":
                indices[event["sample_uuid"]] = len(indices)
    (out / "sample_idx_map.json").write_bytes(encoder.encode({"performance": indices}) + b"\n")
    return out


def events_of(run: Path, stage: int = 0) -> Iterator[dict[str, Any]]:
    """The events of a stage in the order of their stamps; superseded attempts are left out."""
    from relaymark.trace.table import Trace  # noqa: PLC0415 - pyarrow only where it is needed

    legs = [leg for leg in Trace(run / TRACE_FILE).legs() if leg.stage == stage and leg.final and leg.kind == "llm"]
    found = [event for leg in legs for event in _events(leg)]
    found.sort(key=lambda event: event["timestamp_ns"])
    if not found:
        return
    first, last = found[0]["timestamp_ns"], found[-1]["timestamp_ns"]
    yield _event("session.started", first)
    yield _event("session.start_performance_tracking", first)
    yield from found
    yield _event("session.stop_performance_tracking", last)
    yield _event("session.ended", last)


def _events(leg: Leg) -> Iterator[dict[str, Any]]:
    begun = leg.sent if leg.sent is not None else leg.started
    if begun is None:
        return
    name = f"{leg.task_id:032x}" if leg.leg_id == leg.task_id else f"{leg.task_id:016x}{leg.leg_id:016x}"
    more = {"conversation_id": leg.session_id or "", "turn": leg.turn, "worker_id": leg.worker}
    yield _event("sample.issued", begun, name, **more)
    for place, at in enumerate(leg.chunk_at):
        yield _event("sample.recv_non_first" if place else "sample.recv_first", begun + at, name, **more)
    if leg.ended is None:
        return
    if not leg.outcome.good:
        yield _event(f"error.{leg.outcome}", leg.ended, name, **more)
    yield _event("sample.complete", leg.ended, name, finish_reason=leg.finish_reason, **more)


def _event(kind: str, at: int, sample: str | None = None, **more: Any) -> dict[str, Any]:
    return {"event_type": kind, "timestamp_ns": at, "sample_uuid": sample, **more}
