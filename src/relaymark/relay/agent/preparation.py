"""From recorded conversations to a run folder that is ready to run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from relaymark.bench.agent_replay import AgentReplay, Pause
from relaymark.data.trajectories import Trajectory, load_trajectories
from relaymark.dialects import Dialect, dialect
from relaymark.errors import ConfigError
from relaymark.relay.agent.plan import PlannedPause, ReplayPlan
from relaymark.relay.agent.resume import whole_sessions
from relaymark.relay.agent.sessions import Heads, head_key, heads_of, recorded_fields, write_sessions
from relaymark.relay.foldering import Content, Drawn, make_folder, plan_of, with_model
from relaymark.relay.merge import finish as merge
from relaymark.relay.pack import write_pack
from relaymark.relay.plan import Plan
from relaymark.trace import RunRecord
from relaymark.trace.turns import SaidCall, TurnRecorded, write_recorded


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
    named, url, facts = with_model(bench)
    api, model = dialect(named.endpoint.dialect), named.endpoint.model or ""
    drawn = Drawn.of(named)
    which = _which(trajectories)
    heads = {stage.index: _heads(named, api, model, trajectories, which, stage.index) for stage in drawn.stages}

    def fill(folder: Path) -> tuple[Plan, Content]:
        write_pack(folder, iter(()))
        write_recorded(folder, _recorded(trajectories))
        plan = plan_of(named, drawn)
        plan.replay = ReplayPlan(
            conversations=len(trajectories),
            think=_pause(named.think),
            tools=_pause(named.tools),
            session_headers=tuple(named.session_headers),
            salt=named.salt != "none",
            salt_key=plan.run_id if named.salt == "run" else str(named.seed),
        )
        digest = write_sessions(folder, trajectories, heads, which)
        return plan, Content(sum(len(one.turns) for one in trajectories), digest)

    def finish(record: RunRecord, plan: Plan) -> Plan:
        if named.resume and plan.replay is not None:
            plan.replay = _resumed(plan.replay, Path(named.resume), record)
        return plan

    return make_folder(parent, named, drawn, url, facts, fill, finish)


def _resumed(plan: ReplayPlan, earlier: Path, record: RunRecord) -> ReplayPlan:
    """The plan with what an earlier run has had whole.

    Raises:
        ConfigError: That run's work was another.
        TraceError: It is no run's folder, or the run is still going on.
    """
    merge(earlier)
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
