"""Where the time of a run's tasks goes: by stage, by endpoint, and in the slowest hundredth."""

from __future__ import annotations

import msgspec
import numpy as np

from relaymark.explain.legs import NONE, Floats, Run
from relaymark.explain.path import OWN, CriticalPath, busy_share, interval, resampled_sums
from relaymark.measure.percentiles import interval_ranks, rank

RESAMPLES = 300
_TAIL = 0.99
_FEWEST_TAIL = 5
_STRAGGLES = 1.2


class Figure(msgspec.Struct, kw_only=True, frozen=True):
    """A value with its 95 % interval; ``None`` where there are too few values for one."""

    value: float
    low: float | None
    high: float | None


def quantile_figure(values: Floats, q: float) -> Figure:
    """A lower-rank order statistic with its distribution-free interval."""
    ordered = np.sort(values)
    low, high = interval_ranks(len(ordered), q)
    return Figure(
        value=float(ordered[rank(q, len(ordered)) - 1]),
        low=None if low is None else float(ordered[low - 1]),
        high=None if high is None else float(ordered[high - 1]),
    )


class StageShare(msgspec.Struct, kw_only=True, frozen=True):
    """One stage. Shares are from 0 to 1 of all time on critical paths; times are ns."""

    name: str
    kind: str
    share: float
    low: float  # 95 % interval, bootstrap over tasks
    high: float
    mean: float  # on the path, a task
    waiting: float | None  # share of its time on the path that was waiting; None where the stage does not tell
    legs: float  # a task
    beside: float  # share of its legs' time that ran beside the path
    busy: float  # share of the run with at least one leg of it under way
    in_flight: float  # mean


class EndpointShare(msgspec.Struct, kw_only=True, frozen=True):
    """One endpoint. ``slower``: its median over that of the others serving the same stages, where it is the slowest."""

    endpoint: str
    legs: int
    median: Figure
    p99: Figure
    busy: float
    in_flight: float
    slower: float | None = None
    slower_low: float | None = None  # 95 % interval
    slower_high: float | None = None


class TailStage(msgspec.Struct, kw_only=True, frozen=True):
    """What a stage adds to the slowest tasks: ns a task more than in the others, and its part of the whole."""

    name: str
    more: float
    part: float
    legs_more: float
    longer: float | None  # its legs' mean in the tail / in the others


class Tail(msgspec.Struct, kw_only=True, frozen=True):
    """The slowest hundredth against the rest."""

    tasks: int
    least: float  # ns: the fastest of them
    mean: float
    others: float  # mean of the others
    low: float  # 95 % interval of `mean`, bootstrap over the slowest tasks
    high: float
    stages: list[TailStage]


class Anatomy(msgspec.Struct, kw_only=True, frozen=True):
    """Where the time goes. Times are ns."""

    tasks: int
    failed: int
    legs: int
    mean: Figure
    median: Figure
    p99: Figure
    stages: list[StageShare]
    endpoints: list[EndpointShare]
    tail: Tail | None  # None: too few tasks
    notes: list[str] = []


def anatomy_of(run: Run, path: CriticalPath) -> Anatomy:
    """Computes it."""
    tasks = run.tasks
    latency = tasks.latency.astype(np.float64)
    means = [drawn.mean() for drawn in _resampled(latency)]
    bounds = interval(np.array(means))
    notes = [
        "Legs, busy and in flight are counts of the whole run, and a task leg by leg is one task: no interval there.",
    ]
    if run.failed:
        notes.append(f"{run.failed:,} tasks failed; where their time went is in no figure here.")
    return Anatomy(
        tasks=len(tasks),
        failed=run.failed,
        legs=len(run.legs),
        mean=Figure(value=float(latency.mean()), low=bounds[0], high=bounds[1]),
        median=quantile_figure(latency, 0.5),
        p99=quantile_figure(latency, _TAIL),
        stages=_stages(run, path),
        endpoints=_endpoints(run),
        tail=_tail(run, path, latency),
        notes=notes,
    )


def _resampled(latency: Floats) -> list[Floats]:
    """The latencies drawn anew, of at most 20,000 tasks: of more the mean is known well enough."""
    some = latency[:: max(1, len(latency) // 20_000)]
    return [some[np.random.default_rng(seed).integers(0, len(some), len(some))] for seed in range(RESAMPLES)]


def _stages(run: Run, path: CriticalPath) -> list[StageShare]:
    sums = resampled_sums(path.times, RESAMPLES)
    drawn = sums / sums.sum(1, keepdims=True)
    shares = path.shares()
    first, last = int(run.tasks.began.min()), int(run.tasks.ended.max())
    legs, found = run.legs, list[StageShare]()
    spent = (legs.ended - legs.began).astype(np.float64)
    for place, name in enumerate(path.names):
        mine = legs.name == place if name != OWN else np.zeros(len(legs), bool)
        low, high = interval(drawn[:, place])
        on_path, whole = float(path.times[:, place].sum()), float(spent[mine].sum())
        told = bool((legs.queued[mine] != NONE).any())
        found.append(
            StageShare(
                name=name,
                kind=path.kinds[place],
                share=float(shares[place]),
                low=low,
                high=high,
                mean=on_path / len(run.tasks),
                waiting=float(path.queued[:, place].sum()) / on_path if told and on_path else None,
                legs=float(mine.sum()) / len(run.tasks),
                beside=max(0.0, 1 - on_path / whole) if whole else 0.0,
                busy=busy_share(legs.began[mine], legs.ended[mine], first, last),
                in_flight=whole / max(1, last - first),
            )
        )
    return sorted(found, key=lambda one: -one.share)


def _endpoints(run: Run) -> list[EndpointShare]:
    legs = run.legs
    first, last = int(run.tasks.began.min()), int(run.tasks.ended.max())
    spent = (legs.ended - legs.began).astype(np.float64)
    used = [place for place, name in enumerate(legs.endpoints) if name and (legs.endpoint == place).any()]
    found: list[EndpointShare] = []
    for place in used:
        mine = legs.endpoint == place
        found.append(
            EndpointShare(
                endpoint=legs.endpoints[place],
                legs=int(mine.sum()),
                median=quantile_figure(spent[mine], 0.5),
                p99=quantile_figure(spent[mine], _TAIL),
                busy=busy_share(legs.began[mine], legs.ended[mine], first, last),
                in_flight=float(spent[mine].sum()) / max(1, last - first),
                **_straggling(run, spent, place, used),
            )
        )
    return found


def _straggling(run: Run, spent: Floats, place: int, used: list[int]) -> dict[str, float | None]:
    """How much slower an endpoint is than the others that serve the same stages, if it clearly is."""
    legs = run.legs
    stages = np.unique(legs.name[legs.endpoint == place])
    same = np.isin(legs.name, stages)
    mine, others = (
        spent[same & (legs.endpoint == place)],
        spent[same & np.isin(legs.endpoint, used) & (legs.endpoint != place)],
    )
    if min(len(mine), len(others)) < 20:
        return {}
    rng = np.random.default_rng(0)
    mine, others = mine[:20_000], others[:20_000]
    ratios = np.array(
        [np.median(rng.choice(mine, len(mine))) / np.median(rng.choice(others, len(others))) for _ in range(200)]
    )
    low, high = interval(ratios)
    if low < _STRAGGLES:
        return {}
    return {"slower": float(np.median(mine) / np.median(others)), "slower_low": low, "slower_high": high}


def _tail(run: Run, path: CriticalPath, latency: Floats) -> Tail | None:
    count = max(1, round((1 - _TAIL) * len(latency)))
    if count < _FEWEST_TAIL:
        return None
    order = np.argsort(latency)
    slow = np.zeros(len(latency), bool)
    slow[order[-count:]] = True
    legs = run.legs
    spent = (legs.ended - legs.began).astype(np.float64)
    in_slow = slow[legs.task]
    more = path.times[slow].mean(0) - path.times[~slow].mean(0)
    extra = float(latency[slow].mean() - latency[~slow].mean())
    low, high = interval(np.array([drawn.mean() for drawn in _resampled(latency[slow])]))
    stages: list[TailStage] = []
    for place, name in enumerate(path.names):
        mine = legs.name == place if name != OWN else np.zeros(len(legs), bool)
        here, there = spent[mine & in_slow], spent[mine & ~in_slow]
        stages.append(
            TailStage(
                name=name,
                more=float(more[place]),
                part=float(more[place]) / extra if extra else 0.0,
                legs_more=len(here) / count - len(there) / max(1, len(latency) - count),
                longer=float(here.mean() / there.mean()) if len(here) and len(there) and there.mean() else None,
            )
        )
    return Tail(
        tasks=count,
        least=float(latency[slow].min()),
        mean=float(latency[slow].mean()),
        others=float(latency[~slow].mean()),
        low=low,
        high=high,
        stages=sorted(stages, key=lambda one: -one.more),
    )
