"""What workers are told of an agent run."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

PauseKind = Literal["none", "recorded", "fixed", "exponential", "lognormal"]


class PlannedPause(msgspec.Struct, kw_only=True, frozen=True):
    """How long somebody takes before a turn; see :class:`relaymark.bench.agent_replay.Pause`."""

    kind: PauseKind = "none"
    scale: float = 1.0
    mean_ns: int = 0
    sigma: float = 1.0


class ReplayPlan(msgspec.Struct, kw_only=True, frozen=True):
    """Recorded conversations. ``salt_key`` is what salts are made of besides pass and conversation."""

    conversations: int
    think: PlannedPause = PlannedPause()
    tools: PlannedPause = PlannedPause()
    session_headers: tuple[str, ...] = ()
    salt: bool = False
    salt_key: str = ""
    continues: str = ""  # folder of an earlier run that this one goes on with
    done: tuple[str, ...] = ()  # ``stage/session`` of what that one has had whole


class LivePlan(msgspec.Struct, kw_only=True, frozen=True):
    """Repair tasks that an agent works on."""

    tasks: int
    seed: int = 0
    max_turns: int = 15
    max_tokens: int | None = None
    sampling: dict[str, Any] = {}
