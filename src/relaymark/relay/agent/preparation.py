"""From recorded conversations to a run folder that is ready to run."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from relaymark import __version__
from relaymark.bench import dump_benchmark
from relaymark.bench.agent_replay import AgentReplay, Pause
from relaymark.bench.secrets import request_headers
from relaymark.data.trajectories import Trajectory, load_trajectories
from relaymark.dialects import Dialect, dialect
from relaymark.errors import ConfigError
from relaymark.load import build_schedule, partition, schedule_sha256
from relaymark.relay.agent.plan import PlannedPause, ReplayPlan
from relaymark.relay.agent.resume import whole_sessions
from relaymark.relay.agent.sessions import Heads, head_key, heads_of, recorded_fields, write_sessions
from relaymark.relay.machine import environment
from relaymark.relay.merge import finish
from relaymark.relay.pack import write_pack
from relaymark.relay.plan import PlannedStage, write_part, write_plan
from relaymark.relay.preflight import choose_model, look
from relaymark.relay.preparation import plan_of, stage_record_of, workers_of
from relaymark.relay.redaction import Redactor
from relaymark.trace import RunRecord, create_run_folder, write_run_record
from relaymark.trace.runfolder import CONFIG_FILE
from relaymark.trace.turns import SaidCall, TurnRecorded, write_recorded
from relaymark.wire import parse_url, resolve


def prepare_replay(bench: AgentReplay, parent: Path) -> Path:
    """Looks at the endpoint, then makes a run folder under ``parent`` with all that the workers need.

    Raises:
        ConfigError: The trajectories, the model, key or a header cannot be used.
        UnreachableError: The endpoint does not answer.
        TraceError: The folder cannot be made.
    """
    trajectories = load_trajectories(Path(bench.trajectories))
    if bench.salt != "none" and (bare := next((one for one in trajectories if not one.system), None)):
        raise ConfigError(
            f"conversation {bare.id} has no system prompt that a salt could be put into",
            where=bench.trajectories,
            mend="use salt: none",
        )
    bench = bench.limited(len(trajectories))
    endpoint = bench.endpoint
    api = dialect(endpoint.dialect)
    target = resolve(parse_url(endpoint.url, verify_tls=endpoint.verify_tls))
    served = look(target, request_headers(endpoint, os.environ), Redactor.of(endpoint, os.environ))
    model = choose_model(served, endpoint.model, target.url)
    bench = bench.model_copy(update={"endpoint": endpoint.model_copy(update={"model": model})})
    stages = [*filter(None, [bench.warmup_stage()]), *bench.resolved_stages()]
    schedules = [build_schedule(stage, bench.seed) for stage in stages]
    workers = workers_of(bench, schedules)
    planned = [PlannedStage(index=stage.index, warmup=stage.index < 0) for stage in stages]
    plan = plan_of(bench, api, model, workers, planned)
    plan.replay = ReplayPlan(
        conversations=len(trajectories),
        think=_pause(bench.think),
        tools=_pause(bench.tools),
        session_headers=tuple(bench.session_headers),
        salt=bench.salt != "none",
        salt_key=plan.run_id if bench.salt == "run" else str(bench.seed),
    )
    which = _which(trajectories)
    heads = {stage.index: _heads(bench, api, model, trajectories, which, stage.index) for stage in stages}
    folder = create_run_folder(parent, bench.name)
    try:
        write_pack(folder, iter(()))
        prompts_sha256 = write_sessions(folder, trajectories, heads, which)
        write_recorded(folder, _recorded(trajectories))
        record = RunRecord(
            run_id=plan.run_id,
            name=bench.name,
            version=__version__,
            started_at=datetime.now().astimezone().isoformat(timespec="seconds"),
            url=target.url,
            model=model,
            dialect=endpoint.dialect,
            pid=os.getpid(),
            workers=workers,
            schedule_sha256=schedule_sha256(schedules),
            prompts_sha256=prompts_sha256,
            prompts=sum(len(one.turns) for one in trajectories),
            stages=[stage_record_of(stage, schedule) for stage, schedule in zip(stages, schedules, strict=True)],
            environment=environment(),
            server=served.facts,
        )
        if bench.resume:
            plan.replay = _resumed(plan.replay, Path(bench.resume), record)
        write_plan(folder, plan)
        for schedule in schedules:
            for part in partition(schedule, workers):
                write_part(folder, part)
        (folder / CONFIG_FILE).write_text(dump_benchmark(bench), encoding="utf-8")
        write_run_record(folder, record)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)  # half a run folder is none
        raise
    return folder


def _resumed(plan: ReplayPlan, earlier: Path, record: RunRecord) -> ReplayPlan:
    """The plan with what an earlier run has had whole.

    Raises:
        ConfigError: That run's work was another.
        TraceError: It is no run's folder, or the run is still going on.
    """
    finish(earlier)
    done = whole_sessions(earlier, record)
    record.notes.append(
        f"{len(done):,} conversations are from {earlier.name}, which this run went on with; their times of day are not."
    )
    return msgspec.structs.replace(plan, continues=str(earlier), done=tuple(done))


def _pause(pause: Pause) -> PlannedPause:
    return PlannedPause(kind=pause.kind, scale=pause.scale, mean_ns=pause.mean, sigma=pause.sigma)


def _which(trajectories: list[Trajectory]) -> dict[str, int]:
    """Every head that is needed, and its place: in most files all conversations share one."""
    found: dict[str, int] = {}
    for trajectory in trajectories:
        for turn in trajectory.turns:
            found.setdefault(head_key(trajectory, turn), len(found))
    return found


def _heads(
    bench: AgentReplay, api: Dialect, model: str, trajectories: list[Trajectory], which: dict[str, int], stage: int
) -> Heads:
    sampling = bench.sampling.request_fields()
    limit = sampling.pop("max_tokens", None)
    bodies: dict[int, bytes] = {}
    reasoning = bench.reasoning_of(stage)
    for trajectory in trajectories:
        for turn in trajectory.turns:
            place = which[head_key(trajectory, turn)]
            if place in bodies:
                continue
            extra: dict[str, Any] = recorded_fields(trajectory, turn)
            if reasoning is not None:
                told = sampling.get("chat_template_kwargs")
                extra["chat_template_kwargs"] = {
                    **(told if isinstance(told, dict) else {}),
                    "enable_thinking": reasoning,
                }
            _, bodies[place] = api.encode(
                messages=[],
                max_tokens=limit if isinstance(limit, int) else None,
                sampling=sampling,
                extra=extra,
                model=model,
                stream=bench.stream,
            )
    return heads_of([bodies[place] for place in range(len(which))])


def _recorded(trajectories: list[Trajectory]) -> Iterator[TurnRecorded]:
    for trajectory in trajectories:
        for number, turn in enumerate(trajectory.turns, 1):
            reply = turn.reply
            if reply is not None:
                yield TurnRecorded(
                    conversation=trajectory.id,
                    turn=number,
                    content=reply.content,
                    reasoning=reply.reasoning,
                    calls=[SaidCall(call.name, call.arguments) for call in reply.calls],
                    intents=list(reply.intents),
                )
