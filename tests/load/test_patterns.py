"""The statistics of schedules, with fixed seeds and bounds far outside what chance allows."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest

from relaymark.bench import LoadSpec, StageSpec, StepSpec
from relaymark.errors import ConfigError
from relaymark.load import build_schedule

S = 10**9


def stage(index: int = 0, *, duration: int | None = None, requests: int | None = None, **load: Any) -> StageSpec:
    return StageSpec(index=index, name="test", load=LoadSpec(**load), duration=duration, requests=requests)


def times(spec: StageSpec, seed: int = 7) -> np.ndarray:
    found = build_schedule(spec, seed).times
    assert found is not None
    assert found.dtype == np.int64
    assert np.all(np.diff(found) >= 0)
    return found


def kolmogorov(values: np.ndarray, cdf: np.ndarray) -> float:
    """Largest distance of the empirical distribution from ``cdf`` (given at the sorted values)."""
    steps = np.arange(len(values) + 1) / len(values)
    return float(max(np.max(steps[1:] - cdf), np.max(cdf - steps[:-1])))


def test_constant_is_exact_and_starts_at_zero() -> None:
    assert times(stage(kind="constant", rate=4.0, duration=2 * S)).tolist() == [k * S // 4 for k in range(8)]
    thirds = times(stage(kind="constant", rate=3.0, requests=4))
    assert thirds.tolist() == [0, 333_333_333, 666_666_667, S]


def test_constant_doesnt_drift_over_a_million_arrivals() -> None:
    found = times(stage(kind="constant", rate=7.0, requests=1_000_001))
    assert found[700_000] == 100_000 * S
    assert len(times(stage(kind="constant", rate=7.0, duration=100_000 * S))) == 700_000


def test_poisson_gaps_are_exponential() -> None:
    found = times(stage(kind="poisson", rate=50.0, duration=2000 * S))
    count = len(found)
    assert abs(count - 100_000) < 5 * 100_000**0.5
    gaps = np.sort(np.diff(found, prepend=0) / S)
    assert abs(gaps.std() / gaps.mean() - 1) < 0.02
    assert kolmogorov(gaps, 1 - np.exp(-50.0 * gaps)) < 2.5 / count**0.5


def test_poisson_counts_in_windows_have_variance_equal_to_mean() -> None:
    found = times(stage(kind="poisson", rate=50.0, duration=2000 * S))
    counts = np.bincount(found // S, minlength=2000)
    assert abs(counts.var() / counts.mean() - 1) < 0.2
    assert abs(float(np.corrcoef(counts[:-1], counts[1:])[0, 1])) < 0.12


@pytest.mark.parametrize("burstiness", [0.25, 0.5, 1.0, 4.0, 100.0])
def test_gamma_gaps_have_the_promised_variation(burstiness: float) -> None:
    found = times(stage(kind="gamma", rate=50.0, burstiness=burstiness, duration=2000 * S))
    gaps = np.diff(found, prepend=0) / S
    assert abs(gaps.mean() * 50 - 1) < 5 * (1 / burstiness) ** 0.5 / len(gaps) ** 0.5 + 0.001
    assert gaps.std() / gaps.mean() == pytest.approx(burstiness**-0.5, rel=0.03)


def test_gamma_with_burstiness_one_is_poisson() -> None:
    gaps = np.sort(np.diff(times(stage(kind="gamma", rate=10.0, burstiness=1.0, requests=50_000))) / S)
    assert kolmogorov(gaps, 1 - np.exp(-10.0 * gaps)) < 2.5 / len(gaps) ** 0.5


@pytest.mark.parametrize(("start", "end"), [(1.0, 199.0), (199.0, 1.0), (100.0, 100.0)])
@pytest.mark.parametrize("arrivals", ["poisson", "constant"])
def test_a_ramp_follows_its_line(start: float, end: float, arrivals: str) -> None:
    length = 500
    found = times(stage(kind="ramp", start=start, end=end, arrivals=arrivals, duration=length * S))
    expected = length * (start + end) / 2
    assert abs(len(found) - expected) <= (5 * expected**0.5 if arrivals == "poisson" else 1)
    seconds = found / S
    cdf = (start * seconds + (end - start) * seconds**2 / (2 * length)) / expected
    bound = 2.5 / len(found) ** 0.5 if arrivals == "poisson" else 1.5 / len(found)
    assert kolmogorov(seconds, cdf) < bound
    assert found[-1] < length * S


def test_a_steady_ramp_spaced_evenly_is_the_constant_load() -> None:
    ramp = times(stage(kind="ramp", start=4.0, end=4.0, arrivals="constant", duration=10 * S))
    assert ramp.tolist() == times(stage(kind="constant", rate=4.0, duration=10 * S)).tolist()


def test_steps_hold_each_rate_for_its_time() -> None:
    steps = (StepSpec(rate=10.0, hold=200 * S), StepSpec(rate=40.0, hold=100 * S), StepSpec(rate=5.0, hold=400 * S))
    found = times(stage(kind="step", steps=steps, arrivals="poisson", duration=700 * S))
    counts = np.histogram(found / S, bins=[0, 200, 300, 700])[0]
    for count, expected in zip(counts, (2000, 4000, 2000), strict=True):
        assert abs(count - expected) < 5 * expected**0.5
    even = times(stage(kind="step", steps=steps, arrivals="constant", duration=700 * S))
    assert np.histogram(even / S, bins=[0, 200, 300, 700])[0].tolist() == [2000, 4000, 2000]


def test_steps_can_be_cut_short() -> None:
    steps = (StepSpec(rate=10.0, hold=10 * S), StepSpec(rate=1000.0, hold=10 * S))
    assert len(times(stage(kind="step", steps=steps, arrivals="constant", duration=10 * S))) == 100


def test_offline_sends_everything_at_the_start() -> None:
    assert times(stage(kind="offline", requests=500)).tolist() == [0] * 500


@pytest.mark.parametrize(
    "load",
    [
        {"kind": "constant", "rate": 33.0},
        {"kind": "poisson", "rate": 33.0},
        {"kind": "gamma", "rate": 33.0, "burstiness": 0.3},
    ],
)
def test_a_longer_run_begins_with_the_shorter_one(load: dict[str, Any]) -> None:
    long = times(stage(duration=3000 * S, **load))
    for cut in (1, 10, 997):
        short = times(stage(duration=cut * S, **load))
        assert short.tolist() == long[long < cut * S].tolist()
    assert times(stage(requests=1234, **load)).tolist() == long[:1234].tolist()
    assert times(stage(requests=1234, duration=3000 * S, **load)).tolist() == long[:1234].tolist()


def test_a_longer_last_step_keeps_what_was_before_it() -> None:
    def steps(last: int) -> np.ndarray:
        levels = (StepSpec(rate=10.0, hold=100 * S), StepSpec(rate=30.0, hold=last * S))
        return times(stage(kind="step", steps=levels, arrivals="poisson", duration=(100 + last) * S))

    short, long = steps(50), steps(500)
    assert short.tolist() == long[long < 150 * S].tolist()


@pytest.mark.parametrize(
    "load",
    [
        {"kind": "poisson", "rate": 20.0},
        {"kind": "gamma", "rate": 20.0, "burstiness": 0.5},
        {"kind": "ramp", "start": 1.0, "end": 20.0},
        {"kind": "step", "steps": (StepSpec(rate=20.0, hold=60 * S),)},
    ],
)
def test_a_seed_decides_everything_and_stages_draw_apart(load: dict[str, Any]) -> None:
    first = build_schedule(stage(duration=60 * S, **load), 1)
    assert first.sha256() == build_schedule(stage(duration=60 * S, **load), 1).sha256()
    assert first.sha256() != build_schedule(stage(duration=60 * S, **load), 2).sha256()
    other_stage = times(stage(1, duration=60 * S, **load), 1)
    assert first.times is not None
    assert first.times.tolist() != other_stage.tolist()


def test_a_known_schedule_never_changes() -> None:
    """The published schedule of (seed 0, 4/s, 60 s): a change here breaks the repeating of old runs."""
    found = times(stage(kind="poisson", rate=4.0, duration=60 * S), seed=0)
    digest = hashlib.sha256(found.astype("<i8").tobytes()).hexdigest()
    assert (len(found), digest[:16]) == (238, "0a7b7e51bef5c92a")


@pytest.mark.parametrize(
    "load",
    [
        {"kind": "poisson", "rate": 1e6, "duration": 60 * S},
        {"kind": "constant", "rate": 1e7, "duration": 10**6 * S},
        {"kind": "gamma", "rate": 1.0, "burstiness": 2.0, "requests": 10**12},
        {"kind": "ramp", "start": 1.0, "end": 1e6, "duration": 10**4 * S},
        {"kind": "step", "steps": (StepSpec(rate=1e6, hold=10**3 * S),), "duration": 10**12},
        {"kind": "offline", "requests": 10**9},
    ],
)
def test_an_absurd_load_is_refused_at_once(load: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="50,000,000"):
        build_schedule(stage(**load), 0)


def test_a_stage_without_limit_is_refused() -> None:
    for load in ({"kind": "single", "concurrency": 1}, {"kind": "poisson", "rate": 1.0}, {"kind": "offline"}):
        with pytest.raises(ConfigError):
            build_schedule(stage(**load), 0)


def test_a_very_slow_load_stays_within_int64() -> None:
    for load in ({"kind": "poisson", "rate": 1e-6}, {"kind": "constant", "rate": 1e-6}):
        assert times(stage(requests=100_000, **load))[-1] > 0
        assert len(times(stage(duration=10 * S, **load))) <= 1
