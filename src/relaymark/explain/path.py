"""The critical path of every task: which legs its end waited for, and what is left between them.

From the end of a task backwards: the leg that ended last before the moment in question is what was waited for; what
lies between is the pipeline's own time; then the same from that leg's beginning. A leg that ran beside it was waited
for by nobody.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from relaymark.explain.legs import NONE, Bools, Floats, Ints, Run

OWN = "own"
"""The pipeline's own time: what no leg accounts for."""


@dataclass(frozen=True)
class CriticalPath:
    """Time on the critical path in ns, shape (tasks, stages + 1); the last column is the pipeline's own time.

    ``queued`` is what of it was waiting for a stage that tells so. ``on`` says which legs are on it.
    """

    names: list[str]
    kinds: list[str]
    times: Floats
    queued: Floats
    on: Bools

    def shares(self, weights: Floats | None = None) -> Floats:
        """Each stage's share of all time, with ``weights`` of the tasks."""
        sums = self.times.sum(0) if weights is None else weights @ self.times
        return sums / sums.sum()


def critical_path(run: Run) -> CriticalPath:
    """Walks every task once: two seconds for a million legs."""
    tasks, legs = run.tasks, run.legs
    width = len(legs.names) + 1
    times = np.zeros((len(tasks), width))
    on, clipped = _walk(
        legs.task.tolist(), legs.began.tolist(), legs.ended.tolist(), tasks.began.tolist(), tasks.ended.tolist()
    )
    chosen = np.array(on, bool)
    spent = np.array(clipped, np.float64)
    np.add.at(times, (legs.task, legs.name), np.where(chosen, spent, 0.0))
    times[:, -1] = np.maximum(0.0, tasks.latency - times.sum(1))
    queued = np.zeros((len(tasks), width))
    told = chosen & (legs.queued != NONE)
    np.add.at(queued, (legs.task[told], legs.name[told]), np.minimum(legs.queued[told], spent[told]))
    return CriticalPath([*legs.names, OWN], [*legs.kinds, OWN], times, queued, chosen)


def _walk(
    task: list[int], began: list[int], ended: list[int], task_began: list[int], task_ended: list[int]
) -> tuple[list[bool], list[int]]:
    """Which legs are on the path and how long each is there; legs come by task, the last to end first."""
    on = [False] * len(task)
    spent = [0] * len(task)
    current, cursor, floor = -1, 0, 0
    for place, one in enumerate(task):
        if one != current:
            current, cursor, floor = one, task_ended[one], task_began[one]
        end = ended[place]
        if end <= cursor and end > floor:
            begin = max(began[place], floor)
            on[place] = True
            spent[place] = end - begin
            cursor = begin
    return on, spent


def weights_of(count: int, resamples: int, seed: int = 0) -> Floats:
    """Bootstrap weights over tasks, shape (resamples, tasks): how often each task is drawn."""
    rng = np.random.default_rng(seed)
    return rng.multinomial(count, np.full(count, 1.0 / count), size=resamples).astype(np.float64)


def interval(values: Floats) -> tuple[float, float]:
    """The middle 95 % of resampled values."""
    # By order statistics: between two infinite speed-ups there is nothing to interpolate.
    ordered = np.sort(values)
    last = len(ordered) - 1
    return float(ordered[round(0.025 * last)]), float(ordered[round(0.975 * last)])


def resampled_sums(times: Floats, resamples: int) -> Floats:
    """Sums over tasks drawn anew, shape (resamples, stages); in pieces, so that memory stays small."""
    rows: list[Floats] = []
    for seed in range(resamples):
        drawn = np.bincount(np.random.default_rng(seed).integers(0, len(times), len(times)), minlength=len(times))
        rows.append(drawn @ times)
    return np.array(rows)


def busy_share(began: Ints, ended: Ints, first: int, last: int) -> float:
    """Share of a window with at least one of the intervals in it."""
    if last <= first or not len(began):
        return 0.0
    order = np.argsort(began)
    starts, ends = began[order], ended[order]
    reached = np.maximum.accumulate(ends)
    covered = int(ends[0] - starts[0]) + int(np.maximum(0, reached[1:] - np.maximum(starts[1:], reached[:-1])).sum())
    return min(1.0, covered / (last - first))
