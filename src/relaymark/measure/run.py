"""The summary of a run folder, from its trace alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa

from relaymark.bench import Benchmark, SloSpec, load_benchmark
from relaymark.bench.agent_live import AgentLive
from relaymark.bench.agent_replay import AgentReplay
from relaymark.bench.rag_ask import RagAsk
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

    pipeline = isinstance(bench, RagAsk | AgentReplay | AgentLive)

    def legs(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if not pipeline:
            yield from trace.batches(columns)
            return
        # Of tasks of many legs it is the LLM calls that the stage's own figures are about.
        for batch in trace.batches([*columns, "kind"]):
            kinds = np.array(batch["kind"].cast(pa.string()).to_pylist())
            calls = batch.filter(pa.array(kinds == "llm"))
            if calls.num_rows:
                yield calls.select(list(columns))

    run = [stage for stage in record.stages if not stage.warmup and stage.started_ns is not None]
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
        stages=[_stage(stage, pipeline) for stage in run],
        slos=[_slo(spec) for spec in bench.slo_specs()],
        gates=_gates(bench),
        crashed_workers=record.crashed_workers,
    )
    summary = summarise(legs, read_heartbeats(folder / HEALTH_FILE), info)
    if not pipeline:
        return summary
    from relaymark.measure.pipeline_verdict import judge_pipeline  # noqa: PLC0415 - only such runs load it
    from relaymark.measure.tasks import summarise_tasks  # noqa: PLC0415 - only such runs load it

    tasks = summarise_tasks(folder, trace, {stage.index: stage.started_ns or 0 for stage in run})
    stages = [msgspec.structs.replace(stage, tasks=tasks.get(stage.index)) for stage in summary.stages]
    verdict = judge_pipeline(summary.verdict, stages, record.broken)
    if isinstance(bench, AgentReplay | AgentLive):
        from relaymark.measure.turns import judge_turns, summarise_turns  # noqa: PLC0415 - only such runs load it

        turns = summarise_turns(trace, [stage.index for stage in run])
        stages = [msgspec.structs.replace(stage, turns=turns.get(stage.index)) for stage in stages]
        verdict = judge_turns(verdict, stages)
        if isinstance(bench, AgentReplay) and bench.reasoning == "both":
            from relaymark.measure.reasoning import compare_reasoning  # noqa: PLC0415 - only such runs load it

            ran = {stage.index for stage in run}
            pairs = [(stage, stage + 1) for stage in sorted(ran) if stage % 2 == 0 and stage + 1 in ran]
            summary = msgspec.structs.replace(summary, reasoning=compare_reasoning(trace, pairs))
    return msgspec.structs.replace(summary, stages=stages, verdict=verdict)


def _stage(stage: StageRecord, pipeline: bool) -> StageInfo:
    # Only whole tasks have a place in the schedule, and their number is not that of the calls.
    return StageInfo(
        index=stage.index,
        name=stage.name,
        load=stage.load,
        open_loop=stage.open_loop and not pipeline,
        offered_rate=None if pipeline else stage.offered_rate,
        requests=None if pipeline else stage.planned,
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
