"""What a faster stage would buy: Amdahl's law on the critical path, for runs where nothing waits for anything else.

With a stage's share a of the critical path and a speed-up s of it, a task takes Σ aᵢ/sᵢ of its time. That is exact
where tasks do not share a server, and where the path stays the path: a stage that ran beside it may come onto it when
others get faster. For loaded runs see :mod:`relaymark.explain.replay`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from relaymark.errors import ConfigError
from relaymark.explain.legs import Floats
from relaymark.explain.path import OWN, CriticalPath, interval, resampled_sums

RESAMPLES = 300


class Prediction(msgspec.Struct, kw_only=True, frozen=True):
    """How many times faster tasks become on average, with its 95 % interval (bootstrap over tasks)."""

    what: str
    speedup: float
    low: float
    high: float
    how: str  # amdahl | replay
    factors: dict[str, float] = {}


def parse_factors(words: Sequence[str], path: CriticalPath) -> dict[str, float]:
    """``answer=3``, ``llm=inf``: by stage, or all stages of a kind.

    Raises:
        ConfigError: There is no such stage, or the number makes no sense.
    """
    factors: dict[str, float] = {}
    for word in words:
        name, _, told = word.partition("=")
        try:
            factor = float(told)
        except ValueError:
            factor = math.nan
        if not factor > 0:
            raise ConfigError(f"{word[:60]!r} is no stage and factor", where="--faster", mend="write it as answer=3")
        for stage in stages_named(name.strip(), path):
            factors[stage] = factor
    return factors


def stages_named(word: str, path: CriticalPath) -> list[str]:
    """The stages that a word stands for.

    Raises:
        ConfigError: None.
    """
    found = [name for name, kind in zip(path.names, path.kinds, strict=True) if word in (name, kind) and name != OWN]
    if not found:
        known = ", ".join(dict.fromkeys([*path.names[:-1], *path.kinds[:-1]]))
        raise ConfigError(f"there is no stage {word[:40]!r} in this run", mend=f"stages and kinds: {known}")
    return found


def amdahl(path: CriticalPath, factors: Mapping[str, float], what: str) -> Prediction:
    """The prediction for speed-ups of some stages."""
    divisors = np.array([factors.get(name, 1.0) for name in path.names])
    speedup = _speedup(path.times.sum(0), divisors)
    low, high = interval(np.array([_speedup(sums, divisors) for sums in resampled_sums(path.times, RESAMPLES)]))
    return Prediction(what=what, speedup=speedup, low=low, high=high, how="amdahl", factors=dict(factors))


def _speedup(sums: Floats, divisors: Floats) -> float:
    left = float((sums / divisors).sum())
    return float(sums.sum()) / left if left else math.inf


def most_valuable(path: CriticalPath, factor: float = 2.0) -> list[Prediction]:
    """What each stage alone would bring, the best first."""
    every = [amdahl(path, {name: factor}, f"{name} {factor:g} × faster") for name in path.names if name != OWN]
    return sorted(every, key=lambda one: -one.speedup)


class Split(msgspec.Struct, kw_only=True, frozen=True):
    """The best way to spend a budget: the speed-up of each stage, and what comes of it."""

    budget: float
    factors: dict[str, float]
    speedup: float


def best_split(path: CriticalPath, costs: Mapping[str, float], budget: float) -> Split:
    """Minimises Σ aᵢ/sᵢ for Σ cᵢ·(sᵢ − 1) ≤ budget, sᵢ ≥ 1; ``costs`` are of each further time the speed.

    At the best split each stage that gets something has the same gain per cost, aᵢ/(cᵢ·sᵢ²): sᵢ = √(aᵢ/(λ·cᵢ)), and λ
    is found by bisection.

    Raises:
        ConfigError: A cost or the budget is not above 0.
    """
    if budget <= 0 or any(not cost > 0 for cost in costs.values()):
        raise ConfigError(
            "the budget and every cost must be above 0", where="--budget", mend="e.g. answer=4,rerank=1:10"
        )
    shares = dict(zip(path.names, path.shares(), strict=True))
    gains = {name: shares[name] / cost for name, cost in costs.items()}

    def factors(price: float) -> dict[str, float]:
        return {name: max(1.0, math.sqrt(gain / price)) for name, gain in gains.items()}

    low, high = 1e-18, max(gains.values()) or 1.0
    for _ in range(200):
        middle = math.sqrt(low * high)
        spent = sum(costs[name] * (factor - 1) for name, factor in factors(middle).items())
        low, high = (middle, high) if spent > budget else (low, middle)
    best = factors(high)
    divisors = np.array([best.get(name, 1.0) for name in path.names])
    return Split(budget=budget, factors=best, speedup=_speedup(path.times.sum(0), divisors))
