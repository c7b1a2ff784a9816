"""What the coordinator tells its workers: everything but secrets, in one file that they read at their start."""

from __future__ import annotations

from pathlib import Path

import msgspec

from relaymark.bench.secrets import Endpoint
from relaymark.load import Part
from relaymark.relay.agent.plan import LivePlan, ReplayPlan
from relaymark.relay.policies import Patience, Retries
from relaymark.relay.rag.plan import RagPlan
from relaymark.trace.runfolder import PLAN_FILE
from relaymark.wire import Limits, Timeouts


class PlannedStage(msgspec.Struct, kw_only=True):
    """One stage as workers see it; what of it is whose stands in the parts (:class:`relaymark.load.Part`)."""

    index: int
    warmup: bool = False
    first_prompt: int = 0  # where in the request pack the stage begins


class Plan(msgspec.Struct, kw_only=True):
    """The whole plan. Headers may hold ``${NAME}``, resolved from the worker's environment and never stored."""

    run_id: str
    workers: int
    url: str
    path: str
    dialect: str
    model: str
    streamed: bool
    seed: int = 0
    verify_tls: bool = True
    keep_alive: bool = True
    keep_content: bool = False
    api_key_env: str = ""
    headers: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    connect_ns: int | None = None
    first_byte_ns: int | None = None
    idle_ns: int | None = None
    total_ns: int | None = None
    drain_ns: int | None = None
    max_header: int = 256 << 10
    max_body: int = 64 << 20
    retries: Retries = msgspec.field(default_factory=Retries)
    stages: list[PlannedStage] = msgspec.field(default_factory=list[PlannedStage])
    rag: RagPlan | None = None  # tasks are questions, not single requests
    replay: ReplayPlan | None = None  # tasks are recorded conversations
    live: LivePlan | None = None  # tasks are worked on by an agent

    def speakers(self) -> list[Endpoint]:
        """What requests go to beside the endpoint itself, for whoever must know the secrets."""
        return [*self.rag.speakers.values()] if self.rag else []

    @property
    def many_legged(self) -> bool:
        """Whether a task is more than one request, and counted as a whole."""
        return any(kind is not None for kind in (self.rag, self.replay, self.live))

    def timeouts(self) -> Timeouts:
        """The bounds on one attempt, for the wire."""
        return self.patience().timeouts()

    def patience(self) -> Patience:
        """The bounds and the retry policy of whoever has none of its own."""
        return Patience(
            connect_ns=self.connect_ns,
            first_byte_ns=self.first_byte_ns,
            idle_ns=self.idle_ns,
            total_ns=self.total_ns,
            retries=self.retries,
        )

    def limits(self) -> Limits:
        """The caps on one response, for the wire."""
        return Limits(self.max_header, self.max_body)


def write_plan(folder: Path, plan: Plan) -> None:
    """Writes the plan into the run's folder."""
    (folder / PLAN_FILE).write_bytes(msgspec.json.format(msgspec.json.encode(plan), indent=1))


def read_plan(folder: Path) -> Plan:
    """Reads the plan of a run's folder."""
    return msgspec.json.decode((folder / PLAN_FILE).read_bytes(), type=Plan)


def write_part(folder: Path, part: Part) -> None:
    """Writes one worker's part of one stage."""
    _part_path(folder, part.stage, part.worker).write_bytes(msgspec.msgpack.encode(part))


def read_part(folder: Path, stage: int, worker: int) -> Part:
    """Reads it."""
    return msgspec.msgpack.decode(_part_path(folder, stage, worker).read_bytes(), type=Part)


def _part_path(folder: Path, stage: int, worker: int) -> Path:
    return folder / f"stage-{stage}-worker-{worker}.part"


def request_head(method: str, path: str, host: str, headers: dict[str, str]) -> bytes:
    """Request line and headers, up to and including the name of Content-Length, whose value the caller adds.

    ``headers`` are the user's, resolved; they replace ours of the same name, in any spelling.
    """
    ours = {
        "Host": host,
        "User-Agent": "relaymark",
        "Accept": "text/event-stream, application/json",
        "Accept-Encoding": "identity",
        "Content-Type": "application/json",
    }
    given = {name.lower() for name in headers}
    lines = [f"{method} {path} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in ours.items() if name.lower() not in given]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode("latin-1") + b"\r\nContent-Length: "
