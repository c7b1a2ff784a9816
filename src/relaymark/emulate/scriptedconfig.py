"""What a scripted endpoint promises."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from relaymark.emulate.pacedconfig import PacedConfig
from relaymark.errors import ConfigError


def _at_once() -> PacedConfig:
    return PacedConfig(ttft=0.0, itl=0.0, model="scripted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Timing of one role's answers, in seconds."""

    ttft: float = 0.0
    itl: float = 0.0
    prefill: float = 0.0  # per prompt token


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedConfig:
    """Which script answers, how fast, and until when.

    ``script`` is ``world:DIR``, ``table:FILE`` or ``record:FILE``; ``settings`` are the script's own, such as
    ``{"wrong": 0.1}``. Answers come at once unless ``paced`` (slots, ttft, itl, prefill, model, port, log_path, …) or
    the role's own ``pace`` says otherwise; ``tokens`` and ``reasoning_share`` of ``paced`` are the script's to say.
    """

    script: str
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    paced: PacedConfig = field(default_factory=_at_once)
    pace: dict[str, Pace] = field(default_factory=dict[str, Pace])  # by role
    down_after: int | None = None  # requests answered before it goes away: connections reset, new ones refused

    def __post_init__(self) -> None:
        if self.paced.tls_cert is not None:
            raise ConfigError("a scripted endpoint serves without TLS", where="scripted: tls_cert")
        if self.down_after is not None and self.down_after < 0:
            raise ConfigError("must not be negative", where="scripted: down_after")
        for role, pace in self.pace.items():
            if min(pace.ttft, pace.itl, pace.prefill) < 0:
                raise ConfigError("times must not be negative", where=f"scripted: pace of {role}")
