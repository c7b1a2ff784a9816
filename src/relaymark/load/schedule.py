"""Schedules: what a stage sends and when, fixed before the run and the same for any number of workers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from relaymark.bench.spec import LoadSpec, StageSpec
from relaymark.errors import ConfigError
from relaymark.load.part import Part
from relaymark.load.patterns import Constant, Gamma, Offline, Pattern, Poisson, Ramp, Step, Times


@dataclass(frozen=True, kw_only=True, eq=False)
class Schedule:
    """One stage's schedule.

    Open loop: ``times`` holds every send time, ascending int64 ns from the stage's start; ``slots`` is 0.
    Closed loop: ``times`` is ``None`` and ``slots`` loops run until ``duration`` ns or ``requests``, whichever
    comes first.
    """

    stage: int
    name: str
    times: Times | None
    slots: int
    duration: int | None
    requests: int | None

    @property
    def open_loop(self) -> bool:
        """True where sending doesn't wait for responses."""
        return self.times is not None

    @property
    def offered_rate(self) -> float | None:
        """Requests per second that an open loop asks for over its duration; ``None`` where that has no meaning."""
        if self.times is None or len(self.times) == 0:
            return None
        if self.duration and (self.requests is None or len(self.times) < self.requests):
            return len(self.times) * 1e9 / self.duration
        span = int(self.times[-1]) - int(self.times[0])
        return (len(self.times) - 1) * 1e9 / span if span else None

    def sha256(self) -> str:
        """Return the SHA-256 (hex) of everything that decides what is sent when; the name isn't part of it."""
        digest = hashlib.sha256()
        digest.update(f"relaymark-schedule-1 {self.stage} {self.slots} {self.duration} {self.requests}\n".encode())
        if self.times is not None:
            digest.update(np.ascontiguousarray(self.times, dtype="<i8").data)
        return digest.hexdigest()


def pattern_of(load: LoadSpec) -> Pattern | None:
    """Return the arrival pattern of an open-loop ``load``; ``None`` for closed loops, which have no times."""
    match load:
        case LoadSpec(kind="single" | "concurrency"):
            return None
        case LoadSpec(kind="constant", rate=float(rate)):
            return Constant(rate=rate)
        case LoadSpec(kind="poisson", rate=float(rate)):
            return Poisson(rate=rate)
        case LoadSpec(kind="gamma", rate=float(rate), burstiness=float(burstiness)):
            return Gamma(rate=rate, burstiness=burstiness)
        case LoadSpec(kind="ramp", start=float(start), end=float(end)):
            return Ramp(start=start, end=end, arrivals_kind=load.arrivals or "poisson")
        case LoadSpec(kind="step", steps=steps) if steps:
            return Step(
                rates=tuple(step.rate for step in steps),
                holds=tuple(step.hold for step in steps),
                arrivals_kind=load.arrivals or "poisson",
            )
        case LoadSpec(kind="offline"):
            return Offline()
        case _:
            raise ConfigError(f"the {load.kind} load lacks a number it needs", where="load", mend="see the README")


def build_schedule(stage: StageSpec, seed: int) -> Schedule:
    """Return the schedule of ``stage``: the same for the same stage and seed, on any machine and worker count.

    Each stage draws from its own stream (PCG64 of SeedSequence(seed) with the stage's index as spawn key), so
    changing one stage leaves the others as they were.

    Raises:
        ConfigError: a limit is missing, or the schedule is absurdly long (above 50 million requests).
    """
    if stage.duration is None and stage.requests is None:
        raise ConfigError(
            "the stage has no limit", where=f"stage {stage.name}", mend="give a duration or a number of requests"
        )
    pattern = pattern_of(stage.load)
    times = None
    if pattern is not None:
        seeds = np.random.SeedSequence(entropy=seed, spawn_key=(stage.index & 0xFFFFFFFF,))
        times = pattern.arrivals(np.random.Generator(np.random.PCG64(seeds)), stage.duration, stage.requests)
        times.setflags(write=False)
    return Schedule(
        stage=stage.index,
        name=stage.name,
        times=times,
        slots=(stage.load.concurrency or 1) if pattern is None else 0,
        duration=stage.duration,
        requests=stage.requests,
    )


def schedule_sha256(schedules: Iterable[Schedule]) -> str:
    """Return one SHA-256 (hex) over the schedules of a run, in order."""
    digest = hashlib.sha256()
    for schedule in schedules:
        digest.update(schedule.sha256().encode())
    return digest.hexdigest()


def partition(schedule: Schedule, workers: int) -> list[Part]:
    """Return each worker's part: worker w owns every N-th task, or every N-th slot of a closed loop.

    A closed loop's ``requests`` are dealt out to its slots in turn, so that a worker's share follows its slots.
    A worker without a slot gets an empty part.
    """
    if schedule.times is not None:
        return [
            Part(
                stage=schedule.stage,
                worker=worker,
                workers=workers,
                open_loop=True,
                times=np.ascontiguousarray(schedule.times[worker::workers]).tobytes(),
                duration=schedule.duration,
                quota=len(range(worker, len(schedule.times), workers)),
            )
            for worker in range(workers)
        ]
    return [
        Part(
            stage=schedule.stage,
            worker=worker,
            workers=workers,
            open_loop=False,
            slots=len(range(worker, schedule.slots, workers)),
            all_slots=schedule.slots,
            duration=schedule.duration,
            quota=None if schedule.requests is None else _quota(schedule.requests, schedule.slots, worker, workers),
        )
        for worker in range(workers)
    ]


def _quota(requests: int, slots: int, worker: int, workers: int) -> int:
    """Return how many of ``requests``, dealt to ``slots`` in turn, fall to the slots of ``worker``."""
    rounds, rest = divmod(requests, slots)
    return rounds * len(range(worker, slots, workers)) + len(range(worker, rest, workers))
