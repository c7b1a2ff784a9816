"""Scenarios of MLPerf Inference over samples made up to meet, or just miss, what they ask for."""

from __future__ import annotations

import numpy as np
import pytest

from relaymark.errors import ConfigError
from relaymark.measure.early_stopping import tolerated
from relaymark.measure.steady_samples import StageSamples
from relaymark.rules.scenario import judge_scenario

N = 2000


def samples(*, slow: int = 0, failed: int = 0, seconds: float = 700.0, n: int = N) -> StageSamples:
    """TTFT 400 ms and TPOT 20 ms, but for ``slow`` requests whose TTFT is 9 s; the first ``failed`` fail."""
    ttft = np.full(n, 400e6)
    ttft[n - slow :] = 9e9
    sent = (np.arange(n) * (seconds - 5) / n * 1e9).astype(np.int64)
    good = np.arange(n) >= failed
    values = {"ttft": ttft, "tpot": np.full(n, 20e6), "latency": ttft + 2e9, "osl": np.full(n, 100.0), "isl": ttft}
    return StageSamples(sent, sent + 5_000_000_000, good, values)


def test_a_server_run_may_be_late_as_often_as_early_stopping_allows() -> None:
    allowed = tolerated(N, 0.99)
    assert judge_scenario(samples(slow=allowed), "llama3.1-8b", "Server", "v6.1", {}).valid
    judged = judge_scenario(samples(slow=allowed + 1), "llama3.1-8b", "Server", "v6.1", {})
    assert [condition.what for condition in judged.conditions if not condition.met] == ["TTFT p99 ≤ 2000 ms"]
    # 1 % of 2,000 is 20: the confidence costs some of them
    assert allowed < 20


def test_interactive_is_stricter_and_failures_count_as_late() -> None:
    assert judge_scenario(samples(), "llama3.1-8b", "Interactive", "v6.1", {}).valid
    judged = judge_scenario(samples(failed=30), "llama3.1-8b", "Interactive", "v6.1", {})
    missed = {condition.what for condition in judged.conditions if not condition.met}
    assert missed == {"every query ends well", "TTFT p99 ≤ 500 ms", "TPOT p99 ≤ 30 ms"}


def test_a_short_run_of_few_queries_with_other_seeds() -> None:
    judged = judge_scenario(samples(seconds=60, n=400), "llama3.1-8b", "Server", "v6.1", {"schedule_rng_seed": 1})
    missed = {condition.what for condition in judged.conditions if not condition.met}
    assert "duration ≥ 600 s" in missed
    assert "queries ≥ 662" in missed
    assert "schedule_rng_seed 16159082839903944936" in missed


def test_single_stream_gives_the_estimate() -> None:
    judged = judge_scenario(samples(slow=10), "llama3.1-8b-edge", "SingleStream", "v6.1", {})
    assert judged.valid
    assert judged.result == pytest.approx(2400.0)
    few = judge_scenario(samples(n=63), "llama3.1-8b-edge", "SingleStream", "v6.1", {})
    assert few.result is None
    assert not few.valid


def test_offline_needs_the_whole_set() -> None:
    judged = judge_scenario(samples(), "llama3.1-8b", "Offline", "v6.1", {})
    assert "queries ≥ 13,368" in [condition.what for condition in judged.conditions if not condition.met]
    assert judged.result == pytest.approx(N / 700, rel=0.01)


def test_what_a_round_does_not_have() -> None:
    with pytest.raises(ConfigError, match="no scenario MultiStream"):
        judge_scenario(samples(), "llama3.1-8b", "MultiStream", "v6.1", {})
    with pytest.raises(ConfigError, match=r"has no 'llama3\.1-405b'"):
        judge_scenario(samples(), "llama3.1-405b", "Offline", "v6.1", {})
    assert judge_scenario(samples(), "llama3.1-405b", "Server", "v5.1", {}).unit == "queries/s"
