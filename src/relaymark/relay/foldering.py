"""What every kind of run has in common before it starts: an endpoint looked at, schedules drawn, a folder made."""

from __future__ import annotations

import os
import shutil
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from relaymark import __version__
from relaymark.bench import Benchmark, StageSpec, Timeouts, dump_benchmark
from relaymark.bench import Retries as RetriesSection
from relaymark.bench.secrets import request_headers
from relaymark.dialects import dialect
from relaymark.load import Schedule, build_schedule, partition, schedule_sha256
from relaymark.relay.machine import environment, usable_cores
from relaymark.relay.plan import Plan, PlannedStage, write_part, write_plan
from relaymark.relay.policies import Patience, Retries
from relaymark.relay.preflight import choose_model, look
from relaymark.relay.redaction import Redactor
from relaymark.trace import RunRecord, StageRecord, create_run_folder, write_run_record
from relaymark.trace.runfolder import CONFIG_FILE
from relaymark.wire import parse_url, resolve

_B = TypeVar("_B", bound=Benchmark)


@dataclass(frozen=True)
class Drawn:
    """The stages of a run in the order they run, the warm-up first, and the schedule of each."""

    stages: list[StageSpec]
    schedules: list[Schedule]

    @classmethod
    def of(cls, bench: Benchmark) -> Drawn:
        """Draws them.

        Raises:
            ConfigError: A limit is missing, or a schedule is absurdly long.
        """
        stages = [*filter(None, [bench.warmup_stage()]), *bench.resolved_stages()]
        return cls(stages, [build_schedule(stage, bench.seed) for stage in stages])


@dataclass(frozen=True)
class Content:
    """What is sent: how many different prompts, and the SHA-256 (hex) of all that decides them."""

    prompts: int
    sha256: str = ""


def with_model(bench: _B) -> tuple[_B, str, dict[str, str]]:
    """Looks at the endpoint; the benchmark with its model, the endpoint's URL, and what it told of itself.

    Raises:
        ConfigError: The model, key or a header cannot be used.
        UnreachableError: The endpoint does not answer.
    """
    endpoint = bench.endpoint
    target = resolve(parse_url(endpoint.url, verify_tls=endpoint.verify_tls))
    served = look(target, request_headers(endpoint, os.environ), Redactor.of(endpoint, os.environ))
    model = choose_model(served, endpoint.model, target.url)
    named = bench.model_copy(update={"endpoint": endpoint.model_copy(update={"model": model})})
    return named, target.url, served.facts


def make_folder(
    parent: Path,
    bench: Benchmark,
    drawn: Drawn,
    url: str,
    facts: dict[str, str],
    fill: Callable[[Path], tuple[Plan, Content]],
    finish: Callable[[RunRecord, Plan], Plan] | None = None,
) -> Path:
    """Makes a run folder under ``parent``; half a one is none.

    Args:
        parent: Folder of runs; made if need be.
        bench: What is to be run, its model filled in.
        drawn: Its stages and schedules.
        url: The endpoint's, as it is shown.
        facts: What it told of itself.
        fill: Writes what this kind of run has of its own into the folder; gives the plan and what is sent.
        finish: May change the plan, and add notes, when the record is known.

    Raises:
        TraceError: The folder cannot be made.
    """
    folder = create_run_folder(parent, bench.name)
    try:
        plan, content = fill(folder)
        record = RunRecord(
            run_id=plan.run_id,
            name=bench.name,
            version=__version__,
            started_at=datetime.now().astimezone().isoformat(timespec="seconds"),
            url=url,
            model=bench.endpoint.model or "",
            dialect=bench.endpoint.dialect,
            pid=os.getpid(),
            workers=plan.workers,
            schedule_sha256=schedule_sha256(drawn.schedules),
            prompts_sha256=content.sha256,
            prompts=content.prompts,
            stages=[stage_record_of(*pair) for pair in zip(drawn.stages, drawn.schedules, strict=True)],
            environment=environment(),
            server=facts,
        )
        if finish is not None:
            plan = finish(record, plan)
        write_plan(folder, plan)
        for schedule in drawn.schedules:
            for part in partition(schedule, plan.workers):
                write_part(folder, part)
        (folder / CONFIG_FILE).write_text(dump_benchmark(bench), encoding="utf-8")
        write_run_record(folder, record)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder


def plan_of(bench: Benchmark, drawn: Drawn, firsts: Sequence[int] | None = None) -> Plan:
    """What the workers are told of a benchmark whose model is known.

    ``firsts``: where in the request pack each stage begins, for requests that were serialised ahead.
    """
    api = dialect(bench.endpoint.dialect)
    stages = [
        PlannedStage(index=stage.index, warmup=stage.index < 0, first_prompt=first)
        for stage, first in zip(drawn.stages, firsts or [0] * len(drawn.stages), strict=True)
    ]
    endpoint, patience = bench.endpoint, patience_of(bench.timeouts, bench.retries)
    return Plan(
        run_id=f"{time.strftime('%Y%m%d%H%M%S')}-{uuid.uuid4().hex[:8]}",
        workers=workers_of(bench, drawn.schedules),
        url=endpoint.url,
        path=endpoint.path or api.default_path,
        dialect=endpoint.dialect,
        model=endpoint.model or "",
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


def workers_of(bench: Benchmark, schedules: list[Schedule]) -> int:
    """How many workers: as asked for, never more than a closed loop has slots to fill.

    ``auto`` leaves one core to the system and to a server on the same machine.
    """
    wanted = max(1, usable_cores() - 1) if bench.workers == "auto" else bench.workers
    most = max((schedule.slots or wanted) for schedule in schedules)
    return max(1, min(wanted, most))


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


def planned_of(schedule: Schedule) -> int | None:
    """How many tasks a schedule has; ``None`` where only time limits it."""
    return schedule.requests if schedule.times is None else len(schedule.times)
