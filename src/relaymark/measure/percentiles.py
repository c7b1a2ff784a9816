"""Percentiles as order statistics: which observed value, never a value in between.

The rank rule everywhere: the ``q`` quantile of n values is the one at 0-based index ``ceil(q·n) − 1`` of the sorted
values, clipped to 0 … n − 1; the least observed value such that a share of at least ``q`` is at or below it. (MLPerf's
own client uses ``floor(q·(n − 1))``; where the rules ask for that, the rules room asks for that rank.)
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

QUANTILES = (0.5, 0.9, 0.95, 0.99, 0.999)
"""The percentiles every distribution gives."""

SLOW_SIDE = (0.1, 0.05, 0.01)
"""Given beside them where higher is better: the slow requests are at the low end there."""


def rank(q: float, n: int) -> int:
    """1-based rank of the ``q`` quantile among ``n`` values: ``ceil(q·n)``, clipped to 1 … n.

    ``q`` is taken as the decimal it is written as: in binary, 0.07 × 100 is above 7 and would give rank 8.
    """
    return min(max(math.ceil(Fraction(str(q)) * n), 1), n)


def percentile(values: Floats, q: float, failures: int = 0) -> float | None:
    """The ``q`` quantile of ``values`` with ``failures`` more counted as +inf; ``None`` when that is +inf or empty."""
    n = values.size
    position = rank(q, n + failures)
    if n + failures == 0 or position > n:
        return None
    return float(np.partition(values, position - 1)[position - 1])


def weighted_percentile(values: Floats, weights: Ints, q: float) -> float | None:
    """Least value such that the values up to it hold at least ``q`` of the weight; ``None`` when there is no weight.

    With weights of one this is :func:`percentile`. Weights are whole numbers, so the answer does not depend on the
    order of summation.
    """
    total = int(weights.sum())
    if total <= 0:
        return None
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(reached, rank(q, total))])


def interval_ranks(n: int, q: float, confidence: float = 0.95) -> tuple[int | None, int | None]:
    """1-based ranks (l, u) of a distribution-free confidence interval of the ``q`` quantile.

    The number of values below the true quantile is Binomial(n, q), so [X(l), X(u)] covers it with probability
    P(l ≤ B ≤ u − 1). l is the largest rank with P(B ≤ l − 1) ≤ α/2, u the smallest with P(B ≤ u − 1) ≥ 1 − α/2;
    ``None`` where n is too small for that side to have a bound. Assumes independent values.
    Source: Hahn & Meeker, Statistical Intervals (1991), §5.2; David & Nagaraja, Order Statistics (2003), §7.1.
    """
    if n <= 0:
        return None, None
    alpha = 1.0 - confidence
    first, cumulative = _binomial_cdf(n, q)
    # cumulative[i] = P(B ≤ first + i); what lies outside the window is below 1e-20
    below = int(np.searchsorted(cumulative, alpha / 2, side="right"))  # number of window entries ≤ α/2
    low = first + below  # P(B ≤ low − 1) ≤ α/2
    above = int(np.searchsorted(cumulative, 1 - alpha / 2, side="left"))
    high = first + above + 1
    return (low if low >= 1 else None), (high if high <= n else None)


def _binomial_cdf(n: int, q: float) -> tuple[int, Floats]:
    """P(B ≤ k) for k in a window of ten standard deviations around n·q, from the exact log-probabilities."""
    reach = math.ceil(10 * math.sqrt(n * q * (1 - q))) + 20
    first, last = max(0, math.floor(n * q) - reach), min(n, math.ceil(n * q) + reach)
    k = np.arange(first, last, dtype=np.float64)
    steps = np.log((n - k) / (k + 1)) + math.log(q / (1 - q))  # log P(k + 1) − log P(k)
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    masses = np.exp(logs - logs.max())
    return first, np.cumsum(masses / masses.sum())
