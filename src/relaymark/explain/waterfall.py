"""One task as it went, leg by leg: the median one and one of the slowest, to be looked at."""

from __future__ import annotations

import msgspec
import numpy as np

from relaymark.explain.legs import Run
from relaymark.explain.path import CriticalPath

MOST_LEGS = 400


class Bar(msgspec.Struct, kw_only=True, frozen=True):
    """One leg; times are ns from the task's beginning."""

    name: str
    began: float
    ended: float
    on_path: bool


class Waterfall(msgspec.Struct, kw_only=True, frozen=True):
    """One task. ``which``: median or p99."""

    which: str
    task_id: int
    latency: float
    bars: list[Bar]
    left_out: int = 0  # legs beyond the first few hundred


def waterfalls(run: Run, path: CriticalPath) -> list[Waterfall]:
    """The task of median latency and that of the 99th percentile."""
    order = np.argsort(run.tasks.latency, kind="stable")
    wanted = [("median", 0.5), ("p99", 0.99)]
    return [_one(run, path, which, int(order[int(q * (len(order) - 1))])) for which, q in wanted]


def _one(run: Run, path: CriticalPath, which: str, task: int) -> Waterfall:
    legs = run.legs
    first, last = np.searchsorted(legs.task, [task, task + 1])
    rows = sorted(range(int(first), int(last)), key=lambda leg: (int(legs.began[leg]), int(legs.ended[leg])))
    begin = int(run.tasks.began[task])
    bars = [
        Bar(
            name=legs.names[int(legs.name[leg])],
            began=float(legs.began[leg] - begin),
            ended=float(legs.ended[leg] - begin),
            on_path=bool(path.on[leg]),
        )
        for leg in rows[:MOST_LEGS]
    ]
    return Waterfall(
        which=which,
        task_id=int(run.tasks.id[task]),
        latency=float(run.tasks.latency[task]),
        bars=bars,
        left_out=max(0, len(rows) - MOST_LEGS),
    )
