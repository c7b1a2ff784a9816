"""Exact weighted order statistics of a stream too long to keep, in two passes and a few hundred kilobytes.

Pass 1 adds up the weight in fixed bins, a thousandth wide. Then the ranks wanted are known to lie in a few of them, and
pass 2 keeps only the values of those. A kept buffer that grows is folded to its distinct values: stamps are whole
nanoseconds, so a bin at 20 ms holds at most some 20,000 of them however many gaps fall there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from relaymark.measure.percentiles import Floats, Ints, rank

_MANTISSA_BITS = 10  # bins per octave = 2**10, so a bin is 0.05–0.1 % wide
_SHIFT = 52 - _MANTISSA_BITS
_ONE = int(np.float64(1.0).view(np.int64)) >> _SHIFT
_FOLD = 1 << 18


def bins_of(values: Floats) -> Ints:
    """The bin of each value: linear below 1, logarithmic above, mirrored for negative ones; never decreasing."""
    magnitude = np.abs(values)
    magnitude += 1.0
    bins = magnitude.view(np.int64)
    bins >>= _SHIFT
    bins -= _ONE
    # a value below 0 and a value above 0 never share a bin: −0.0001 would otherwise be drawn at +0.0001
    return np.where(values < 0, ~bins, bins) if values.size and values.min() < 0 else bins


def _upper_edge(index: Ints) -> Floats:
    """The value at which a bin ends."""
    positive = ((np.where(index >= 0, index, 0) + 1 + _ONE) << _SHIFT).view(np.float64) - 1.0
    negative = 1.0 - ((np.where(index < 0, ~index, 0) + _ONE) << _SHIFT).view(np.float64)
    return np.where(index >= 0, positive, negative)


def _with_weight(values: Floats, weights: Ints | None) -> tuple[Floats, Ints | None]:
    """Leaves out what weighs nothing: it has no bin of its own and is no minimum."""
    if weights is None or weights.all():
        return values, weights
    return values[weights > 0], weights[weights > 0]


class ExactQuantiles:
    """Order statistics, mean, minimum and maximum of a stream seen twice in any order and any division.

    Values are finite float64; weights are int64 ≥ 0 in units of 1/``unit`` (``unit`` is only used for reporting).

    >>> q = ExactQuantiles()
    >>> q.add(np.array([3.0, 1.0, 2.0]))
    >>> q.want([q.rank(0.5)])
    >>> q.collect(np.array([3.0, 1.0, 2.0]))
    >>> q.at(q.rank(0.5))
    2.0
    """

    def __init__(self, unit: int = 1) -> None:
        self.unit = unit
        self.total = 0  # weight, in units
        self.minimum = math.inf
        self.maximum = -math.inf
        self._sums: list[float] = []
        self._first = 0  # bin that _weights[0] stands for
        self._weights: Ints = np.zeros(0, np.int64)
        self._wanted: Ints = np.zeros(0, np.int64)
        self._is_wanted: np.ndarray = np.zeros(0, np.bool_)
        self._values: list[Floats] = []
        self._value_weights: list[Ints] = []
        self._kept = 0
        self._fold_at = _FOLD
        self._found: dict[int, float] = {}

    # pass 1

    def add(self, values: Floats, weights: Ints | None = None) -> None:
        """Counts ``values`` (1-d) with their ``weights`` (1-d, as long; ``None``: one each) in pass 1."""
        values, weights = _with_weight(values, weights)
        if not values.size:
            return
        bins = bins_of(values)
        low, high = int(bins.min()), int(bins.max())
        self._cover(low, high)
        # float sums of one call are exact: they stay under 2**53
        counted = np.bincount(bins - low, weights=weights).astype(np.int64)
        self._weights[low - self._first : high - self._first + 1] += counted
        self.total += int(counted.sum())
        self.minimum = min(self.minimum, float(values.min()))
        self.maximum = max(self.maximum, float(values.max()))
        self._sums.append(float(values.sum() if weights is None else np.dot(values, weights.astype(np.float64))))
        if len(self._sums) > 1000:
            self._sums = [math.fsum(self._sums)]

    def merge(self, other: ExactQuantiles) -> None:
        """Counts what ``other`` counted in pass 1. Pass 2 must then be given both's values."""
        if not other.total:
            return
        self._cover(other._first, other._first + other._weights.size - 1)
        at = other._first - self._first
        self._weights[at : at + other._weights.size] += other._weights
        self.total += other.total
        self.minimum = min(self.minimum, other.minimum)
        self.maximum = max(self.maximum, other.maximum)
        self._sums.extend(other._sums)

    def _cover(self, low: int, high: int) -> None:
        if not self._weights.size:
            self._first, self._weights = low, np.zeros(high - low + 1, np.int64)
            return
        before = max(0, self._first - low)
        after = max(0, high - (self._first + self._weights.size - 1))
        if before or after:
            self._weights = np.pad(self._weights, (before, after))
            self._first -= before

    # between the passes

    @property
    def count(self) -> int:
        """Total weight in whole numbers (tokens, for ITL)."""
        return round(self.total / self.unit)

    @property
    def mean(self) -> float:
        """Weighted mean; NaN when empty."""
        return math.fsum(self._sums) / self.total if self.total else math.nan

    def rank(self, q: float, failures: int = 0) -> int:
        """The rank to ask for with ``at``: ``ceil(q·weight)``, with ``failures`` units of weight more at +inf."""
        return rank(q, self.total + failures)

    def want(self, ranks: Iterable[int]) -> None:
        """Names the ranks (1 … total weight, others are ignored) that pass 2 shall find."""
        self._wanted = np.unique(np.array([r for r in ranks if 1 <= r <= self.total], np.int64))
        self._is_wanted = np.zeros(self._weights.size, np.bool_)
        self._is_wanted[np.searchsorted(np.cumsum(self._weights), self._wanted)] = True

    # pass 2

    def collect(self, values: Floats, weights: Ints | None = None) -> None:
        """Takes the same values as ``add`` did, in any order, keeping those in wanted bins."""
        values, weights = _with_weight(values, weights)
        if not values.size or not self._wanted.size:
            return
        kept = self._is_wanted[bins_of(values) - self._first]
        values = values[kept]
        self._values.append(values)
        self._value_weights.append(np.ones(values.size, np.int64) if weights is None else weights[kept])
        self._kept += values.size
        if self._kept > self._fold_at:
            self._fold()

    def _fold(self) -> None:
        values, weights = np.concatenate(self._values), np.concatenate(self._value_weights)
        order = np.argsort(values, kind="stable")
        values, weights = values[order], weights[order]
        starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
        self._values, self._value_weights = [values[starts]], [np.add.reduceat(weights, starts)]
        self._kept = starts.size
        self._fold_at = max(_FOLD, 2 * self._kept)

    def at(self, position: int) -> float | None:
        """The value at a rank that was wanted; ``None`` past the last (there it is +inf: only failures are left).

        Raises:
            KeyError: the rank was not named to :meth:`want`, or pass 2 did not give the values of pass 1.
        """
        if position > self.total or not self.total:
            return None
        if not self._found and self._kept:
            self._resolve()
        return self._found[position]

    def _resolve(self) -> None:
        self._fold()
        values, weights = self._values[0], self._value_weights[0]
        bins = bins_of(values) - self._first
        before_bin = np.cumsum(self._weights) - self._weights
        # weight below each kept value: that of the earlier bins, plus that of its own bin so far
        reached = np.cumsum(weights)
        opens = np.flatnonzero(np.concatenate([[True], bins[1:] != bins[:-1]]))
        own = np.repeat(reached[opens] - weights[opens], np.diff(np.append(opens, bins.size)))
        upto = before_bin[bins] + reached - own
        at = np.searchsorted(upto, self._wanted)
        self._found = {int(r): float(values[i]) for r, i in zip(self._wanted, at, strict=True) if i < values.size}

    # for drawing

    def curve(self, points: int = 200) -> list[tuple[float, float]]:
        """The cumulative distribution as at most ``points`` pairs (share of weight at or below, value), ascending.

        Values are bin edges, where the share is exact; the wanted ranks found in pass 2 are among the points.
        """
        if not self.total:
            return []
        filled = np.flatnonzero(self._weights)
        shares = np.cumsum(self._weights[filled]) / self.total
        edges = np.minimum(_upper_edge(filled + self._first), self.maximum)
        room = points - 2 - len(self._found)
        tails = np.array([0.99, 0.995, 0.998, 0.999, 0.9999])
        targets = np.concatenate([np.linspace(0, 1, max(2, room - tails.size)), tails])
        chosen = np.unique(np.minimum(np.searchsorted(shares, targets), filled.size - 1))
        drawn = {(0.0, self.minimum), (1.0, self.maximum)}
        drawn.update((float(shares[i]), float(edges[i])) for i in chosen)
        drawn.update((position / self.total, value) for position, value in self._found.items())
        return sorted(drawn)
