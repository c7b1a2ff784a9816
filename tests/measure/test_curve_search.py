"""The search for the highest load, on systems whose knee is known and whose runs are noisy."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from relaymark.measure.curve_search import SloSearch

Truth = Callable[[float], float]
WITHIN, BETWEEN = 0.02, 0.02


def edge(knee: float) -> Truth:
    """As many slots as the knee: one more waits a whole service time."""
    return lambda load: -2.0 if load <= knee else 0.8 + math.log(load / knee)


def shallow_edge(knee: float) -> Truth:
    return lambda load: -0.3 if load <= knee else 0.1 + 2 * math.log(load / knee)


def queue(knee: float) -> Truth:
    """M/M/1: latency 1/(1 − load/capacity), the bound at five times the empty system's."""
    capacity = knee / 0.8
    return lambda load: -math.log(1 - load / capacity) - math.log(5) if load < 0.999 * capacity else 3.0


def rise(knee: float) -> Truth:
    return lambda load: 4 * math.log(load / knee)


def search(truth: Truth, seed: int, *, whole: bool = True, start: float = 4) -> SloSearch:
    rng = random.Random(seed)
    found = SloSearch(start=start, lowest=1 if whole else 0.05, highest=4096, whole=whole)
    while (level := found.next()) is not None:
        found.add(level, truth(level) + rng.gauss(0, math.hypot(WITHIN, BETWEEN)), WITHIN)
    return found


@pytest.mark.parametrize("system", [edge, shallow_edge, queue, rise])
@pytest.mark.parametrize("knee", [50, 200, 613])
def test_the_knee_within_three_percent_in_twelve_runs_for_every_seed(
    system: Callable[[float], Truth], knee: int
) -> None:
    for seed in range(20):
        found = search(system(knee), seed).found()
        assert found.runs <= 12
        assert found.level is not None
        assert abs(math.log(found.level / knee)) <= math.log(1.03), (seed, found)
        assert found.low is not None
        assert found.low <= found.level


@pytest.mark.parametrize("knee", [1, 7, 12, 32])
def test_a_sharp_edge_at_a_whole_number_is_found_exactly(knee: int) -> None:
    for seed in range(20):
        found = search(edge(knee), seed).found()
        assert found.level == knee
        assert found.confidence > 0.95
        assert "next load up fails" in found.why


def test_rates_need_not_be_whole() -> None:
    for seed in range(20):
        found = search(queue(3.7), seed, whole=False, start=1).found()
        assert found.runs <= 12
        assert found.level is not None
        assert abs(math.log(found.level / 3.7)) <= math.log(1.03)


def test_it_says_when_no_load_holds_and_when_all_do() -> None:
    none = search(lambda load: 2.0, 0).found()
    assert none.level is None
    assert "not even the lowest" in none.why
    every = search(lambda load: -2.0, 0).found()
    assert (every.level, every.high) == (4096, None)
    assert "every load" in every.why


def test_a_start_above_the_knee_is_no_trouble() -> None:
    for seed in range(20):
        assert search(edge(7), seed, start=256).found().level == 7


def test_a_slow_rise_is_averaged_and_the_error_told() -> None:
    """Noise of 2.8 % on a margin that rises as slowly as the load: no single run can decide it."""
    inside = 0
    for seed in range(40):
        found = search(lambda load: math.log(load / 200), seed).found()
        assert found.level is not None
        assert found.high is not None
        assert found.low is not None
        assert abs(math.log(found.level / 200)) < 0.06
        inside += found.low <= 200 <= found.high
    assert inside >= 34  # a 95 % interval, forty times
