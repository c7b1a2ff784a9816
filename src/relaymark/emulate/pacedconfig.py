"""What the paced endpoint promises."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from math import log, sqrt
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from relaymark.errors import ConfigError

_SECOND = 1_000_000_000
_Config = TypeVar("_Config")


@dataclass(frozen=True, slots=True, kw_only=True)
class PacedConfig:
    """Timing and shape of every answer. Times are seconds.

    Token i (from 0) of a request with n prompt tokens is due at ``start + ttft + prefill·n + i·itl``, where ``start``
    is its arrival or, when all slots are taken, the moment the slot it waited for came free. With k tokens per chunk a
    chunk is due when its last token is. A prompt's tokens are its whitespace-separated words.

    With jitter each gap is drawn independently, with mean ``itl`` and standard deviation ``jitter``; the first
    token's delay likewise with ``ttft_jitter``. The draws depend on ``seed`` and on the request's x-relaymark-id
    header, or on its order of arrival where it has none: the same requests get the same gaps in every run.
    """

    ttft: float = 0.05
    itl: float = 0.02
    prefill: float = 0.0  # seconds per prompt token, on top of ttft
    tokens: int = 64  # what the "model" has to say; a request's max_tokens cuts it, with ignore_eos replaces it
    tokens_per_chunk: int = 1
    jitter: float = 0.0
    ttft_jitter: float = 0.0
    jitter_shape: Literal["normal", "lognormal"] = "normal"  # normal is clipped to 0 … 2·mean, which keeps the mean
    seed: int = 0
    slots: int | None = None  # requests in service at once; others queue first come first served. None: no limit
    role_delay: float | None = None  # headers and a role-only first event this long after start; None: no such event
    reasoning_share: float = 0.0  # this share of the tokens, the first ones, is reasoning
    reasoning_field: Literal["reasoning_content", "reasoning"] = "reasoning_content"
    usage: Literal["asked", "on", "off", "continuous"] = "asked"  # asked: as stream_options says
    model: str = "paced"
    strict_model: bool = False  # answer 404 to any other model name
    dimensions: int = 384  # of embeddings
    gzip: bool = False  # compress answers for clients that accept it, one flush per event
    tls_cert: Path | None = None
    tls_key: Path | None = None
    api_key: str | None = None  # answer 401 without this bearer token
    host: str = "127.0.0.1"
    port: int = 0
    log_path: Path | None = None  # the truth log, JSON lines
    server_log: Path | None = None  # the server's own messages; None: discarded

    def __post_init__(self) -> None:
        for name in ("ttft", "itl", "prefill", "jitter", "ttft_jitter"):
            value = getattr(self, name)
            if not 0 <= value < 86_400:
                raise ConfigError(f"must be between 0 and 86400 seconds, not {value}", where=f"paced: {name}")
        for name in ("tokens", "tokens_per_chunk", "dimensions"):
            if getattr(self, name) < 1:
                raise ConfigError("must be at least 1", where=f"paced: {name}")
        if self.slots is not None and self.slots < 1:
            raise ConfigError("must be at least 1", where="paced: slots")
        if not 0 <= self.reasoning_share <= 1:
            raise ConfigError("must be between 0 and 1", where="paced: reasoning_share")
        if self.role_delay is not None and self.role_delay < 0:
            raise ConfigError("must not be negative", where="paced: role_delay")
        if self.host not in ("127.0.0.1", "::1"):
            raise ConfigError(
                f"an emulated endpoint binds to loopback only, not to {self.host}",
                where="paced: host",
                mend="use 127.0.0.1 or ::1",
            )
        if not 0 <= self.port <= 65_535:
            raise ConfigError("must be between 0 (a free one) and 65535", where="paced: port")
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ConfigError("TLS needs both a certificate and a key", where="paced: tls_cert, tls_key")


def plan_gaps(config: PacedConfig, key: str) -> Iterator[int]:
    """Delays in ns, without end: first that of the first token (without prefill cost), then each gap.

    ``key`` is the request's x-relaymark-id header, or its order of arrival in decimal.
    """
    if not config.jitter and not config.ttft_jitter:
        yield round(config.ttft * _SECOND)
        gap = round(config.itl * _SECOND)
        while True:
            yield gap
    draw = random.Random(f"{config.seed}/{key}")  # noqa: S311 (a reproducible draw is the point)
    yield _delay(draw, config, config.ttft, config.ttft_jitter)
    while True:
        yield _delay(draw, config, config.itl, config.jitter)


def _delay(draw: random.Random, config: PacedConfig, mean: float, sd: float) -> int:
    if not sd or not mean:
        return round(mean * _SECOND)
    if config.jitter_shape == "normal":
        return round(min(max(draw.gauss(mean, sd), 0.0), 2 * mean) * _SECOND)
    # A lognormal with this mean and standard deviation: σ² = ln(1 + sd²/mean²), µ = ln(mean) − σ²/2.
    variance = log(1 + (sd / mean) ** 2)
    return round(draw.lognormvariate(log(mean) - variance / 2, sqrt(variance)) * _SECOND)


def _paths_out(value: Any) -> str:
    if isinstance(value, Path):
        return str(value)
    raise NotImplementedError


def _paths_in(kind: type, value: Any) -> Any:
    if kind is Path:
        return Path(value)
    raise NotImplementedError


def encode_config(config: Any) -> bytes:
    """A configuration as one line of JSON, as the child process reads it."""
    return msgspec.json.encode(config, enc_hook=_paths_out)


def decode_config(line: bytes, kind: type[_Config]) -> _Config:
    """The reverse of :func:`encode_config`."""
    return msgspec.json.decode(line, type=kind, dec_hook=_paths_in)
