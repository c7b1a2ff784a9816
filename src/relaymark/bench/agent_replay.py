"""The file of a recorded agent that is replayed: ``kind: agent-replay``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from relaymark.bench._fields import Duration, Section, refuse, shown
from relaymark.bench._sections import Retries, Timeouts
from relaymark.bench.model import Benchmark
from relaymark.bench.spec import StageSpec
from relaymark.errors import ConfigError
from relaymark.units import format_duration, parse_duration

PauseKind = Literal["none", "recorded", "fixed", "exponential", "lognormal"]
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)
_PAUSES = "write none, recorded, recorded*0.5, fixed:2s, exponential:2s or lognormal:2s,1.0"


class Pause(Section):
    """How long somebody takes before the next turn.

    ``recorded`` is what the trajectory says, times ``scale``. Else ``mean`` ns: always, exponentially distributed, or
    lognormally with ``sigma`` as the standard deviation of the logarithm.
    """

    kind: PauseKind = "none"
    scale: Annotated[float, Field(gt=0, le=1e6)] = 1.0
    mean: Duration = 0
    sigma: Annotated[float, Field(ge=0, le=10)] = 1.0

    def text(self) -> str:
        """The short form."""
        if self.kind == "recorded":
            return "recorded" if self.scale == 1 else f"recorded*{self.scale:g}"
        if self.kind == "none":
            return "none"
        more = f",{self.sigma:g}" if self.kind == "lognormal" else ""
        return f"{self.kind}:{format_duration(self.mean)}{more}"


def _pause(value: Any) -> Any:
    if not isinstance(value, str):
        return {"kind": "none"} if value is None or value is False else value
    text = value.strip()
    name, _, rest = text.partition(":")
    if text in ("none", "recorded"):
        return {"kind": text}
    if text.startswith("recorded*"):
        return {"kind": "recorded", "scale": text.partition("*")[2]}
    if name in ("fixed", "exponential", "lognormal") and rest:
        mean, _, sigma = rest.partition(",")
        try:
            parse_duration(mean)
        except ConfigError:
            raise refuse(f"has no time it can use: {shown(value)}", _PAUSES) from None
        told = {"kind": name, "mean": mean}
        return {**told, "sigma": sigma} if sigma else told
    raise refuse(f"can't be read: {shown(value)}", _PAUSES)


class AgentReplay(Benchmark):
    """Recorded conversations sent turn by turn with their history as it was recorded.

    The load counts conversations: ``single`` is one after the other, ``concurrency:8`` keeps eight going,
    ``poisson:0.5/s`` has them arrive. ``requests`` is how many; without a limit each is taken once. What the model
    answers never comes into later prompts, so that every endpoint gets the same work.

    ``resume`` is the folder of a run that was cut short: its whole conversations are taken over and not had again.

    ``reasoning``: ``on`` and ``off`` set ``chat_template_kwargs.enable_thinking``; ``both`` does each stage twice, off
    and on, so that their latencies can be set beside one another.
    """

    task_word: ClassVar[str] = "conversations"

    kind: Literal["agent-replay"] = "agent-replay"
    trajectories: str
    think: Annotated[Pause, BeforeValidator(_pause)] = Pause()
    tools: Annotated[Pause, BeforeValidator(_pause)] = Pause()
    session_headers: list[str] = Field(default_factory=lambda: ["X-Session-ID"])
    salt: Literal["none", "pass", "run"] = "none"
    reasoning: Literal["as-served", "on", "off", "both"] = "as-served"
    resume: str = ""
    timeouts: Timeouts = Timeouts.model_validate({"idle": "none", "total": "600s", "drain": "600s"})
    retries: Retries = Retries()

    @field_validator("session_headers")
    @classmethod
    def _names(cls, value: list[str]) -> list[str]:
        for name in value:
            if not _HEADER.fullmatch(name):
                raise refuse(f"must be names of headers, got {shown(name)}")
        return value

    @model_validator(mode="after")
    def _speaks_chat(self) -> AgentReplay:
        if self.endpoint.dialect != "openai-chat":
            raise refuse("replays chats with tools: its endpoint must speak openai-chat", "drop endpoint.dialect")
        return self

    def limited(self, conversations: int) -> AgentReplay:
        """The same with every conversation taken once, where the file sets no limit."""
        if self.duration is not None or self.requests is not None or any(s.duration or s.requests for s in self.stages):
            return self
        return self.model_copy(update={"requests": conversations})

    def resolved_stages(self) -> list[StageSpec]:
        """The stages in the order they run; with ``reasoning: both`` each twice, off and on."""
        stages = super().resolved_stages()
        if self.reasoning != "both":
            return stages
        twice: list[StageSpec] = []
        for stage in stages:
            for word in ("off", "on"):
                name = f"{stage.name}, reasoning {word}"
                twice.append(
                    StageSpec(
                        index=len(twice), name=name, load=stage.load, duration=stage.duration, requests=stage.requests
                    )
                )
        return twice

    def reasoning_of(self, stage: int) -> bool | None:
        """Whether a stage asks for reasoning; ``None`` where that is left to the server."""
        if self.reasoning == "both":
            return stage >= 0 and stage % 2 == 1
        return {"on": True, "off": False}.get(self.reasoning)

    def anchored_to(self, base: Path) -> AgentReplay:
        """The same with relative files made absolute against ``base``."""
        given = {name: str(base / value) for name in ("trajectories", "resume") if (value := getattr(self, name))}
        return self.model_copy(update=given)
