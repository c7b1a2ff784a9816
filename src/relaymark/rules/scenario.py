"""What a scenario of MLPerf Inference asks of a run: duration, queries, seeds, and the limits of its p99.

A limit is met as LoadGen decides it: so many samples may exceed it that, with 99 % confidence, 99 % of all would not
(:mod:`relaymark.measure.early_stopping`). Results: SingleStream p90 and MultiStream p99 latency as early-stopping
estimates, Offline samples/s, Server and Interactive completed queries/s.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from relaymark.errors import ConfigError
from relaymark.measure.early_stopping import estimate, holds, least_samples
from relaymark.measure.percentiles import Floats
from relaymark.measure.steady_samples import StageSamples
from relaymark.rules.limits import ScenarioLimits, inference

SCENARIOS = ("SingleStream", "MultiStream", "Offline", "Server", "Interactive")
_OPEN = ("Server", "Interactive")
_NO_DURATION = ("e2e-rag-qna", "e2e-rag-db")  # the checker exempts both from the 600 s


@dataclass(frozen=True, slots=True)
class Condition:
    """One thing that is asked for: what, how it stands, and whether it is met."""

    what: str
    told: str
    met: bool


@dataclass(frozen=True, slots=True)
class Judgement:
    """A run as a scenario's result. ``result`` is ``None`` where there are too few samples for the estimate."""

    scenario: str
    result: float | None
    unit: str
    conditions: list[Condition]

    @property
    def valid(self) -> bool:
        """Whether everything that is asked for is met."""
        return self.result is not None and all(condition.met for condition in self.conditions)


def judge_scenario(
    samples: StageSamples, benchmark: str, scenario: str, round_name: str, seeds: dict[str, int | None]
) -> Judgement:
    """Holds one stage of a run against a scenario.

    Args:
        samples: The stage's samples.
        benchmark: Its name in the round, such as ``llama3.1-8b``.
        scenario: One of :data:`SCENARIOS`.
        round_name: ``v5.1``, ``v6.0`` or ``v6.1``.
        seeds: The run's seeds by the round's names; those that are missing are not compared.

    Raises:
        ConfigError: The round does not have the benchmark, or the benchmark not the scenario.
    """
    entry = inference().benchmark(benchmark, round_name)
    if entry is None:
        known = sorted(
            name for name, rows in inference().benchmarks.items() if any(round_name in r.rounds for r in rows)
        )
        raise ConfigError(
            f"{round_name} has no {benchmark!r}.", where="--benchmark", mend=f"It has {', '.join(known)}."
        )
    offered = {each for kinds in entry.scenarios.values() for each in (*kinds.required, *kinds.optional)}
    if scenario not in offered:
        says = f"{benchmark} has no scenario {scenario} in {round_name}."
        raise ConfigError(says, where="--scenario", mend=f"It has {', '.join(sorted(offered))}.")
    rules = inference().rounds[round_name]
    limits = entry.limits.get(scenario, ScenarioLimits())
    good = samples.good
    seconds = float(samples.ended.max() - samples.sent.min()) / 1e9
    conditions = [] if benchmark in _NO_DURATION else [_at_least("duration", seconds, rules.min_duration_s, "s")]
    conditions.append(_at_least("queries", int(good.sum()), _queries(limits, scenario, entry.performance_samples), ""))
    lost = int(good.size - good.sum()) + samples.open_ended
    conditions.append(Condition("every query ends well", f"{lost} did not", lost == 0))
    for name, value in seeds.items():
        if value is not None and name in rules.seeds:
            wanted = rules.seeds[name]
            conditions.append(Condition(f"{name} {wanted}", str(value), value == wanted))
    latency = {key: _with_losses(samples.values[key], good, lost) for key in ("ttft", "tpot", "latency")}
    if limits.ttft_p99_ms is not None:
        conditions.append(_within("TTFT p99", latency["ttft"], limits.ttft_p99_ms))
    if limits.tpot_p99_ms is not None:
        conditions.append(_within("TPOT p99", latency["tpot"], limits.tpot_p99_ms))
    elif limits.latency_ms is not None and scenario in _OPEN:
        # where tokens have limits of their own, those stand for the whole query's
        conditions.append(_within("latency p99", latency["latency"], limits.latency_ms))
    result, unit = _result(scenario, latency["latency"], int(good.sum()), seconds)
    return Judgement(scenario, result, unit, conditions)


def _queries(limits: ScenarioLimits, scenario: str, samples: int) -> int:
    """The fewest queries; early stopping lets latency scenarios end at the floor of their percentile's estimate."""
    if scenario == "Offline":
        return samples
    floor = least_samples(0.9 if scenario == "SingleStream" else 0.99)
    return min(limits.fewest_queries, floor) if limits.fewest_queries > 1 else floor


def _result(scenario: str, latency: Floats, completed: int, seconds: float) -> tuple[float | None, str]:
    if scenario in ("SingleStream", "MultiStream"):
        p = 0.9 if scenario == "SingleStream" else 0.99
        value = estimate(latency, p)
        ms = None if value is None or not np.isfinite(value) else value / 1e6
        return ms, f"ms, p{100 * p:.0f} of latency with 99 % confidence"
    return (completed / seconds if seconds > 0 else None), "queries/s"


def _within(what: str, values: Floats, limit_ms: float) -> Condition:
    over = int((values > 1e6 * limit_ms).sum())
    met = values.size > 0 and holds(values.size, over, 0.99)
    return Condition(f"{what} ≤ {limit_ms:g} ms", f"{over} of {values.size} above it", met)


def _at_least(what: str, value: float, least: float, unit: str) -> Condition:
    tail = f" {unit}" if unit else ""
    return Condition(f"{what} ≥ {least:,.0f}{tail}", f"{value:,.0f}{tail}", value >= least)


def _with_losses(values: Floats, good: np.ndarray[tuple[int, ...], np.dtype[np.bool_]], lost: int) -> Floats:
    """A metric of the good samples, and +inf for each that was lost."""
    known = values[good]
    return np.concatenate([known[~np.isnan(known)], np.full(lost, np.inf)])
