"""MLPerf's early stopping: what a percentile is at most, with 99 % confidence, from a run that was cut short.

LoadGen's rule (mlcommons/inference, ``loadgen/early_stopping``). Of n samples, t may exceed the true p-percentile with
probability P[Bin(n, 1 − p + d) ≤ t]; where that is below 1 − c, the t-th largest sample is not below the percentile,
with confidence c. LoadGen writes it as the least number h of samples under the limit for each t: n ≥ h(t) + t is the
same condition. Samples count as independent, which turns of one conversation are not.
"""

from __future__ import annotations

import math

import numpy as np

from relaymark.measure.percentiles import Floats

CONFIDENCE = 0.99


def tolerated(n: int, p: float, *, confidence: float = CONFIDENCE, tolerance: float = 0.0) -> int:
    """The most samples t ≥ 1 that may lie above the limit among ``n``; 0 where ``n`` is below the floor.

    ``p`` in (0, 1). For p = 0.9 and n = 1007 it is 78; for p = 0.99 and n = 10000 it is 77.
    """
    q = 1.0 - p + tolerance
    if n < 1 or not 0 < q < 1:
        return 0
    first, cumulative = _binomial_cdf(n, q)
    # cumulative[i] = P(B ≤ first + i), rising: the last entry below 1 − c
    most = first + int(np.searchsorted(cumulative, 1.0 - confidence, side="left")) - 1
    return most if most >= 1 else 0


def least_samples(p: float, *, confidence: float = CONFIDENCE, tolerance: float = 0.0) -> int:
    """The floor: the fewest samples that give an estimate at all. p90: 64, p99: 662, p99.9: 6636."""
    low, high = 1, 2
    while not tolerated(high, p, confidence=confidence, tolerance=tolerance):
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        enough = tolerated(middle, p, confidence=confidence, tolerance=tolerance)
        low, high = (low, middle) if enough else (middle, high)
    return high


def least_under(t: int, p: float, *, confidence: float = CONFIDENCE, tolerance: float = 0.0) -> int:
    """LoadGen's h(t): the fewest samples under the limit beside ``t`` ≥ 0 above it. p90: h(0) = 44; p99: h(0) = 459."""
    q = 1.0 - p + tolerance

    def passes(h: int) -> bool:
        first, cumulative = _binomial_cdf(h + t, q)
        place = t - first
        chance = 0.0 if place < 0 else float(cumulative[min(place, cumulative.size - 1)])
        return chance < 1.0 - confidence

    low, high = 0, 1
    while not passes(high):
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if passes(middle) else (middle, high)
    return high


def estimate(values: Floats, p: float, *, confidence: float = CONFIDENCE) -> float | None:
    """The SingleStream estimate of the ``p`` percentile: the t-th largest value, never below the empirical one.

    ``None`` where there are fewer values than :func:`least_samples`.
    """
    t = tolerated(values.size, p, confidence=confidence)
    if not t:
        return None
    place = values.size - t
    return float(np.partition(values, place)[place])


def holds(n: int, over: int, p: float, *, confidence: float = CONFIDENCE, tolerance: float = 0.0) -> bool:
    """The Server form: whether ``over`` of ``n`` queries above the target latency still show that p of them meet it."""
    return n - over >= least_under(over, p, confidence=confidence, tolerance=tolerance)


def _binomial_cdf(n: int, q: float) -> tuple[int, Floats]:
    """P(B ≤ k) of Bin(n, q) for k in a window around n·q. What lies below the window is less than 10⁻²⁰."""
    spread = math.sqrt(n * q * (1 - q))
    first = max(0, math.floor(n * q - 14 * spread) - 30)
    last = min(n, math.ceil(n * q + 8 * spread) + 30)
    start = (
        math.lgamma(n + 1) - math.lgamma(first + 1) - math.lgamma(n - first + 1)
        + first * math.log(q) + (n - first) * math.log1p(-q)
    )  # fmt: skip
    k = np.arange(first, last, dtype=np.float64)
    steps = np.log((n - k) / (k + 1)) + math.log(q / (1 - q))
    return first, np.cumsum(np.exp(start + np.concatenate([[0.0], np.cumsum(steps)])))
