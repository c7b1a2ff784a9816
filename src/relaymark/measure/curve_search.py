"""The highest load that still meets its bounds, from as few noisy runs as will do.

Each run at a load x says how far the worst bound was missed: its margin m = ln(measured/bound), below 0 where it holds,
with a standard error σ. The margin never falls with load, and the load sought is where it crosses 0. Three facts are
used together:

- a run whose margin is clearly on one side (|m| > 2.5σ) closes the bracket from that side for good;
- inside the bracket a straight line of m over ln x is fitted to the runs near the crossing, weighted by 1/σ², with the
  scatter between runs estimated from what the line leaves over; it gives the crossing and its error;
- where the line has nothing to hold on to (an endpoint that falls off an edge), the bracket is halved.

So a sharp edge costs as many runs as halving does, and a slow rise in noise is averaged, not decided by one lucky run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np

_CLEAR = 2.5  # standard errors that make a run's verdict final
_NEAR = 0.35  # runs within this of the crossing, in ln x, carry the line
_STEP = 4.0  # the load is multiplied by this while nothing has failed
_REACH = 0.12  # how fast a run's say in the line falls with its distance, in ln x: margins bend
_SCATTER = 0.03  # between runs, of a margin, until the runs themselves tell
_SMALLEST_INSIDE = 0.15  # a guess stays this share of the bracket away from its ends
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class Trial:
    """One run: its load, margin ln(measured/bound) of the worst bound, and the margin's standard error."""

    level: float
    margin: float
    sigma: float


@dataclass(frozen=True, slots=True)
class Found:
    """What a search came to.

    ``level``: the highest load that holds; ``None`` where not even the lowest does. ``low`` and ``high`` hold the true
    one with 95 % confidence (``high`` is ``None`` where nothing failed). ``confidence``: that ``level`` is within the
    tolerance of the true one.
    """

    level: float | None
    low: float | None
    high: float | None
    confidence: float
    runs: int
    why: str


@dataclass(slots=True)
class SloSearch:
    """Asks for one load after another: ``next`` names it, ``add`` takes its result, until ``next`` gives ``None``.

    Args:
        start: First load to try.
        lowest: No load below this is tried.
        highest: Nor above this.
        whole: Whether loads are whole numbers (concurrency) or any (rates).
        tolerance: How near the answer should be, as a share.
        most_runs: When to stop all the same.
    """

    start: float
    lowest: float
    highest: float
    whole: bool = True
    tolerance: float = 0.03
    most_runs: int = 12
    trials: list[Trial] = field(default_factory=list[Trial])
    _widths: list[float] = field(default_factory=list[float])

    def add(self, level: float, margin: float, sigma: float) -> None:
        """Takes the result of a run."""
        self.trials.append(Trial(level, margin, max(sigma, 1e-6)))
        low, high = self.bracket()
        if low is not None and high is not None:
            self._widths.append(math.log(high / low))

    def next(self) -> float | None:
        """The load to try next; ``None`` when the answer is as near as it was asked to be, or the runs are used up."""
        if len(self.trials) >= self.most_runs:
            return None
        if not self.trials:
            return self._round(self.start)
        low, high = self.bracket()
        if high is None:
            top = max(trial.level for trial in self.trials)
            if low is not None and low >= self.highest:
                return None
            return self._round(min(top * _STEP, self.highest)) if low is not None else self._again(top)
        if low is None:
            bottom = min(trial.level for trial in self.trials)
            if high <= self.lowest:
                return None
            return self._round(max(bottom / _STEP, self.lowest)) if bottom > self.lowest else self._again(bottom)
        return self._inside(low, high)

    def bracket(self) -> tuple[float | None, float | None]:
        """The highest load that clearly holds and the lowest that clearly does not, above it."""
        scatter = self._scatter()
        clear = [(trial, trial.margin / math.hypot(trial.sigma, scatter)) for trial in self.trials]
        high = min((trial.level for trial, z in clear if z > _CLEAR), default=None)
        low = max(
            (trial.level for trial, z in clear if z < -_CLEAR and (high is None or trial.level < high)), default=None
        )
        return low, high

    def found(self) -> Found:
        """The answer so far."""
        low, high = self.bracket()
        runs = len(self.trials)
        if high is None and not any(trial.margin > 0 for trial in self.trials):
            top = max((trial.level for trial in self.trials), default=None)
            return Found(top, top, None, 1.0 if top else 0.0, runs, "every load that was tried holds")
        if low is None and high is not None and high <= self.lowest:
            return Found(None, None, high, 1.0, runs, "not even the lowest load holds")
        line = self._line(low, high)
        bounds = (low or self.lowest, high or self.highest)
        adjacent = self.whole and low is not None and high is not None and high - low <= 1
        if line is None or adjacent:
            return self._from_bracket(low, high, runs)
        at, error = line
        level = self._round(min(max(math.exp(at), bounds[0]), bounds[1]))
        # The lower bound never lies above the level, nor the upper below: the bracket may be tighter than the line.
        ends = (max(math.exp(at - 1.96 * error), bounds[0]), min(math.exp(at + 1.96 * error), bounds[1]))
        sure = 2 * _NORMAL.cdf(math.log1p(self.tolerance) / max(error, 1e-9)) - 1
        why = "the runs around it agree" if error <= math.log1p(self.tolerance) / 1.96 else "the runs were used up"
        return Found(level, min(ends[0], level), max(ends[1], level), sure, runs, why)

    def _from_bracket(self, low: float | None, high: float | None, runs: int) -> Found:
        if low is None:
            return Found(None, None, high, 0.5, runs, "the lowest load could not be told from one that holds")
        if high is None:
            return Found(low, low, None, 0.5, runs, "no load clearly fails")
        decided = self._decided(low, high)
        width = math.log(high / low)
        sure = 1.0 if decided else min(1.0, 2 * math.log1p(self.tolerance) / width)
        why = "the next load up fails" if decided else "the runs were used up"
        return Found(low, low, high, sure * (2 * _NORMAL.cdf(_CLEAR) - 1), runs, why)

    def _decided(self, low: float | None, high: float | None) -> bool:
        if low is None or high is None:
            return False
        return high / low <= 1 + self.tolerance or (self.whole and high - low <= 1)

    def _inside(self, low: float, high: float) -> float | None:
        if self._decided(low, high):
            return None
        line = self._line(low, high)
        if line is not None:
            at, error = line
            inside = math.log(low) <= at <= math.log(high)
            near = sum(1 for trial in self.trials if abs(math.log(trial.level) - at) < _NEAR)
            if inside and near >= 5 and error <= math.log1p(self.tolerance) / 1.96:
                return None
        slow = len(self._widths) >= 3 and self._widths[-1] > 0.6 * self._widths[-3]
        unclear = self._unclear(low, high)
        width = math.log(high / low)
        if line is None and unclear:
            # On the crossing, and nothing to draw a line through: look to either side of it.
            beside = math.log(unclear[-1].level / low) + (0.1 if len(unclear) % 2 else -0.1)
            return self._between(low, high, min(max(beside / width, 0.05), 0.95))
        if line is None or (slow and not unclear):
            return self._between(low, high, 0.5)
        share = (line[0] - math.log(low)) / width
        if unclear:
            # Runs at the crossing alone tell its height, not its slope: take turns beside it.
            share += (0.12, -0.12, 0.0)[len(self.trials) % 3] * min(1.0, 0.4 / width)
        return self._between(low, high, min(max(share, _SMALLEST_INSIDE), 1 - _SMALLEST_INSIDE))

    def _between(self, low: float, high: float, share: float) -> float:
        level = low * (high / low) ** share
        if not self.whole:
            return level
        tried = {trial.level for trial in self.trials}
        inner = list(range(int(low) + 1, math.ceil(high)))
        fresh = [each for each in inner if each not in tried]
        # A line asks for its own crossing again where that is unclear; else a load that was not tried is worth more.
        again = self._unclear(low, high) and self._line(low, high) is not None
        return float(min(inner if again or not fresh else fresh, key=lambda each: abs(each - level)))

    def _again(self, level: float) -> float | None:
        """An unclear run at the edge is repeated twice at most."""
        return self._round(level) if sum(trial.level == level for trial in self.trials) < 3 else None

    def _unclear(self, low: float, high: float) -> list[Trial]:
        return [trial for trial in self.trials if low < trial.level < high]

    def _line(self, low: float | None, high: float | None) -> tuple[float, float] | None:
        """Where the fitted margin crosses 0 (ln of the load), and its standard error; ``None`` without a slope."""
        fit = self._fit(low, high)
        if fit is None:
            return None
        at, slope, variance = fit
        return (at, math.sqrt(variance) / slope) if slope > 0 else None

    def _fit(self, low: float | None, high: float | None) -> tuple[float, float, float] | None:
        """Weighted line through the runs near the crossing: (crossing, slope, variance of its height there)."""
        centre = self._guess(low, high)
        near = [
            trial for trial in self.trials if abs(math.log(trial.level) - centre) < _NEAR and abs(trial.margin) < 1.0
        ]
        # Clear runs of one side only: the line would have to guess what lies across the edge.
        both = {trial.margin > 0 for trial in near}
        clear = low is not None and high is not None and not self._unclear(low, high)
        if len({trial.level for trial in near}) < 2 or (len(both) < 2 and clear):
            return None
        x = np.array([math.log(trial.level) for trial in near])
        m = np.array([trial.margin for trial in near])
        scatter = self._scatter()
        weight = np.array([1.0 / (trial.sigma**2 + scatter**2) for trial in near])
        nearest = float(np.abs(x - centre).min())
        weight *= np.exp(-(((np.abs(x - centre) - nearest) / _REACH) ** 2) / 2)
        mean_x, mean_m = float(np.average(x, weights=weight)), float(np.average(m, weights=weight))
        spread = float((weight * (x - mean_x) ** 2).sum())
        slope = float((weight * (x - mean_x) * (m - mean_m)).sum()) / spread if spread > 0 else 0.0
        if slope <= 0.2:
            return None
        at = mean_x - mean_m / slope
        left = m - mean_m - slope * (x - mean_x)
        misfit = max(1.0, float((weight * left**2).sum()) / max(len(near) - 2, 1))
        variance = misfit * (1.0 / float(weight.sum()) + (at - mean_x) ** 2 / spread)
        return at, slope, variance

    def _guess(self, low: float | None, high: float | None) -> float:
        """ln of the load where the runs change sides: amid those that could not be told, else amid the bracket."""
        if low is not None and high is not None and (unclear := self._unclear(low, high)):
            return sum(math.log(trial.level) for trial in unclear) / len(unclear)
        under = [trial.level for trial in self.trials if trial.margin <= 0 and (high is None or trial.level < high)]
        over = [trial.level for trial in self.trials if trial.margin > 0 and (low is None or trial.level > low)]
        ends = (max(under, default=low or self.lowest), min(over, default=high or self.highest))
        return (math.log(ends[0]) + math.log(ends[1])) / 2

    def _scatter(self) -> float:
        """Standard deviation of margins between runs of one load, from loads that were run more than once."""
        groups: dict[float, list[float]] = {}
        for trial in self.trials:
            groups.setdefault(trial.level, []).append(trial.margin)
        squares = [(m - sum(ms) / len(ms)) ** 2 for ms in groups.values() if len(ms) > 1 and max(ms) < 1 for m in ms]
        freedom = sum(len(ms) - 1 for ms in groups.values() if len(ms) > 1 and max(ms) < 1)
        # two runs' worth of the usual scatter, so that two lucky twins do not make it vanish
        return math.sqrt((sum(squares) + 2 * _SCATTER**2) / (freedom + 2))

    def _round(self, level: float) -> float:
        bounded = min(max(level, self.lowest), self.highest)
        return float(round(bounded)) if self.whole else bounded
