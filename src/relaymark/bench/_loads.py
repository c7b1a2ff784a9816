"""The load section of a benchmark file: one model per kind, told apart by ``kind``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from relaymark.bench._fields import MaybeDuration, Positive, Rate, Section, Slots, refuse
from relaymark.bench.spec import Arrivals, LoadSpec, StepSpec


class Single(Section):
    """One request at a time."""

    kind: Literal["single"]

    def resolved(self, duration: int | None) -> LoadSpec:
        """Return the plain form; ``duration`` (ns) is the stage's."""
        return LoadSpec(kind="single", concurrency=1)


class Concurrency(Section):
    """A closed loop: so many requests in flight at all times."""

    kind: Literal["concurrency"]
    concurrency: Slots

    def resolved(self, duration: int | None) -> LoadSpec:
        """Return the plain form; ``duration`` (ns) is the stage's."""
        return LoadSpec(kind="concurrency", concurrency=self.concurrency)


class Poisson(Section):
    """Independent arrivals at a mean rate."""

    kind: Literal["poisson"]
    rate: Rate

    def resolved(self, duration: int | None) -> LoadSpec:
        """Return the plain form; ``duration`` (ns) is the stage's."""
        return LoadSpec(kind="poisson", rate=self.rate)


class Constant(Section):
    """Evenly spaced arrivals."""

    kind: Literal["constant"]
    rate: Rate

    def resolved(self, duration: int | None) -> LoadSpec:
        """Return the plain form; ``duration`` (ns) is the stage's."""
        return LoadSpec(kind="constant", rate=self.rate)


class Gamma(Section):
    """Gamma-distributed gaps: burstiness below 1 is burstier than Poisson, above 1 is smoother."""

    kind: Literal["gamma"]
    rate: Rate
    burstiness: Positive = 1.0

    def resolved(self, duration: int | None) -> LoadSpec:
        """Return the plain form; ``duration`` (ns) is the stage's."""
        return LoadSpec(kind="gamma", rate=self.rate, burstiness=self.burstiness)


class Offline(Section):
    """Everything at once, at the start."""

    kind: Literal["offline"]

    def resolved(self, duration: int | None) -> LoadSpec:
        """Return the plain form; ``duration`` (ns) is the stage's."""
        return LoadSpec(kind="offline")


class Ramp(Section):
    """A rate that moves linearly from ``start`` to ``end`` over the duration."""

    kind: Literal["ramp"]
    start: Rate
    end: Rate
    arrivals: Arrivals = "poisson"

    def resolved(self, duration: int | None) -> LoadSpec:
        """Return the plain form; ``duration`` (ns) is the stage's."""
        return LoadSpec(kind="ramp", start=self.start, end=self.end, arrivals=self.arrivals)


class Step(Section):
    """Rates held one after the other, each for ``hold``; without it they share the duration evenly."""

    kind: Literal["step"]
    rates: Annotated[list[Rate], Field(min_length=1, max_length=1000)]
    hold: MaybeDuration = None
    arrivals: Arrivals = "poisson"

    def resolved(self, duration: int | None) -> LoadSpec:
        """Return the plain form; ``duration`` (ns) is the stage's."""
        hold = self.hold or (duration or 0) // len(self.rates)
        steps = tuple(StepSpec(rate=rate, hold=hold) for rate in self.rates)
        return LoadSpec(kind="step", arrivals=self.arrivals, steps=steps)

    @model_validator(mode="after")
    def _bounded(self) -> Step:
        if self.hold and self.hold * len(self.rates) > 2**62:
            raise refuse("must last less than 146 years")
        return self


Load = Annotated[Single | Concurrency | Poisson | Constant | Gamma | Offline | Ramp | Step, Field(discriminator="kind")]
