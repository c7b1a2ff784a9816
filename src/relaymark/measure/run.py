"""The summary of a run folder, from its trace alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from relaymark.bench import Benchmark, SloSpec, load_benchmark
from relaymark.measure.inputs import Gates, RunInfo, Slo, StageInfo
from relaymark.measure.summarise import summarise
from relaymark.measure.summary import Summary
from relaymark.trace import StageRecord, read_heartbeats, read_run_record
from relaymark.trace.runfolder import CONFIG_FILE, HEALTH_FILE, TRACE_FILE
from relaymark.trace.table import Trace
from relaymark.units import format_duration


def summarise_run(folder: Path) -> Summary:
    """Computes the summary of a finished run; touches nothing but its folder.

    Raises:
        TraceError: The run's record or trace cannot be read.
        ConfigError: The run's benchmark file cannot be read.
    """
    record = read_run_record(folder)
    config = folder / CONFIG_FILE
    bench = load_benchmark(config)
    trace = Trace(folder / TRACE_FILE)

    def legs(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        return trace.batches(columns)

    info = RunInfo(
        run_id=record.run_id,
        name=record.name,
        version=record.version,
        started_at=record.started_at,
        url=record.url,
        model=record.model,
        dialect=record.dialect,
        status=record.status,
        schedule_sha256=record.schedule_sha256,
        config=config.read_text(encoding="utf-8"),
        environment=record.environment,
        server=record.server,
        notes=record.notes,
        stages=[_stage(stage) for stage in record.stages if not stage.warmup and stage.started_ns is not None],
        slos=[_slo(spec) for spec in bench.slo_specs()],
        gates=_gates(bench),
        crashed_workers=record.crashed_workers,
    )
    return summarise(legs, read_heartbeats(folder / HEALTH_FILE), info)


def _stage(stage: StageRecord) -> StageInfo:
    return StageInfo(
        index=stage.index,
        name=stage.name,
        load=stage.load,
        open_loop=stage.open_loop,
        offered_rate=stage.offered_rate,
        requests=stage.planned,
        duration_ns=stage.duration_ns,
        start_ns=stage.started_ns,
    )


def _slo(spec: SloSpec) -> Slo:
    return Slo(
        text=f"{spec.name} ≤ {format_duration(spec.bound)}", metric=spec.metric, q=spec.q, bound=float(spec.bound)
    )


def _gates(bench: Benchmark) -> Gates:
    gates = bench.gates
    return Gates(
        min_duration_ns=gates.min_duration,
        min_requests=gates.min_requests,
        streaming=bench.stream,
        max_one_piece_share=gates.max_one_piece_share,
        token_counts_from_server=gates.require_usage,
    )
