"""Arrival patterns: when an open loop sends, as pure functions of a random generator.

Every open pattern has a rate λ(t) in requests per second and its integral Λ(t), the number of arrivals expected
by time t. Arrivals come from inverting Λ: the k-th is at Λ⁻¹(Eₖ), where E₁ < E₂ < … are the arrivals of a process
of rate 1. With independent exponential gaps between the Eₖ the result is exactly a Poisson process of rate λ(t)
(time-rescaling theorem); with Eₖ = k it is evenly spaced in the same sense.

Times are int64 ns from the start of the stage. Gaps are rounded to ns before they are summed, so a longer run
has the arrivals of a shorter one as its beginning wherever λ(t) doesn't depend on the length of the run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from relaymark.bench.spec import Arrivals
from relaymark.errors import ConfigError

Times = npt.NDArray[np.int64]

SECOND = 10**9
MAX_ARRIVALS = 50_000_000
_FAR = 2.0**61  # 73 years in ns: later than any run
_BLOCK = 1 << 16  # gaps drawn at a time; part of the definition of a schedule for ramp and step


class Pattern(Protocol):
    """What decides when an open loop sends."""

    def arrivals(self, rng: np.random.Generator, duration: int | None, requests: int | None) -> Times:
        """Return the send times: those before ``duration`` ns, at most ``requests`` of them."""
        ...


@dataclass(frozen=True, kw_only=True)
class Constant:
    """λ(t) = rate; arrivals at k / rate for k = 0, 1, 2, …

    Evenly spaced: what a load generator with a metronome does. It never bunches, so it shows less queueing than
    independent users cause at the same rate. Each time is computed from k, so no error builds up.
    """

    rate: float

    def arrivals(self, rng: np.random.Generator, duration: int | None, requests: int | None) -> Times:
        """Return the send times; ``rng`` is not used."""
        gap = SECOND / self.rate
        count = requests
        if duration is not None:
            within = int(min(duration / gap, 2.0**62)) + 2  # one to spare for rounding, cut below
            count = within if count is None else min(count, within)
        times = np.minimum(np.rint(np.arange(_checked(count)) * gap), _FAR).astype(np.int64)
        return _before(times, duration)


@dataclass(frozen=True, kw_only=True)
class Poisson:
    """λ(t) = rate; independent exponential gaps of mean 1 / rate, the first one before the first arrival.

    Many independent users: variance of the count in any window equals its mean, coefficient of variation of the
    gaps is 1.
    """

    rate: float

    def arrivals(self, rng: np.random.Generator, duration: int | None, requests: int | None) -> Times:
        """Return the send times."""
        scale = SECOND / self.rate
        return _renewal(lambda count: rng.exponential(scale, count), self.rate, duration, requests)


@dataclass(frozen=True, kw_only=True)
class Gamma:
    """λ(t) = rate; independent gamma gaps with shape = burstiness and mean 1 / rate.

    The coefficient of variation of the gaps is 1 / √burstiness: 1 is Poisson, below 1 arrives in bursts, above 1
    is smoother, and towards ∞ it becomes constant.
    """

    rate: float
    burstiness: float

    def arrivals(self, rng: np.random.Generator, duration: int | None, requests: int | None) -> Times:
        """Return the send times."""
        scale = SECOND / (self.rate * self.burstiness)
        return _renewal(lambda count: rng.standard_gamma(self.burstiness, count) * scale, self.rate, duration, requests)


@dataclass(frozen=True, kw_only=True)
class Ramp:
    """λ(t) = start + (end − start)·t/T, where T is the stage's duration; Λ(T) = T·(start + end)/2.

    Poisson by default: a ramp asks where an endpoint begins to queue, and evenly spaced arrivals would put that
    point too high, because real arrivals bunch. ``constant`` gives Λ(tₖ) = k for k = 0, 1, 2, …: the same ramp
    without noise, for comparing two builds at equal pressure. T is part of λ, so a longer ramp is another schedule.
    """

    start: float
    end: float
    arrivals_kind: Arrivals = "poisson"

    def arrivals(self, rng: np.random.Generator, duration: int | None, requests: int | None) -> Times:
        """Return the send times; ``duration`` is needed."""
        length = _needed(duration, "ramp") / SECOND
        expected = _unit_arrivals(rng, self.arrivals_kind, length * (self.start + self.end) / 2, requests)
        slope = (self.end - self.start) / length
        # Λ(t) = start·t + slope·t²/2 solved for t, in the form that doesn't cancel for small slopes.
        root = np.sqrt(np.maximum(self.start**2 + 2 * slope * expected, 0.0))
        seconds = 2 * expected / (self.start + root)
        return _before(np.rint(seconds * SECOND).astype(np.int64), duration)


@dataclass(frozen=True, kw_only=True)
class Step:
    """λ(t) = rateᵢ for the ``hold``ᵢ ns of step i, one after the other; Λ is linear within a step.

    Poisson by default, for the reason given at `Ramp`; ``constant`` gives Λ(tₖ) = k. A longer last step keeps the
    arrivals before it.
    """

    rates: tuple[float, ...]
    holds: tuple[int, ...]  # ns
    arrivals_kind: Arrivals = "poisson"

    def arrivals(self, rng: np.random.Generator, duration: int | None, requests: int | None) -> Times:
        """Return the send times; the steps themselves set the duration, which can only cut it shorter."""
        ends = np.concatenate(([0.0], np.cumsum(np.array(self.holds, dtype=np.float64))))
        expected_ends = np.concatenate(([0.0], np.cumsum(np.array(self.rates) * np.array(self.holds) / SECOND)))
        expected = _unit_arrivals(rng, self.arrivals_kind, float(expected_ends[-1]), requests)
        times = np.rint(np.interp(expected, expected_ends, ends)).astype(np.int64)
        total = sum(self.holds)
        return _before(times, total if duration is None else min(duration, total))


@dataclass(frozen=True, kw_only=True)
class Offline:
    """Everything at t = 0: how much an endpoint gets through when it may order the work as it likes."""

    def arrivals(self, rng: np.random.Generator, duration: int | None, requests: int | None) -> Times:
        """Return ``requests`` zeros; ``rng`` is not used."""
        return np.zeros(_checked(requests), dtype=np.int64)


def _renewal(
    draw: Callable[[int], npt.NDArray[np.float64]], rate: float, duration: int | None, requests: int | None
) -> Times:
    """Return the running sum of gaps from ``draw``, up to ``duration`` or ``requests``, whichever comes first.

    The generator gives the same gaps whether they are drawn at once or in parts, and whole ns add up exactly, so
    the result doesn't depend on how many are drawn at a time.
    """
    if duration is None:
        return _running_sum(draw(_checked(requests)))
    expected = rate * duration / SECOND
    if requests is None:
        _checked(expected)
    parts: list[Times] = []
    total, last = 0, 0
    size = int(min(expected + 4 * expected**0.5 + 16, requests or MAX_ARRIVALS))
    while last < duration and (requests is None or total < requests):
        size = size if requests is None else min(size, requests - total)
        part = last + _running_sum(draw(size))
        parts.append(part)
        total, last = total + len(part), int(part[-1])
        _checked(total, slack=1.1)
        size = max(size // 16, 1024)
    return _before(np.concatenate(parts), duration)[:requests]


def _running_sum(gaps: npt.NDArray[np.float64]) -> Times:
    """Return the running sum of ``gaps`` in whole ns, kept within int64 where rates are absurdly low."""
    return np.cumsum(np.rint(np.minimum(gaps, _FAR / max(len(gaps), 1))).astype(np.int64))


def _unit_arrivals(
    rng: np.random.Generator, kind: Arrivals, expected: float, requests: int | None
) -> npt.NDArray[np.float64]:
    """Return the arrivals of a process of rate 1 in [0, ``expected``), at most ``requests`` of them."""
    _checked(expected if requests is None else min(expected, requests))
    if kind == "constant":
        return np.arange(np.ceil(expected))[:requests]
    parts: list[npt.NDArray[np.float64]] = []
    last, total = 0.0, 0
    while last < expected and (requests is None or total < requests):
        part = last + np.cumsum(rng.standard_exponential(_BLOCK))
        parts.append(part)
        last, total = float(part[-1]), total + _BLOCK
    if not parts:
        return np.zeros(0)
    times = np.concatenate(parts)
    return times[: np.searchsorted(times, expected)][:requests]


def _before(times: Times, duration: int | None) -> Times:
    """Return the times before ``duration``; ``times`` ascend."""
    return times if duration is None else times[: np.searchsorted(times, duration)]


def _checked(count: float | None, *, slack: float = 1.0) -> int:
    """Return ``count`` as a whole number, refusing schedules nobody can mean."""
    if count is None:
        raise ConfigError("this load needs a limit", where="load", mend="give a duration or a number of requests")
    if count > MAX_ARRIVALS * slack:
        raise ConfigError(
            f"the load comes to {count:,.0f} requests; the most is {MAX_ARRIVALS:,}",
            where="load",
            mend="lower the rate, the duration or the number of requests",
        )
    return int(count)


def _needed(duration: int | None, kind: str) -> int:
    if not duration:
        raise ConfigError(f"a {kind} needs a duration", where="load", mend="add duration: 60s")
    return duration
