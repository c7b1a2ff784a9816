"""From the exact order statistics of a metric to the Distribution that is shown."""

from __future__ import annotations

from collections.abc import Iterable

from relaymark.measure.definitions import Metric
from relaymark.measure.exact import ExactQuantiles
from relaymark.measure.percentiles import QUANTILES, SLOW_SIDE, interval_ranks
from relaymark.measure.summary import Distribution, Quantile


def failure_weight(metric: Metric, statistics: ExactQuantiles, good: int, failed: int) -> int:
    """The weight at which ``failed`` legs count beside ``good`` ones, in the statistics' units.

    One each for a metric with one value a request. A failed leg's gaps and tokens are not known: it counts with the
    mean weight of a successful one, so that the share of failures is the same in every metric of a stage.
    """
    if not metric.failures or not failed:
        return 0
    if metric.per == "request":
        return failed * statistics.unit
    return round(failed * statistics.total / good) if good else 0


def shown_quantiles(metric: Metric) -> tuple[float, ...]:
    """The percentiles given for a metric: the usual five, then those of the slow side where higher is better."""
    return (*QUANTILES, *SLOW_SIDE) if metric.better == "higher" else QUANTILES


def wanted_ranks(metric: Metric, statistics: ExactQuantiles, failures: int, extra: Iterable[float] = ()) -> set[int]:
    """Every rank that :func:`distribution` and :func:`with_failures` (at ``extra`` too) will ask for."""
    ranks: set[int] = set()
    for q in (*shown_quantiles(metric), *extra):
        ranks.add(statistics.rank(q))
        ranks.add(_failure_rank(metric, statistics, failures, q))
        ranks.update(rank for rank in _interval(metric, statistics, q) if rank is not None)
    return ranks


def distribution(metric: Metric, statistics: ExactQuantiles, failures: int) -> Distribution:
    """The distribution after both passes. ``statistics`` must not be empty."""

    def quantile(q: float) -> Quantile:
        low, high = _interval(metric, statistics, q)
        return Quantile(
            q=q,
            value=statistics.at(statistics.rank(q)),
            low=None if low is None else statistics.at(low),
            high=None if high is None else statistics.at(high),
            with_failures=with_failures(metric, statistics, failures, q),
        )

    return Distribution(
        metric=metric.key,
        unit=metric.unit,
        count=statistics.count,
        # the mean of equal values may come out a rounding error beside them
        mean=min(max(statistics.mean, statistics.minimum), statistics.maximum),
        minimum=statistics.minimum,
        maximum=statistics.maximum,
        quantiles=[quantile(q) for q in shown_quantiles(metric)],
        curve=statistics.curve(),
    )


def with_failures(metric: Metric, statistics: ExactQuantiles, failures: int, q: float) -> float | None:
    """The ``q`` quantile with failures as the worst value: +inf (``None``), or 0 where higher is better."""
    position = _failure_rank(metric, statistics, failures, q)
    return 0.0 if position <= 0 else statistics.at(position)


def _failure_rank(metric: Metric, statistics: ExactQuantiles, failures: int, q: float) -> int:
    position = statistics.rank(q, failures)
    return position - failures if metric.better == "higher" else position


def _interval(metric: Metric, statistics: ExactQuantiles, q: float) -> tuple[int | None, int | None]:
    if metric.per != "request":
        return None, None
    return interval_ranks(statistics.total, q)
