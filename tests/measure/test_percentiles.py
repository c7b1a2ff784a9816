"""Order statistics against sorting everything, and confidence intervals against published tables."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relaymark.measure.exact import ExactQuantiles, bins_of
from relaymark.measure.percentiles import interval_ranks, percentile, rank, weighted_percentile

values_of = st.lists(
    st.one_of(
        st.integers(-(10**12), 10**12).map(float),
        st.floats(-1e15, 1e15, allow_nan=False),
        st.sampled_from([0.0, -0.0, 1.0, 20e6, 20e6 + 1, 1e-9, -1e-9]),
    ),
    min_size=1,
    max_size=80,
)
quantile_of = st.sampled_from([0.001, 0.01, 0.07, 0.5, 0.9, 0.95, 0.99, 0.999])


@pytest.mark.parametrize(
    ("q", "n", "expected"),
    [
        (0.5, 1, 1),
        (0.5, 4, 2),
        (0.5, 5, 3),
        (0.99, 100, 99),
        (0.99, 101, 100),
        (0.9, 10, 9),
        (0.07, 100, 7),
        (0.29, 100, 29),
    ],
)
def test_rank_is_the_ceiling_of_the_decimal_product(q: float, n: int, expected: int) -> None:
    assert rank(q, n) == expected


def test_percentile_is_an_observed_value_and_failures_are_infinite() -> None:
    values = np.array([40.0, 10.0, 30.0, 20.0])
    assert percentile(values, 0.5) == 20.0
    assert percentile(values, 0.9) == 40.0
    assert percentile(values, 0.8, failures=1) == 40.0  # rank 4 of 5
    assert percentile(values, 0.9, failures=1) is None  # rank 5 of 5 is the failure
    assert percentile(np.array([]), 0.5) is None


@settings(deadline=None)
@given(values=values_of, q=quantile_of, data=st.data())
def test_weights_repeat_values(values: list[float], q: float, data: st.DataObject) -> None:
    weights = data.draw(st.lists(st.integers(0, 5), min_size=len(values), max_size=len(values)))
    repeated = np.repeat(values, weights)
    expected = percentile(repeated, q) if repeated.size else None
    assert weighted_percentile(np.array(values), np.array(weights, np.int64), q) == expected


@settings(deadline=None)
@given(values=values_of, data=st.data())
def test_two_passes_find_every_rank_that_sorting_finds(values: list[float], data: st.DataObject) -> None:
    size = st.lists(st.integers(0, 1 << 22), min_size=len(values), max_size=len(values))
    weights = data.draw(st.one_of(st.none(), size))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(values)), max_size=4)))
    whole = np.array(values)
    weighed = None if weights is None else np.array(weights, np.int64)
    parts = list(zip([0, *cuts], [*cuts, len(values)], strict=True))

    found = ExactQuantiles()
    for a, b in parts:
        found.add(whole[a:b], None if weighed is None else weighed[a:b])
    counted = np.ones(len(values), np.int64) if weighed is None else weighed
    total = int(counted.sum())
    assert found.total == total
    qs = [0.001, 0.25, 0.5, 0.9, 0.99, 0.999]
    found.want(found.rank(q) for q in qs)
    for a, b in reversed(parts):
        found.collect(whole[a:b], None if weighed is None else weighed[a:b])
    for q in qs:
        assert found.at(found.rank(q)) == weighted_percentile(whole, counted, q)
    if total:
        present = whole[counted > 0]
        assert (found.minimum, found.maximum) == (present.min(), present.max())
        assert found.mean == pytest.approx(float(np.average(whole, weights=counted)), rel=1e-9, abs=1e-3)


def test_merging_counts_both_streams() -> None:
    left, right, both = ExactQuantiles(), ExactQuantiles(), ExactQuantiles()
    a, b = np.arange(0.0, 1000.0), np.arange(5e6, 5.001e6)
    left.add(a)
    right.add(b)
    both.merge(left)
    both.merge(right)
    both.merge(ExactQuantiles())
    both.want([both.rank(0.25), both.rank(0.75)])
    for values in (b, a):
        both.collect(values)
    everything = np.concatenate([a, b])
    assert both.at(both.rank(0.25)) == percentile(everything, 0.25)
    assert both.at(both.rank(0.75)) == percentile(everything, 0.75)
    assert both.mean == pytest.approx(everything.mean())


def test_memory_stays_small_when_every_value_falls_in_one_bin() -> None:
    rng = np.random.default_rng(1)
    parts = [20e6 + rng.integers(0, 2000, 50_000).astype(np.float64) for _ in range(40)]
    found = ExactQuantiles()
    for part in parts:
        found.add(part)
    found.want([found.rank(0.5), found.rank(0.99)])
    for part in parts:
        found.collect(part)
    everything = np.concatenate(parts)
    assert found.at(found.rank(0.99)) == percentile(everything, 0.99)
    held = sum(values.nbytes for values in found._values) + found._weights.nbytes
    assert held < 200_000  # of 16 MB


@settings(deadline=None)
@given(values=values_of)
def test_bins_never_decrease(values: list[float]) -> None:
    ordered = np.sort(np.array(values))
    assert (np.diff(bins_of(ordered)) >= 0).all()


@settings(deadline=None)
@given(values=values_of)
def test_the_curve_rises_from_the_minimum_to_the_maximum(values: list[float]) -> None:
    found = ExactQuantiles()
    found.add(np.array(values))
    found.want([found.rank(0.5)])
    found.collect(np.array(values))
    curve = found.curve()
    shares, heights = [share for share, _ in curve], [height for _, height in curve]
    assert len(curve) <= 200
    assert curve[0] == (0.0, min(values)) and curve[-1][1] == max(values) and curve[-1][0] == 1.0
    assert shares == sorted(shares)
    assert heights == sorted(heights)


def test_a_curve_of_many_values_has_at_most_200_points() -> None:
    values = np.random.default_rng(0).lognormal(17, 1, 100_000)
    found = ExactQuantiles()
    found.add(values)
    curve = found.curve()
    assert 100 < len(curve) <= 200
    for share, value in curve[1:-1:10]:
        assert np.mean(values <= value) == pytest.approx(share, abs=1e-4)


@pytest.mark.parametrize(
    ("n", "q", "expected"),
    [
        # 95 % intervals of the median, e.g. Conover, Practical Nonparametric Statistics, table A3
        (6, 0.5, (1, 6)),
        (10, 0.5, (2, 9)),
        (20, 0.5, (6, 15)),
        (5, 0.5, (None, None)),  # 1 − 2·0.5⁵ = 0.9375 < 0.95
    ],
)
def test_interval_of_the_median_matches_tables(n: int, q: float, expected: tuple[int | None, int | None]) -> None:
    assert interval_ranks(n, q) == expected


@settings(deadline=None, max_examples=60)
@given(n=st.integers(1, 300), q=st.sampled_from([0.01, 0.1, 0.5, 0.9, 0.99]))
def test_interval_is_the_tightest_that_covers(n: int, q: float) -> None:
    def cdf(k: int) -> float:
        return math.fsum(math.comb(n, i) * q**i * (1 - q) ** (n - i) for i in range(k + 1))

    low, high = interval_ranks(n, q)
    if low is None:
        assert cdf(0) > 0.025
    else:
        assert cdf(low - 1) <= 0.025 < cdf(low)
    if high is None:
        assert cdf(n - 1) < 0.975
    else:
        assert cdf(high - 2) < 0.975 <= cdf(high - 1)


def test_interval_of_a_large_sample_is_the_normal_one() -> None:
    low, high = interval_ranks(1_000_000, 0.99)
    spread = 1.96 * math.sqrt(1e6 * 0.99 * 0.01)
    assert low == pytest.approx(990_000 - spread, abs=3)
    assert high == pytest.approx(990_000 + spread, abs=3)
