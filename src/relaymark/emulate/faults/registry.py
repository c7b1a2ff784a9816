"""Faults by name: what each stands for, what a right client reports, and how to ask for one."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from relaymark.emulate.faults.stage import Stage
from relaymark.errors import ConfigError
from relaymark.trace import Outcome

Params = Mapping[str, float]
Count = Callable[[int, Params], int | None]
Play = Callable[[Stage], Awaitable[None]]
Needs = Literal["", "first_byte", "idle", "total"]


def every(tokens: int, params: Params) -> int | None:
    """As many as the answer has tokens."""
    del params
    return tokens


def none_at_all(tokens: int, params: Params) -> int | None:
    """No token-bearing event."""
    del tokens, params
    return 0


def absent(tokens: int, params: Params) -> int | None:
    """No number: a right report leaves it out."""
    del tokens, params


def until_cut(tokens: int, params: Params) -> int | None:
    """Those before the fault struck."""
    return min(tokens, int(params["after"]))


@dataclass(frozen=True, slots=True)
class Expected:
    """What a right client reports. ``None`` stands for "absent", not for "anything"."""

    outcome: Outcome
    events: int | None  # token-bearing events (of a failed request: partial ones, kept out of throughput)
    tokens: int | None  # completion tokens by the server's usage


@dataclass(frozen=True, slots=True)
class Fault:
    """One behaviour of a server.

    Attributes:
        about: One line: which servers, proxies or bugs it stands for.
        item: Number of the family it belongs to.
        needs: The client timeout without which a client waits for ever.
        apis: The APIs it applies to; a request to another gets a plain answer.
        streams_only: Non-streaming requests get a plain answer.
        note: What a right report says besides the outcome, in a few words.
    """

    name: str
    about: str
    item: int
    outcome: Outcome
    play: Play
    events: Count = every
    tokens: Count = every
    defaults: Params = field(default_factory=dict[str, float])
    needs: Needs = ""
    apis: tuple[str, ...] = ("chat", "completions", "responses", "embeddings")
    streams_only: bool = True
    note: str = ""

    def applies(self, api: str, streamed: bool) -> bool:
        """Whether a request of this kind meets the fault."""
        return api in self.apis and (streamed or not self.streams_only)

    def expected(self, tokens: int, params: Params | None = None) -> Expected:
        """What a right client reports of a streaming request whose answer would have had ``tokens`` tokens."""
        full = {**self.defaults, **(params or {})}
        return Expected(self.outcome, self.events(tokens, full), self.tokens(tokens, full))


FAULTS: dict[str, Fault] = {}


def fault(
    name: str,
    item: int,
    about: str,
    outcome: Outcome = Outcome.OK,
    *,
    events: Count = every,
    tokens: Count = every,
    needs: Needs = "",
    apis: Sequence[str] = ("chat", "completions", "responses"),
    streams_only: bool = True,
    note: str = "",
    **defaults: float,
) -> Callable[[Play], Play]:
    """Register the decorated coroutine function as a fault; keyword arguments left over are its parameters."""

    def register(play: Play) -> Play:
        if name in FAULTS:
            raise ValueError(f"two faults are named {name}")
        FAULTS[name] = Fault(
            name, about, item, outcome, play, events, tokens, defaults, needs, tuple(apis), streams_only, note
        )
        return play

    return register


def list_faults() -> list[Fault]:
    """Every fault, in the order of its family, then by name."""
    return sorted(FAULTS.values(), key=lambda known: (known.item, known.name))


@dataclass(frozen=True, slots=True)
class FaultSpec:
    """A fault as asked for: ``NAME`` or ``NAME:key=number,…``; ``rate`` is the share of requests that meet it."""

    name: str
    params: dict[str, float] = field(default_factory=dict[str, float])
    rate: float | None = None  # None: an equal part of what the others leave

    @classmethod
    def parse(cls, text: str) -> FaultSpec:
        """Read ``inband-error:after=5,rate=0.1``.

        Raises:
            ConfigError: Unknown fault or parameter, or not a number.
        """
        name, _, rest = text.partition(":")
        known = FAULTS.get(name)
        if known is None:
            close = [other for other in FAULTS if name and (name in other or other in name)]
            mend = "one of: " + ", ".join(close) if close else "relaymark emulate --list-faults shows all"
            raise ConfigError(f"there is no fault named '{name}'", where=f"fault '{text}'", mend=mend)
        params = dict(known.defaults)
        rate: float | None = None
        for pair in rest.split(",") if rest else ():
            key, _, value = pair.partition("=")
            try:
                number = float(value)
            except ValueError:
                raise ConfigError(f"'{value}' is not a number", where=f"fault '{text}': {key}") from None
            if not 0 <= number < 1e9:
                raise ConfigError(f"{value} is out of range", where=f"fault '{text}': {key}")
            if key == "rate":
                rate = number
            elif key in known.defaults:
                params[key] = number
            else:
                may = ", ".join(["rate", *known.defaults])
                raise ConfigError(f"'{name}' has no parameter '{key}'", where=f"fault '{text}'", mend=f"one of: {may}")
        if rate is not None and rate > 1:
            raise ConfigError("a rate is a share between 0 and 1", where=f"fault '{text}': rate")
        return cls(name, params, rate)

    @property
    def fault(self) -> Fault:
        """The fault itself."""
        return FAULTS[self.name]


class Chooser:
    """Decides which fault a request meets, from a seed and the request's key alone.

    Raises:
        ConfigError: The rates add up to more than 1.
    """

    def __init__(self, specs: Sequence[FaultSpec], seed: int) -> None:
        given = sum(spec.rate for spec in specs if spec.rate is not None)
        if given > 1 + 1e-9:
            raise ConfigError(f"the rates of the faults add up to {given:g}", mend="keep the sum at or below 1")
        open_ended = sum(spec.rate is None for spec in specs)
        self._seed = seed
        self._steps: list[tuple[float, FaultSpec]] = []
        reached = 0.0
        for spec in specs:
            reached += spec.rate if spec.rate is not None else (1 - given) / open_ended
            self._steps.append((reached, spec))

    def pick(self, key: str) -> FaultSpec | None:
        """The fault for this request, or None for a plain answer."""
        drawn = random.Random(f"{self._seed}/{key}").random()  # noqa: S311 (reproducible on purpose)
        for reached, spec in self._steps:
            if drawn < reached:
                return spec
        return None
