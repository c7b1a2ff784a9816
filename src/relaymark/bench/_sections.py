"""The smaller sections of a benchmark file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, field_validator, model_validator

from relaymark.bench._fields import (
    Count,
    CountOrZero,
    Duration,
    Length,
    MaybeCount,
    MaybeDuration,
    MaybeLength,
    PositiveDuration,
    Section,
    Share,
    Size,
    Slots,
    refuse,
    shown,
)
from relaymark.bench._shorthand import parse_length
from relaymark.bench.spec import PromptSource

Dialect = Literal["openai-chat", "openai-completions", "openai-responses", "openai-embeddings"]
DEFAULT_KEY_ENV = "OPENAI_API_KEY"

# Every outcome of a leg that isn't a success (trace.Outcome, which this room may not import; a test compares them).
RetryOutcome = Literal[
    "truncated", "inband_error", "protocol_error", "http_error", "refused", "reset", "timeout_connect",
    "timeout_first_byte", "timeout_idle", "timeout_total", "client_error",
]  # fmt: skip

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)  # RFC 9110 §5.6.2 token
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_ENV_USE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}", re.ASCII)
_SECRET_HEADER = re.compile(r"authorization|cookie|token|secret|api-?key", re.IGNORECASE)


class Endpoint(Section):
    """Where requests go. The key itself never stands in the file: ``api_key_env`` names a variable that holds it."""

    url: str
    model: str | None = None
    dialect: Dialect = "openai-chat"
    api_key_env: str = DEFAULT_KEY_ENV
    headers: dict[str, str] = Field(default_factory=dict[str, str])
    path: str | None = None
    verify_tls: bool = True

    @field_validator("url")
    @classmethod
    def _url(cls, value: str) -> str:
        mend = "write it as http://host:port or https://host"
        try:
            parts = urlsplit(value)
            port = parts.port
        except ValueError:
            raise refuse("must be a URL", mend) from None
        if parts.username is not None or parts.password is not None:
            raise refuse("must not hold a user name or password", "put the key in an environment variable")
        if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
            raise refuse(f"must be a http or https URL, got {shown(value)}", mend)
        if any(ord(char) <= 32 or ord(char) == 127 for char in value):
            raise refuse(f"must not hold spaces or control characters, got {shown(value)}", mend)
        if parts.fragment:
            raise refuse(f"must not hold a #fragment, got {shown(value)}", mend)
        return value

    @field_validator("api_key_env")
    @classmethod
    def _api_key_env(cls, value: str) -> str:
        # The value isn't shown: who misreads this key has put the secret itself here.
        if not _ENV_NAME.fullmatch(value):
            raise refuse("must be the name of an environment variable, not the key", "export the key and name it")
        return value

    @field_validator("path")
    @classmethod
    def _path(cls, value: str | None) -> str | None:
        if value is not None and (not value.startswith("/") or any(ord(char) <= 32 for char in value)):
            raise refuse(f"must begin with / and hold no spaces, got {shown(value)}")
        return value

    @field_validator("headers")
    @classmethod
    def _headers(cls, value: dict[str, str]) -> dict[str, str]:
        for name, text in value.items():
            if not _HEADER_NAME.fullmatch(name):
                raise refuse(f"must have header names of plain letters, got {shown(name)}")
            if any(ord(char) < 32 or ord(char) == 127 for char in text):
                raise refuse(f"must not hold line breaks or control characters (header {name})")
            if _SECRET_HEADER.search(name) and not _ENV_USE.search(text):
                raise refuse(
                    f"must not hold a secret: {name} is written out, and a run's folder keeps this file",
                    f"write {name}: ${{MY_SECRET}} and export MY_SECRET",
                )
        return value


class Synthetic(Section):
    """Generated prompts; lengths in approximate tokens."""

    isl: Length
    osl: MaybeLength = None
    shared_prefix: CountOrZero = 0
    unique: MaybeCount = None

    @model_validator(mode="after")
    def _prefix_fits(self) -> Synthetic:
        if self.shared_prefix and self.shared_prefix >= parse_length(self.isl).mean:
            raise refuse(f"must have a shared_prefix shorter than isl ({self.isl}), got {self.shared_prefix}")
        return self


class Prompts(Section):
    """Where prompts come from: a file, a recipe, a list, or (with none of them) the built-in set."""

    file: str | None = None
    synthetic: Synthetic | None = None
    inline: Annotated[list[str | dict[str, Any]], Field(min_length=1)] | None = None
    builtin: bool = False

    @model_validator(mode="before")
    @classmethod
    def _builtin_by_default(cls, value: Any) -> Any:
        return {"builtin": True} if value == {} else value

    @model_validator(mode="after")
    def _one_source(self) -> Prompts:
        given = [name for name in ("file", "synthetic", "inline") if getattr(self, name) is not None]
        given += ["builtin"] * self.builtin
        if len(given) != 1:
            raise refuse(f"must name one source, got {' and '.join(given) or 'none'}")
        return self

    def resolved(self) -> PromptSource:
        """Return the plain form that `relaymark.data.load_prompts` reads."""
        if self.file is not None:
            return PromptSource(kind="file", path=self.file)
        if self.inline is not None:
            return PromptSource(kind="inline", items=tuple(self.inline))
        if (made := self.synthetic) is not None:
            return PromptSource(
                kind="synthetic",
                isl=parse_length(made.isl),
                osl=None if made.osl is None else parse_length(made.osl),
                shared_prefix=made.shared_prefix,
                unique=made.unique,
            )
        return PromptSource(kind="builtin")

    def anchored(self, base: Path) -> Prompts:
        """Return the same with a relative file made absolute against ``base``."""
        return self if self.file is None else self.model_copy(update={"file": str(base / self.file)})


def _number(value: Any) -> Any:
    if isinstance(value, bool):
        raise refuse(f"must be a number, got {shown(value)}")
    return value


Number = Annotated[float, BeforeValidator(_number), Field(allow_inf_nan=False)]


class Sampling(Section):
    """What the model is asked for. Absent keys are not sent; ``extra`` goes into the request body as it is."""

    max_tokens: MaybeCount = None
    temperature: Annotated[Number, Field(ge=0)] | None = None
    top_p: Annotated[Number, Field(gt=0, le=1)] | None = None
    seed: int | None = None
    stop: list[str] = Field(default_factory=list[str])
    ignore_eos: bool | None = None
    extra: dict[str, Any] = Field(default_factory=dict[str, Any])

    def request_fields(self) -> dict[str, Any]:
        """Return what goes into every request body: the keys that were set, then ``extra``."""
        fields = self.model_dump(exclude_none=True, exclude={"extra"})
        if not self.stop:
            del fields["stop"]
        return {**fields, **self.extra}

    @field_validator("stop", mode="before")
    @classmethod
    def _one_stop(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value


class Warmup(Section):
    """Requests before the first stage that never reach the numbers; none by default."""

    requests: CountOrZero = 0
    duration: MaybeDuration = None
    concurrency: Slots = 1


class Timeouts(Section):
    """When to give up; ``none`` for never. ``drain``: how long to wait for what is in flight when a stage ends."""

    connect: MaybeDuration = 10 * 10**9
    first_byte: MaybeDuration = None
    idle: MaybeDuration = 120 * 10**9
    total: MaybeDuration = None
    drain: Duration = 60 * 10**9


Status = Annotated[int, Field(ge=100, le=599)]
_RETRIED: tuple[RetryOutcome, ...] = ("http_error", "refused", "reset", "timeout_connect")
_RETRIED_STATUSES = (408, 425, 429, 500, 502, 503, 504)


class Retries(Section):
    """Off unless ``attempts`` (which counts the first try) is above 1.

    The n-th wait is ``backoff``·2ⁿ⁻¹, at most ``backoff_max``, less a random share of up to ``jitter``.
    """

    attempts: Annotated[Count, Field(le=100)] = 1
    backoff: PositiveDuration = 500 * 10**6
    backoff_max: PositiveDuration = 30 * 10**9
    jitter: Share = 0.5
    honour_retry_after: bool = True
    on: list[RetryOutcome] = Field(default_factory=lambda: list(_RETRIED))
    statuses: list[Status] = Field(default_factory=lambda: list(_RETRIED_STATUSES))


class Limits(Section):
    """Most bytes of a response that are kept."""

    max_body: Size = 64 * 2**20
    max_header: Size = 256 * 2**10


class Connections(Section):
    """How connections are used."""

    keep_alive: bool = True


class Gates(Section):
    """What must hold for the run to be VALID, beside the client's own error bar."""

    min_duration: MaybeDuration = None
    min_requests: MaybeCount = None
    max_one_piece_share: Share = 0.05
    require_usage: bool = False
