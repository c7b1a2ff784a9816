"""LoadGen's early stopping against its documented values; the steady window on series whose shape is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relaymark.measure.early_stopping import estimate, holds, least_samples, least_under, tolerated
from relaymark.measure.steady import change_chance, find_steady, trend_chance

FLOORS = {0.5: 11, 0.75: 24, 0.8: 31, 0.9: 64, 0.95: 130, 0.97: 219, 0.99: 662, 0.999: 6636}
ALL_UNDER = {0.5: 7, 0.75: 17, 0.8: 21, 0.9: 44, 0.95: 90, 0.97: 152, 0.99: 459, 0.999: 4603}
SIZE = 200


@pytest.mark.parametrize("p", FLOORS)
def test_floors(p: float) -> None:
    assert least_samples(p) == FLOORS[p]
    assert not tolerated(FLOORS[p] - 1, p)
    assert tolerated(FLOORS[p], p) == 1
    # LoadGen starts at ⌈ln(1 − c)/ln(p)⌉ where none may exceed
    assert least_under(0, p) == ALL_UNDER[p] == math.ceil(math.log(0.01) / math.log(p))


def test_published_ranks() -> None:
    assert {p: tolerated(1007, p) for p in (0.5, 0.9, 0.95, 0.97, 0.99, 0.999)} == {
        0.5: 466, 0.9: 78, 0.95: 34, 0.97: 17, 0.99: 3, 0.999: 0,
    }  # fmt: skip
    assert tolerated(10_000, 0.99) == 77


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 4000), st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99]))
def test_the_two_forms_of_the_rule_agree(n: int, p: float) -> None:
    # n ≥ h(t) + t for t, and not for t + 1; LoadGen scans from t = 1
    t = tolerated(n, p)
    assert n < least_under(t + 1, p) + t + 1
    assert t == 0 or n >= least_under(t, p) + t
    assert t == 0 or holds(n, t, p)
    assert not holds(n, t + 1, p)


def test_the_sum_of_the_binomial_itself() -> None:
    def chance(n: int, t: int, q: float) -> float:
        return sum(math.comb(n, x) * q**x * (1 - q) ** (n - x) for x in range(t + 1))

    for n in (64, 130, 700, 1007):
        t = tolerated(n, 0.9)
        assert chance(n, t, 0.1) < 0.01 <= chance(n, t + 1, 0.1)


def test_estimate_is_an_observed_value_above_the_empirical_one() -> None:
    values = np.arange(1007, dtype=np.float64)
    assert estimate(values, 0.99) == 1007 - 3
    assert estimate(values, 0.999) is None
    assert estimate(values[:661], 0.99) is None
    assert estimate(values[:662], 0.99) == 661


def series(passes: int, level: np.ndarray, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    tpot = rng.lognormal(0, 0.05, SIZE * passes) * 5e6 * np.repeat(level, SIZE)
    issued = (np.arange(SIZE * passes) * 0.5e9).astype(np.int64)
    return issued, tpot, np.full(SIZE * passes, 1e9)


def test_a_flat_run_after_its_ramp_is_windowable() -> None:
    level = np.ones(12)
    level[0] = 1.6
    steady = find_steady(*series(12, level), SIZE, least_seconds=600)
    assert (steady.status, steady.verdict) == ("windowable", "STEADY STATE")
    assert (steady.first, steady.last, steady.samples) == (1, 11, (200, 2400))
    assert steady.seconds == pytest.approx(11 * 100 - 0.5)
    assert steady.state == {"tpot_p50": "Plateau", "tpot_p90": "Plateau"}


def test_a_run_that_keeps_slowing_down_is_not() -> None:
    steady = find_steady(*series(12, np.linspace(1, 2, 12)), SIZE, least_seconds=600)
    assert not steady.official
    assert steady.verdict == "drifting_up"


def test_a_run_of_too_few_passes() -> None:
    assert find_steady(*series(3, np.ones(3)), SIZE, least_seconds=0).status == "insufficient_passes"
    issued, tpot, latency = series(3, np.ones(3))
    assert find_steady(issued[:150], tpot[:150], latency[:150], SIZE, least_seconds=0).status == "partial_dataset"


def test_a_short_window_is_found_and_called_short() -> None:
    steady = find_steady(*series(8, np.ones(8)), SIZE, least_seconds=1200)
    assert steady.status == "insufficient_duration"
    assert steady.seconds is not None


def test_a_later_level_is_an_anomaly() -> None:
    # The ramp is cropped by the level of the back half, so the first level must last longer than that.
    level = np.ones(30)
    level[24:] = 1.3
    steady = find_steady(*series(30, level), SIZE, least_seconds=300, floor_seconds=300)
    assert steady.first == 1
    assert steady.last is not None and 23 <= steady.last <= 25  # the edge of a plateau is known to two passes
    assert (steady.status, steady.verdict) == ("windowable", "anomaly")
    assert steady.anomaly is not None
    assert "TPOT p50 moved from" in steady.anomaly


def test_trend_and_change_point_on_known_series() -> None:
    rng = np.random.default_rng(3)
    noise = rng.normal(0, 1, 40)
    assert trend_chance(noise) > 0.05
    assert trend_chance(noise + np.arange(40)) < 0.001
    assert trend_chance(np.ones(10)) == 1.0
    assert change_chance(np.concatenate([noise[:20], noise[20:] + 5])) < 0.001
    assert change_chance(noise) > 0.05
