"""What the verdict is judged on."""

from __future__ import annotations

from dataclasses import dataclass

from relaymark.measure.health import Health
from relaymark.measure.inputs import Gates, StageInfo
from relaymark.measure.outcomes import Counts
from relaymark.measure.summary import ErrorBar, Stage

FLOOR_NS = 1e6
SHARE = 0.05
"""The client may distort a p99 by 5 % of it, or by 1 ms where that is more (design §5)."""


@dataclass(frozen=True)
class StageEvidence:
    """One stage. ``added_p99``: client-added latency of its own reads, ns; ``None`` where the kernel stamped none.
    ``added_low``: the lower end of its 95 % interval, which keeps two slow moments in a short stage from deciding.
    """

    stage: Stage
    info: StageInfo
    counts: Counts
    added_p99: float | None
    added_low: float | None
    withheld: bool

    def p99(self, metric: str) -> float | None:
        """The p99 of a metric over successes; ``None`` where there is none."""
        return quantile(self.stage, metric, 0.99)

    @property
    def distorted(self) -> tuple[str, float] | None:
        """The smallest p99 the client would distort: of TTFT and ITL for streams, else of latency."""
        streaming = [(name, self.p99(name)) for name in ("ttft", "itl")]
        found = [(name, value) for name, value in streaming if value is not None]
        value = self.p99("latency")
        if not found and value is not None:
            found = [("latency", value)]
        return min(found, key=lambda pair: pair[1], default=None)


@dataclass(frozen=True)
class Evidence:
    """The whole run."""

    stages: list[StageEvidence]
    health: Health
    error_bar: ErrorBar
    gates: Gates
    status: str
    crashed_workers: list[int]
    measured_ns: int  # first stage's begin to last stage's end


def quantile(stage: Stage, metric: str, q: float) -> float | None:
    """A percentile of a stage, by metric and q; ``None`` where it was not measured."""
    shown = stage.distributions.get(metric)
    return next((x.value for x in shown.quantiles if x.q == q), None) if shown else None


def bound_for(p99: float) -> float:
    """What the client may add to a metric with this p99."""
    return max(FLOOR_NS, SHARE * p99)


def ms(ns: float) -> str:
    """A time in ms with three figures: 0.123 ms, 12.3 ms, 1,230 ms."""
    value = ns / 1e6
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
    return f"{value:,.{digits}f} ms"


def percent(share: float) -> str:
    """A share as a percentage."""
    return f"{100 * share:.1f} %" if share < 0.1 else f"{100 * share:.0f} %"
