"""What a faster stage would buy under load: the measured tasks once more, through queues.

Each task keeps its legs, what each waited for, and the pipeline's own time between them. Each endpoint has so many
servers, first come, first served; a leg's service time is what was measured less the time it waited. The tasks begin
as they did: at their scheduled times, or when a slot of the closed loop is free. Run with the measured times this
must give the measured latencies again, and how far off it is stands with every prediction; a prediction is the ratio
of two such replays.

How many servers an endpoint has nobody tells. With the right number, service times of one stage are alike; with a
wrong one some of them hold waiting. So the number with the least spread is taken; where nothing ever waited, any
number fits, and the endpoint counts as never full.
"""

from __future__ import annotations

import heapq
from bisect import insort
from collections.abc import Mapping
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from relaymark.explain.legs import NONE, Floats, Ints, Run
from relaymark.explain.path import interval
from relaymark.explain.whatif import RESAMPLES, Prediction

MOST_TASKS = 5_000
"""Tasks that are replayed; of more, the first so many."""
_UNLIMITED = 1 << 30
_LOOKED_AT = 3_000  # legs by which the number of servers is judged
_MOST_SERVERS = 128


class Server(msgspec.Struct, kw_only=True, frozen=True):
    """An endpoint as it is replayed. ``servers`` None: it was never seen full."""

    endpoint: str
    servers: int | None
    most_in_flight: int
    waited: float  # share of its legs' time that was waiting


@dataclass(frozen=True)
class Model:
    """A run, ready to be replayed."""

    run: Run
    slots: int  # of a closed loop; 0: tasks begin at their times
    servers: list[Server]
    resource: list[int]  # of each leg: place among the servers, −1: none is shared
    service: list[float]  # ns of each leg
    waits: list[list[int]]  # of each leg: the legs it waited for
    delays: list[float]  # ns between those and its beginning
    tails: list[float]  # of each task: ns after its last leg
    begins: list[int]  # of each task
    first: list[int]  # of each task: its first leg; and one more at the end
    latency: Floats  # of each task, replayed as it was, ns
    error: float  # mean of those / the measured mean − 1


def model_of(run: Run, slots: int) -> Model:
    """Finds the servers and the service times; ``slots``: of a closed loop, 0 for an open one."""
    legs, tasks = run.legs, run.tasks
    count = min(len(tasks), MOST_TASKS)
    kept = int(np.searchsorted(legs.task, count))
    resource = np.full(kept, -1)
    service = (legs.ended - legs.began)[:kept].astype(np.float64)
    servers: list[Server] = []
    asks = np.array([kind == "llm" for kind in legs.kinds], bool)
    for place, endpoint in enumerate(legs.endpoints):
        rows = np.flatnonzero(legs.endpoint[:kept] == place)
        # Stages of ours tell their own queueing; requests to one endpoint share its servers.
        rows = rows[asks[legs.name[rows]]]
        if not len(rows) or not endpoint:
            continue
        number, times = _servers(legs.began[rows], legs.ended[rows], legs.name[rows])
        most = _most_in_flight(legs.began[rows], legs.ended[rows])
        whole = float(service[rows].sum())
        resource[rows] = len(servers)
        waited = 1 - float(times.sum()) / whole if whole else 0.0
        service[rows] = times
        servers.append(Server(endpoint=endpoint, servers=number, most_in_flight=most, waited=waited))
    firsts = np.searchsorted(legs.task[:kept], np.arange(count + 1)).tolist()
    waits, delays, tails = _structure(run, count, kept, firsts)
    begins = np.where(tasks.scheduled[:count] != NONE, tasks.scheduled[:count], tasks.began[:count])
    model = Model(
        run,
        slots,
        servers,
        resource.tolist(),
        service.tolist(),
        waits,
        delays,
        tails,
        begins.tolist(),
        firsts,
        np.zeros(count),
        0.0,
    )
    measured = (tasks.ended - np.where(tasks.scheduled != NONE, tasks.scheduled, tasks.began))[:count]
    latency = simulate(model, {})
    return replace(model, latency=latency, error=float(latency.mean() / measured.mean() - 1))


def predict(model: Model, factors: Mapping[str, float], what: str) -> Prediction:
    """How many times faster tasks become, with the pairs of replayed latencies drawn anew for its interval."""
    before, after = model.latency, simulate(model, factors)
    rng = np.random.default_rng(0)
    ratios: list[float] = []
    for _ in range(RESAMPLES):
        drawn = rng.integers(0, len(before), len(before))
        ratios.append(float(before[drawn].sum() / after[drawn].sum()))
    low, high = interval(np.array(ratios))
    speedup = float(before.sum() / after.sum())
    return Prediction(what=what, speedup=speedup, low=low, high=high, how="replay", factors=dict(factors))


def simulate(model: Model, factors: Mapping[str, float]) -> Floats:
    """Latency of each task in ns, with some stages so many times faster."""
    legs = model.run.legs
    divisor = [factors.get(name, 1.0) for name in legs.names]
    name = legs.name[: len(model.service)].tolist()
    service = [time / divisor[which] for time, which in zip(model.service, name, strict=True)]
    count = len(model.begins)
    free = [_UNLIMITED if server.servers is None else server.servers for server in model.servers]
    queues: list[list[tuple[int, int]]] = [[] for _ in model.servers]  # (order, leg)
    followers: list[list[int]] = [[] for _ in service]
    open_waits = [len(waits) for waits in model.waits]
    for leg, waits in enumerate(model.waits):
        for one in waits:
            followers[one].append(leg)
    ready_at = [0.0] * len(service)
    task_of = legs.task[: len(service)].tolist()
    left = [model.first[task + 1] - model.first[task] for task in range(count)]
    begun, done = [0.0] * count, [0.0] * count
    events: list[tuple[float, int, int, int]] = []  # time, order, what (0 task, 1 ready, 2 over), which
    order = 0
    waiting = iter(range(count))

    def push(time: float, what: int, which: int) -> None:
        nonlocal order
        order += 1
        heapq.heappush(events, (time, order, what, which))

    origin = float(model.begins[0]) if count else 0.0
    if model.slots:
        for task in [task for _, task in zip(range(model.slots), waiting, strict=False)]:
            push(0.0, 0, task)
    else:
        for task in waiting:
            push(model.begins[task] - origin, 0, task)
    while events:
        now, _, what, which = heapq.heappop(events)
        if what == 0:
            begun[which] = now
            legs_of = range(model.first[which], model.first[which + 1])
            for leg in legs_of:
                if not model.waits[leg]:
                    push(now + model.delays[leg], 1, leg)
            if not legs_of:
                done[which] = now + model.tails[which]
                following = next(waiting, None) if model.slots else None
                if following is not None:
                    push(done[which], 0, following)
        elif what == 1:
            place = model.resource[which]
            if place >= 0:
                if not free[place]:
                    order += 1
                    queues[place].append((order, which))
                    continue
                free[place] -= 1
            push(now + service[which], 2, which)
        else:
            place = model.resource[which]
            if place >= 0:
                if queues[place]:
                    _, following_leg = queues[place].pop(0)
                    push(now + service[following_leg], 2, following_leg)
                else:
                    free[place] += 1
            for leg in followers[which]:
                open_waits[leg] -= 1
                ready_at[leg] = max(ready_at[leg], now)
                if not open_waits[leg]:
                    push(ready_at[leg] + model.delays[leg], 1, leg)
            task = task_of[which]
            left[task] -= 1
            if not left[task]:
                done[task] = now + model.tails[task]
                following = next(waiting, None) if model.slots else None
                if following is not None:
                    push(done[task], 0, following)
    return np.maximum(1.0, np.array(done) - np.array(begun))


def _structure(run: Run, count: int, kept: int, firsts: list[int]) -> tuple[list[list[int]], list[float], list[float]]:
    """What each leg waited for: the legs that had ended before it and after which none had ended that began later."""
    legs, tasks = run.legs, run.tasks
    began, ended = legs.began[:kept].tolist(), legs.ended[:kept].tolist()
    waits: list[list[int]] = [[] for _ in range(kept)]
    delays = [0.0] * kept
    tails = [0.0] * count
    task_began, task_ended = tasks.began.tolist(), tasks.ended.tolist()
    for task in range(count):
        mine = range(firsts[task], firsts[task + 1])
        for leg in mine:
            before = [one for one in mine if one != leg and ended[one] <= began[leg]]
            if before:
                # Whoever ended before the latest beginning among them was waited for through that one.
                latest = max(began[one] for one in before)
                waits[leg] = [one for one in before if ended[one] > latest]
                delays[leg] = float(began[leg] - max(ended[one] for one in waits[leg]))
            else:
                delays[leg] = float(max(0, began[leg] - task_began[task]))
        last = max((ended[leg] for leg in mine), default=task_began[task])
        tails[task] = float(max(0, task_ended[task] - last))
    return waits, delays, tails


def _most_in_flight(began: Ints, ended: Ints) -> int:
    times = np.concatenate((began, ended))
    steps = np.concatenate((np.ones(len(began), np.int64), -np.ones(len(ended), np.int64)))
    order = np.lexsort((steps, times))
    return int(np.cumsum(steps[order]).max(initial=0))


def _servers(began: Ints, ended: Ints, name: Ints) -> tuple[int | None, Floats]:
    """The number of servers with which service times are most alike, and those times; None: never full."""
    most = _most_in_flight(began, ended)
    whole = (ended - began).astype(np.float64)
    if most < 2:
        return None, whole
    some = slice(0, _LOOKED_AT)
    best, number = _spread(whole[some], name[some]), None
    for tried in range(1, min(most, _MOST_SERVERS + 1)):
        spread = _spread(_service_times(began[some], ended[some], tried), name[some])
        # Fewer servers explain some of any spread: only a clear gain counts.
        if spread < 0.9 * best:
            best, number = spread, tried
    return number, whole if number is None else _service_times(began, ended, number)


def _service_times(began: Ints, ended: Ints, number: int) -> Floats:
    """What of each leg's time is service when there are so many servers: from when one of them was free."""
    order = np.argsort(began, kind="stable")
    starts, ends = began[order].tolist(), ended[order].tolist()
    taken: list[int] = []  # ends of the legs before, ascending
    times = np.empty(len(starts))
    for place, (start, end) in enumerate(zip(starts, ends, strict=True)):
        still = len(taken) - number
        # The leg got a server when all but `number` − 1 of those before it had ended.
        begin = max(start, taken[still]) if still >= 0 else start
        times[place] = max(1, end - min(begin, end))
        insort(taken, end)
    back = np.empty(len(starts))
    back[order] = times
    return back


def _spread(times: Floats, name: Ints) -> float:
    """Coefficient of variation within stages, over all legs."""
    total = 0.0
    for one in np.unique(name):
        some = times[name == one]
        if len(some) > 1 and some.mean() > 0:
            total += len(some) * float((some.std() / some.mean()) ** 2)
    return total / len(times)
