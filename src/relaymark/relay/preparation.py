"""From a benchmark to a run folder that is ready to run: prompts serialised, schedules drawn, everything hashed."""

from __future__ import annotations

import os
import shutil
import time
import uuid
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from relaymark import __version__
from relaymark.bench import Benchmark, StageSpec, Timeouts, dump_benchmark
from relaymark.bench import Retries as RetriesSection
from relaymark.bench.agent_replay import AgentReplay
from relaymark.bench.rag_ask import RagAsk
from relaymark.bench.secrets import request_headers
from relaymark.data import PromptSet, load_prompts
from relaymark.dialects import Dialect, dialect
from relaymark.errors import ConfigError
from relaymark.load import Schedule, build_schedule, partition, schedule_sha256
from relaymark.relay.machine import environment, usable_cores
from relaymark.relay.pack import write_pack
from relaymark.relay.plan import Plan, PlannedStage, write_part, write_plan
from relaymark.relay.policies import Patience, Retries
from relaymark.relay.preflight import choose_model, look
from relaymark.relay.redaction import Redactor
from relaymark.trace import RunRecord, StageRecord, create_run_folder, write_run_record
from relaymark.trace.runfolder import CONFIG_FILE
from relaymark.wire import parse_url, resolve

_PACK_BYTES = 2 << 30
# Prompts made for a closed loop that only a duration limits, where nobody knows how many will be sent.
_UNKNOWN_COUNT = 2_000


def prepare(bench: Benchmark, parent: Path, base_dir: Path) -> Path:
    """Looks at the endpoint, then makes a run folder under ``parent`` with all that the workers need.

    Args:
        bench: What is to be run. A missing model is filled in from what the endpoint serves.
        parent: Folder of runs; made if need be.
        base_dir: What a relative prompt file counts from.

    Raises:
        ConfigError: The prompts, model, key or a header cannot be used.
        UnreachableError: The endpoint does not answer.
        TraceError: The folder cannot be made.
    """
    if isinstance(bench, RagAsk):
        from relaymark.relay.rag.preparation import prepare_rag  # noqa: PLC0415 - it builds on this file

        return prepare_rag(bench, parent)
    if isinstance(bench, AgentReplay):
        from relaymark.relay.agent.preparation import prepare_replay  # noqa: PLC0415 - it builds on this file

        return prepare_replay(bench, parent)
    endpoint = bench.endpoint
    api = dialect(endpoint.dialect)
    prompts = load_prompts(bench.prompt_source(), seed=bench.seed, base_dir=base_dir)
    stages = [*filter(None, [bench.warmup_stage()]), *bench.resolved_stages()]
    schedules = [build_schedule(stage, bench.seed) for stage in stages]
    target = resolve(parse_url(endpoint.url, verify_tls=endpoint.verify_tls))
    served = look(target, request_headers(endpoint, os.environ), Redactor.of(endpoint, os.environ))
    model = choose_model(served, endpoint.model, target.url)
    bench = bench.model_copy(update={"endpoint": endpoint.model_copy(update={"model": model})})

    folder = create_run_folder(parent, bench.name)
    try:
        _fill(folder, bench, api, target.url, served.facts, prompts, stages, schedules)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)  # half a run folder is none
        raise
    return folder


def _fill(
    folder: Path,
    bench: Benchmark,
    api: Dialect,
    url: str,
    facts: dict[str, str],
    prompts: PromptSet,
    stages: list[StageSpec],
    schedules: list[Schedule],
) -> None:
    endpoint = bench.endpoint
    model = endpoint.model or ""
    counts = [planned_of(schedule) for schedule in schedules]
    firsts, needed = _prompt_ranges(counts, stages)
    count, digest = write_pack(folder, _bodies(bench, api, model, prompts, min(needed, len(prompts))))
    workers = workers_of(bench, schedules)
    planned = [
        PlannedStage(index=stage.index, warmup=stage.index < 0, first_prompt=first)
        for stage, first in zip(stages, firsts, strict=True)
    ]
    plan = plan_of(bench, api, model, workers, planned)
    write_plan(folder, plan)
    for schedule in schedules:
        for part in partition(schedule, workers):
            write_part(folder, part)
    (folder / CONFIG_FILE).write_text(dump_benchmark(bench), encoding="utf-8")
    record = RunRecord(
        run_id=plan.run_id,
        name=bench.name,
        version=__version__,
        started_at=datetime.now().astimezone().isoformat(timespec="seconds"),
        url=url,
        model=model,
        dialect=endpoint.dialect,
        pid=os.getpid(),
        workers=workers,
        schedule_sha256=schedule_sha256(schedules),
        prompts_sha256=digest,
        prompts=count,
        stages=[stage_record_of(stage, schedule) for stage, schedule in zip(stages, schedules, strict=True)],
        environment=environment(),
        server=facts,
    )
    write_run_record(folder, record)


def planned_of(schedule: Schedule) -> int | None:
    """How many tasks a schedule has; ``None`` where only time limits it."""
    return schedule.requests if schedule.times is None else len(schedule.times)


def _prompt_ranges(counts: list[int | None], stages: list[StageSpec]) -> tuple[list[int], int]:
    """Where in the pack each stage begins, and how many prompts that asks for.

    Stages go on where the one before stopped, so that no stage is flattered by a prefix cache that an earlier one
    filled; the warm-up takes its own from the end (vllm bench re-sends prompt 0, which primes the cache).
    """
    total = sum(count or _UNKNOWN_COUNT for count in counts)
    firsts: list[int] = []
    following = 0
    for count, stage in zip(counts, stages, strict=True):
        size = count or _UNKNOWN_COUNT
        if stage.index < 0:
            firsts.append(total - size)
        else:
            firsts.append(following)
            following += size
    return firsts, total


def _bodies(bench: Benchmark, api: Dialect, model: str, prompts: PromptSet, count: int) -> Iterator[bytes]:
    sampling = bench.sampling.request_fields()
    size = 0
    for index in range(count):
        prompt = prompts[index]
        _, body = api.encode(
            messages=prompt.messages,
            text=prompt.text,
            max_tokens=prompt.max_tokens,
            extra=prompt.extra,
            sampling=sampling,
            model=model,
            stream=bench.stream,
        )
        size += len(body)
        if size > _PACK_BYTES:
            raise ConfigError(
                f"The requests come to more than {_PACK_BYTES >> 30} GiB.",
                where="prompts",
                mend="Use fewer or shorter prompts; prompts.synthetic.unique bounds how many are made.",
            )
        yield body


def workers_of(bench: Benchmark, schedules: list[Schedule]) -> int:
    """How many workers: as asked for, never more than a closed loop has slots to fill.

    ``auto`` leaves one core to the system and to a server on the same machine.
    """
    wanted = max(1, usable_cores() - 1) if bench.workers == "auto" else bench.workers
    most = max((schedule.slots or wanted) for schedule in schedules)
    return max(1, min(wanted, most))


def plan_of(bench: Benchmark, api: Dialect, model: str, workers: int, stages: list[PlannedStage]) -> Plan:
    """What the workers are told of a benchmark."""
    endpoint, patience = bench.endpoint, patience_of(bench.timeouts, bench.retries)
    return Plan(
        run_id=f"{time.strftime('%Y%m%d%H%M%S')}-{uuid.uuid4().hex[:8]}",
        workers=workers,
        url=endpoint.url,
        path=endpoint.path or api.default_path,
        dialect=endpoint.dialect,
        model=model,
        streamed=bench.stream and api.streams,
        seed=bench.seed,
        verify_tls=endpoint.verify_tls,
        keep_alive=bench.connections.keep_alive,
        keep_content=bench.keep_content,
        api_key_env=endpoint.api_key_env,
        headers=endpoint.headers,
        drain_ns=bench.timeouts.drain,
        max_header=bench.limits.max_header,
        max_body=bench.limits.max_body,
        connect_ns=patience.connect_ns,
        first_byte_ns=patience.first_byte_ns,
        idle_ns=patience.idle_ns,
        total_ns=patience.total_ns,
        retries=patience.retries,
        stages=stages,
    )


def patience_of(timeouts: Timeouts, retries: RetriesSection) -> Patience:
    """What two sections of a benchmark file say of one attempt and the next."""
    return Patience(
        connect_ns=timeouts.connect,
        first_byte_ns=timeouts.first_byte,
        idle_ns=timeouts.idle,
        total_ns=timeouts.total,
        retries=Retries(
            attempts=retries.attempts,
            backoff_ns=retries.backoff,
            backoff_max_ns=retries.backoff_max,
            jitter=retries.jitter,
            honour_retry_after=retries.honour_retry_after,
            on=tuple(retries.on),
            statuses=tuple(retries.statuses),
        ),
    )


def stage_record_of(stage: StageSpec, schedule: Schedule) -> StageRecord:
    """What the run's record says of a stage."""
    return StageRecord(
        index=stage.index,
        name=stage.name,
        load=stage.load.text(),
        open_loop=schedule.open_loop,
        warmup=stage.index < 0,
        slots=schedule.slots or None,
        planned=planned_of(schedule),
        duration_ns=schedule.duration,
        offered_rate=schedule.offered_rate,
    )
