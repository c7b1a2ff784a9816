"""What the workers' heartbeats say of the client as an instrument: CPU, loop lateness, clocks, back-pressure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from relaymark.measure.percentiles import rank
from relaymark.measure.rates import Window
from relaymark.trace import Heartbeat

SATURATED = 0.95
"""Share of one core from which a worker counts as saturated: an event loop has one."""

STEP_NS = 1_000_000
SLEW = 500e-6
"""A wall clock being slewed gains or loses at most 500 ppm (adjtime, ntpd); what moves more than that was stepped."""


@dataclass
class Health:
    """Heartbeats added up. Shares are of one core; times ns. ``None``: no heartbeat told.

    ``saturated_longest``/``saturated_total``: the longest unbroken saturated stretch of a worker and the worst worker's
    sum of them. ``step``: the largest move of the wall clock against the monotonic one, beyond slewing, between two
    heartbeats. ``drift``: the largest such move over the run. ``late``: loop lateness, the largest of each interval.
    """

    beats: int = 0
    worker_cpu: float | None = None
    saturated_longest: int = 0
    saturated_total: int = 0
    step: int = 0
    drift: float | None = None
    late: list[int] = field(default_factory=list[int])
    backpressure: int = 0
    in_flight: int = 0  # at the last heartbeat of each worker
    never_sent: int = 0  # tasks due that had neither ended nor were in flight at the last heartbeat

    def late_at(self, q: float) -> float | None:
        """The ``q`` quantile of the intervals' largest loop lateness."""
        return float(sorted(self.late)[rank(q, len(self.late)) - 1]) if self.late else None


def read_health(beats: Iterable[Heartbeat], window: Window) -> Health:
    """Reads the heartbeats of every worker, in any mixture of workers but each worker's own in order.

    CPU and lateness count only in intervals that lie at least half within ``window``: start-up and the decoding
    after the run may use a whole core without harm.
    """
    health = Health()
    last: dict[int, Heartbeat] = {}
    first: dict[int, Heartbeat] = {}
    unbroken: dict[int, int] = {}
    total: dict[int, int] = {}
    for beat in beats:
        health.beats += 1
        before = last.get(beat.worker)
        last[beat.worker] = beat
        if before is None:
            first[beat.worker] = beat
            continue
        elapsed = beat.mono_ns - before.mono_ns
        if elapsed <= 0:
            continue
        moved = abs(beat.wall_offset_ns - before.wall_offset_ns)
        if moved > STEP_NS + SLEW * elapsed:
            health.step = max(health.step, moved)
        middle = before.mono_ns + elapsed // 2
        if not window.begin <= middle <= window.end:
            unbroken[beat.worker] = 0
            continue
        health.late.append(beat.loop_late_ns)
        share = (beat.cpu_ns - before.cpu_ns) / elapsed
        health.worker_cpu = max(share, health.worker_cpu or 0.0)
        if share >= SATURATED:
            unbroken[beat.worker] = unbroken.get(beat.worker, 0) + elapsed
            total[beat.worker] = total.get(beat.worker, 0) + elapsed
            health.saturated_longest = max(health.saturated_longest, unbroken[beat.worker])
        else:
            unbroken[beat.worker] = 0
    for worker, beat in last.items():
        moved = float(beat.wall_offset_ns - first[worker].wall_offset_ns)
        if health.drift is None or abs(moved) > abs(health.drift):
            health.drift = moved
        health.backpressure += beat.backpressure
        health.in_flight += beat.in_flight
        health.never_sent += max(0, beat.due - beat.ended - beat.in_flight)
    health.saturated_total = max(total.values(), default=0)
    return health
