"""The curve: one run after another at rising load, and what each says of throughput, speed for a user, and bounds.

System tokens/s against tokens/s per user, as MLPerf Endpoints draws it (§4.1, §4.2): a step function, each point
holding until the next. A point's figures are those of its steady window where it has one, else of the whole run.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from relaymark.errors import TraceError
from relaymark.measure.curve_search import Found
from relaymark.measure.percentiles import Floats
from relaymark.measure.steady import Steady, find_steady
from relaymark.measure.steady_samples import StageSamples, stage_samples
from relaymark.measure.summary import Distribution, SloResult, Stage, Summary
from relaymark.trace import read_run_record

SWEEP_FILE = "sweep.json"
CURVE_FILE = "curve.html"
_BATCHES = 10
# Student's t for 95 %, by degrees of freedom; beyond the table the normal value is near enough.
_T95 = (12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)
_GAIN = 0.02  # a further point matters if it may raise the throughput by more
_MISSED_MARGIN = 3.0  # ln of measured/bound where nothing came back at all
_UNKNOWN_SIGMA = 0.15


class Estimate(msgspec.Struct, kw_only=True, frozen=True):
    """A figure with its 95 % interval; ``low`` and ``high`` are ``None`` where there is too little to tell."""

    value: float
    low: float | None = None
    high: float | None = None


class Bound(msgspec.Struct, kw_only=True, frozen=True):
    """One bound at one run: its margin ln(measured/bound), below 0 where it holds, and the margin's standard error."""

    text: str
    measured: float | None  # ns; None: infinitely slow
    bound: float
    met: bool
    margin: float
    sigma: float


class LevelRun(msgspec.Struct, kw_only=True, frozen=True):
    """One run of a sweep. ``overhead``: seconds it took beyond the time it measured, warm-up and drain left out."""

    level: float
    folder: str  # beneath the sweep's own
    valid: bool
    reasons: list[str]
    requests: int
    failed: int
    request_rate: float
    system_tps: Estimate | None
    tps_per_user: Estimate | None
    ttft_p90: float | None  # ns
    tpot_p90: float | None  # ns
    bounds: list[Bound]
    basis: str  # "steady window" or "whole run"
    steady: str  # the window's status and verdict, or empty
    overhead: float | None = None


class CurvePoint(msgspec.Struct, kw_only=True, frozen=True):
    """A load level: its runs together. ``holds``: every bound was met in most of its runs; ``None`` without bounds."""

    level: float
    runs: int
    valid: bool
    system_tps: Estimate | None
    tps_per_user: Estimate | None
    ttft_p90: float | None
    tpot_p90: float | None
    request_rate: float
    failed_share: float
    holds: bool | None
    basis: str


class SearchResult(msgspec.Struct, kw_only=True, frozen=True):
    """What the search for the highest load that holds came to (see :class:`relaymark.measure.curve_search.Found`)."""

    level: float | None
    low: float | None
    high: float | None
    confidence: float
    runs: int
    why: str


class Sweep(msgspec.Struct, kw_only=True):
    """``sweep.json``: a whole sweep, written anew after each run, so that it can be taken up again."""

    schema: int = 1
    name: str
    started_at: str
    version: str
    kind: str  # "concurrency" or "rate"
    url: str
    model: str
    slos: list[str]
    levels: list[float]  # those asked for; empty: auto
    options: dict[str, str | int | float | bool | list[str] | None]
    runs: list[LevelRun] = msgspec.field(default_factory=list[LevelRun])
    found: SearchResult | None = None
    notes: list[str] = msgspec.field(default_factory=list[str])
    status: str = "running"  # running | complete | interrupted


def level_run(
    folder: Path, summary: Summary, level: float, *, super_pass: int | None, least_seconds: float
) -> LevelRun:
    """What one run, with a single stage, says of its level.

    Args:
        folder: The run's folder; its trace is read for the steady window.
        summary: The run's summary.
        level: The load it was run at.
        super_pass: Samples of a pass of the data set; ``None``: the number of prompts the run had.
        least_seconds: How long a steady window must last to count.
    """
    stage = summary.stages[0]
    size = super_pass or read_run_record(folder).prompts
    steady, samples = None, None
    if size and not stage.load.startswith(("poisson", "constant", "gamma")) and stage.requests >= 4 * size:
        samples = stage_samples(folder, stage.index)
        steady = _steady(samples, size, least_seconds)
    windowed = steady is not None and steady.official and samples is not None
    figures = (
        _window(samples, steady) if samples is not None and steady is not None and steady.official else _whole(stage)
    )
    good = sum(count for outcome, count in stage.outcomes.items() if outcome in ("ok", "ok_length"))
    return LevelRun(
        level=level,
        folder=folder.name,
        valid=summary.verdict.valid,
        reasons=[reason.text for reason in summary.verdict.reasons],
        requests=stage.requests,
        failed=stage.requests - good,
        request_rate=stage.request_rate,
        system_tps=figures[0],
        tps_per_user=figures[1],
        ttft_p90=figures[2],
        tpot_p90=None if figures[1] is None else 1e9 / figures[1].value,
        bounds=[_bound(stage, slo) for slo in stage.slos],
        basis="steady window" if windowed else "whole run",
        steady="" if steady is None else f"{steady.status}, {steady.verdict}",
    )


def margin_of(run: LevelRun) -> tuple[float, float]:
    """Margin and standard error of the bound that was missed by most (or met by least)."""
    worst = max(run.bounds, key=lambda bound: bound.margin)
    return worst.margin, worst.sigma


def curve_points(runs: Sequence[LevelRun]) -> list[CurvePoint]:
    """The levels of a sweep in rising order, repeats put together; runs that are INVALID count only where all are."""
    levels: dict[float, list[LevelRun]] = {}
    for run in runs:
        levels.setdefault(run.level, []).append(run)
    return [_point(level, each) for level, each in sorted(levels.items())]


def too_wide(runs: Sequence[LevelRun], precision: float) -> bool:
    """Whether the throughput of a level is not yet known to within ``precision`` (a share, one side)."""
    estimate = _point(runs[0].level, list(runs)).system_tps
    if estimate is None or estimate.low is None or estimate.high is None:
        return len(runs) < 2 and estimate is not None
    return (estimate.high - estimate.low) / 2 > precision * estimate.value


def why_stop(points: Sequence[CurvePoint]) -> str | None:
    """Why no higher load can matter any more; ``None`` where one still may. ``points`` in rising order."""
    if not points:
        return None
    last = points[-1]
    if last.failed_share > 0.5:
        return f"At {last.level:g} most requests failed."
    rates = [point.system_tps for point in points if point.system_tps is not None]
    if len(rates) < 3 or last.system_tps is None:
        return None
    best = max(rate.value for rate in rates[:-2])
    flat = all((rate.high if rate.high is not None else rate.value) < best * (1 + _GAIN) for rate in rates[-2:])
    if flat:
        return f"Beyond {points[-3].level:g} throughput no longer rises: higher loads only make users wait."
    if [point.holds for point in points[-2:]] == [False, False] and any(point.holds for point in points):
        return f"The bounds are missed from {points[-2].level:g} on."
    return None


def measured_rates(folder: Path) -> dict[int, float]:
    """Concurrency → requests/s of a sweep's valid points.

    Raises:
        TraceError: There is no sweep, or it swept rates.
    """
    sweep = read_sweep(folder)
    if sweep.kind != "concurrency":
        raise TraceError("The sweep is over rates; concurrencies are asked for here.", where=str(folder))
    return {int(point.level): point.request_rate for point in curve_points(sweep.runs) if point.valid}


def read_sweep(folder: Path) -> Sweep:
    """Reads ``sweep.json``.

    Raises:
        TraceError: There is none, or it cannot be read.
    """
    path = folder / SWEEP_FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=Sweep)
    except OSError as error:
        mend = "Give a folder that `relaymark sweep` made."
        raise TraceError(f"This is no sweep: {error.strerror}.", where=str(path), mend=mend) from None
    except msgspec.DecodeError as error:
        raise TraceError(f"The sweep's record cannot be read: {error}.", where=str(path)) from None


def write_sweep(folder: Path, sweep: Sweep) -> None:
    """Writes ``sweep.json`` by an atomic rename."""
    fresh = folder / f".{SWEEP_FILE}.{os.getpid()}"
    fresh.write_bytes(msgspec.json.format(msgspec.json.encode(sweep), indent=1) + b"\n")
    fresh.replace(folder / SWEEP_FILE)


def search_result(found: Found) -> SearchResult:
    """A search's answer as the sweep keeps it."""
    return SearchResult(
        level=found.level,
        low=found.low,
        high=found.high,
        confidence=found.confidence,
        runs=found.runs,
        why=found.why,
    )


def _steady(samples: StageSamples, size: int, least_seconds: float) -> Steady:
    tpot = np.where(samples.good, samples.values["tpot"], np.nan)
    latency = np.where(samples.good, samples.values["latency"], np.nan)
    return find_steady(samples.sent, tpot, latency, size, least_seconds=least_seconds, floor_seconds=least_seconds)


def _window(samples: StageSamples, steady: Steady) -> tuple[Estimate | None, Estimate | None, float | None]:
    """Throughput over the window's issue span, and p90s of the samples issued in it (§4.4)."""
    first, last = steady.samples
    part = slice(first, last)
    good = samples.good[part]
    tokens = np.where(good, np.nan_to_num(samples.values["osl"][part]), 0.0)
    size = steady.super_pass_size
    at = samples.sent[part].astype(np.float64)
    rates = [
        float(tokens[i : i + size].sum()) / ((at[min(i + size, at.size - 1)] - at[i]) / 1e9)
        for i in range(0, tokens.size - 1, size)
        if at[min(i + size, at.size - 1)] > at[i]
    ]
    span = float(at[-1] - at[0]) / 1e9
    if not tokens.sum() or span <= 0:
        return None, None, _lower90(samples.values["ttft"][part][good])
    mean = float(tokens.sum()) / span
    tpot = _lower90(samples.values["tpot"][part][good])
    user = None if tpot is None else Estimate(value=1e9 / tpot)
    return _around(mean, rates), user, _lower90(samples.values["ttft"][part][good])


def _whole(stage: Stage) -> tuple[Estimate | None, Estimate | None, float | None]:
    """The whole run's figures; the throughput's interval from batch means of what arrived over time."""
    tps = None
    if stage.output_token_rate is not None:
        tps = _around(stage.output_token_rate, _batches(stage))
    tpot = _quantile(stage.distributions.get("tpot"), 0.9)
    user = None
    if tpot is not None:
        # slower tokens are fewer a second: the interval's ends change places
        value, low, high = tpot
        user = Estimate(
            value=1e9 / value, low=None if high is None else 1e9 / high, high=None if low is None else 1e9 / low
        )
    ttft = _quantile(stage.distributions.get("ttft"), 0.9)
    return tps, user, None if ttft is None else ttft[0]


def _batches(stage: Stage) -> list[float]:
    """Tokens/s of ten equal stretches, the first bin (ramp) and the last (drain) left out."""
    if stage.series is None or len(stage.series.tokens) < _BATCHES + 2:
        return []
    inner = np.array(stage.series.tokens[1:-1])
    return [float(part.mean()) for part in np.array_split(inner, _BATCHES)]


def _around(value: float, batches: list[float]) -> Estimate:
    if len(batches) < 3:
        return Estimate(value=value)
    spread = float(np.std(batches, ddof=1)) / math.sqrt(len(batches)) * _t95(len(batches) - 1)
    return Estimate(value=value, low=max(0.0, value - spread), high=value + spread)


def _t95(freedom: int) -> float:
    return _T95[freedom - 1] if freedom <= len(_T95) else 1.96 + 2.4 / freedom


def _lower90(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    if not known.size:
        return None
    rank = math.floor(0.9 * (known.size - 1))
    return float(np.partition(known, rank)[rank])


def _quantile(distribution: Distribution | None, q: float) -> tuple[float, float | None, float | None] | None:
    found = next((each for each in distribution.quantiles if each.q == q), None) if distribution else None
    return None if found is None or found.value is None else (found.value, found.low, found.high)


def _bound(stage: Stage, slo: SloResult) -> Bound:
    margin, sigma = _MISSED_MARGIN, _UNKNOWN_SIGMA
    if slo.measured is not None and slo.measured > 0:
        margin = math.log(slo.measured / slo.bound)
        distribution = stage.distributions.get(slo.metric)
        around = _quantile(distribution, slo.q)
        if around is not None and distribution is not None and around[1]:
            # Too few samples for an upper end: the largest one stands in, which is not far enough up.
            high = around[2] if around[2] is not None else 1.2 * max(distribution.maximum, around[0])
            sigma = max(math.log(high / around[1]) / 3.92, 1e-3)
    return Bound(text=slo.text, measured=slo.measured, bound=slo.bound, met=slo.met, margin=margin, sigma=sigma)


def _point(level: float, runs: list[LevelRun]) -> CurvePoint:
    used = [run for run in runs if run.valid] or runs
    bounds = [all(bound.met for bound in run.bounds) for run in used if run.bounds]
    requests = sum(run.requests for run in used)
    return CurvePoint(
        level=level,
        runs=len(runs),
        valid=any(run.valid for run in runs),
        system_tps=_pooled([run.system_tps for run in used]),
        tps_per_user=_pooled([run.tps_per_user for run in used]),
        ttft_p90=_mean([run.ttft_p90 for run in used]),
        tpot_p90=_mean([run.tpot_p90 for run in used]),
        request_rate=sum(run.request_rate for run in used) / len(used),
        failed_share=sum(run.failed for run in used) / requests if requests else 0.0,
        holds=2 * sum(bounds) > len(bounds) if bounds else None,
        basis=used[0].basis,
    )


def _pooled(estimates: list[Estimate | None]) -> Estimate | None:
    """The mean over repeats; between three and more their own scatter gives the interval, else the runs' intervals."""
    known = [estimate for estimate in estimates if estimate is not None]
    if not known:
        return None
    if len(known) >= 3:
        return _around(sum(each.value for each in known) / len(known), [each.value for each in known])
    low, high = _mean([each.low for each in known]), _mean([each.high for each in known])
    return Estimate(value=sum(each.value for each in known) / len(known), low=low, high=high)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None
