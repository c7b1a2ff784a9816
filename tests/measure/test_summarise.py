"""Whole summaries of small traces whose every number is known."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import msgspec
import pytest
from hand_built import MS, T0, S, beats, closed, failure, poisson, run_info, stream, trace
from hypothesis import given, settings
from hypothesis import strategies as st

from relaymark.measure.inputs import Slo
from relaymark.measure.summarise import summarise
from relaymark.measure.summary import Summary
from relaymark.trace import ChunkTokens, Outcome, TokenSource


def p(summary: Summary, metric: str, q: float, stage: int = 0) -> float | None:
    shown = summary.stages[stage].distributions[metric]
    return next(x.value for x in shown.quantiles if x.q == q)


def test_a_closed_loop() -> None:
    # ten requests one after the other, 100 ms each; TTFT 11 … 20 ms, then two tokens 20 ms apart
    legs = [stream(i, at=100 * i, chunks=(11 + i, 31 + i, 51 + i), end=100) for i in range(10)]
    summary = summarise(trace(legs), beats(1), run_info())
    stage = summary.stages[0]
    assert stage.requests == 10
    assert stage.outcomes == {"ok": 10}
    assert stage.duration == 1 * S
    assert stage.request_rate == 10.0
    assert stage.output_token_rate == 30.0
    assert stage.input_token_rate == 100.0
    assert (stage.prompt_tokens, stage.completion_tokens) == (100, 30)
    assert stage.offered_rate is None
    assert stage.goodput is None
    assert stage.unique_prompts == 10
    assert (stage.token_source, stage.itl_weights) == ("usage", "one")
    assert (stage.coalesced_share, stage.one_piece_share) == (0.0, 0.0)
    assert p(summary, "ttft", 0.5) == 15 * MS
    assert p(summary, "ttft", 0.9) == 19 * MS
    assert p(summary, "ttft", 0.99) == 20 * MS
    assert p(summary, "itl", 0.5) == 20 * MS
    assert stage.distributions["itl"].count == 20
    assert stage.distributions["ttft"].mean == 15.5 * MS
    median = stage.distributions["ttft"].quantiles[0]
    assert (median.low, median.high) == (12 * MS, 19 * MS)  # ranks 2 and 9 of ten
    assert stage.distributions["itl"].quantiles[0].low is None
    # TPOT of request i is (100 − 11 − i)/2 ms; p90 is the ninth smallest, that of request 1
    assert p(summary, "tpot", 0.9) == 44 * MS
    assert stage.tps_per_user == pytest.approx(1000 / 44)
    assert "send_lag" not in stage.distributions
    assert summary.verdict.valid, summary.verdict.reasons


def test_failures_are_counted_as_infinite_and_their_tokens_apart() -> None:
    legs = [stream(i, at=10 * i, chunks=(10 + i, 20 + i)) for i in range(8)]
    cut = stream(8, at=80, chunks=(10, 20, 30), tokens=None, source=ChunkTokens.NONE, token_source=TokenSource.NONE)
    cut.outcome, cut.error_message = Outcome.TRUNCATED, "cut short"
    legs += [cut, failure(9, at=90, error_type="overloaded")]
    stage = summarise(trace(legs), [], run_info()).stages[0]
    assert stage.outcomes == {"ok": 8, "truncated": 1, "http_error": 1}
    assert stage.completion_tokens == 16
    assert stage.partial_tokens == 3
    assert sorted(stage.errors) == [("cut short", 1), ("overloaded", 1)]
    ttft = {x.q: x for x in stage.distributions["ttft"].quantiles}
    assert ttft[0.5].value == 13 * MS
    assert ttft[0.5].with_failures == 14 * MS
    assert ttft[0.9].value == 17 * MS
    assert ttft[0.9].with_failures is None
    # each failure weighs as much as the mean of the eight successes: a fifth of all, as in TTFT
    itl = {x.q: x for x in stage.distributions["itl"].quantiles}
    assert itl[0.5].with_failures == 10 * MS
    assert itl[0.9].with_failures is None
    speed = {x.q: x for x in stage.distributions["tps_per_user"].quantiles}
    assert speed[0.1].with_failures == 0.0
    assert speed[0.9].with_failures == pytest.approx(100.0)


def test_an_open_loop_is_measured_to_its_planned_end_and_drain_counts() -> None:
    legs = [stream(i, at=100 * i, chunks=(10, 20), scheduled=T0 + (100 * i - 1) * MS) for i in range(10)]
    info = poisson(start_ns=T0 - 50 * MS, duration_ns=2 * S, offered_rate=5.0)
    stage = summarise(trace(legs), [], run_info(info)).stages[0]
    assert stage.duration == 2 * S
    assert stage.request_rate == 5.0
    assert stage.offered_rate == 5.0
    assert stage.distributions["send_lag"].maximum == 1 * MS
    late = stream(10, at=1000, chunks=(10, 2950), scheduled=T0 + 999 * MS)
    stage = summarise(trace([*legs, late]), [], run_info(info)).stages[0]
    assert stage.duration == 4 * S
    assert stage.request_rate == 11 / 4


def test_a_stage_that_was_cut_short_ends_with_its_last_leg() -> None:
    legs = [stream(i, at=100 * i, chunks=(10, 100), scheduled=T0 + 100 * i * MS) for i in range(10)]
    info = poisson(start_ns=T0, duration_ns=60 * S)
    assert summarise(trace(legs), [], run_info(info)).stages[0].duration == 60 * S
    for status in ("interrupted", "crashed", "running"):
        summary = summarise(trace(legs), [], run_info(info, status=status))
        assert summary.stages[0].request_rate == 10.0
        assert not summary.verdict.valid


def test_warm_up_is_left_out_and_stages_are_kept_apart() -> None:
    legs = [stream(i, at=10 * i, stage=i % 3, warmup=i % 3 == 0, chunks=(5 + i % 3, 9)) for i in range(30)]
    summary = summarise(trace(legs), [], run_info(closed(1), closed(2)))
    assert [stage.index for stage in summary.stages] == [1, 2]
    assert [stage.requests for stage in summary.stages] == [10, 10]
    assert p(summary, "ttft", 0.5, 0) == 6 * MS
    assert p(summary, "ttft", 0.5, 1) == 7 * MS


def test_a_leg_without_an_end_was_in_flight() -> None:
    stage = summarise(trace([stream(0), stream(1, ended=None)]), [], run_info()).stages[0]
    assert stage.requests == 1
    assert stage.in_flight_at_end == 1
    assert sum(stage.outcomes.values()) == 1


def test_goodput_and_slos() -> None:
    # TTFT 10 … 19 ms; one fails; one has a stalled gap
    legs = [stream(i, at=100 * i, chunks=(10 + i, 20 + i, 30 + i), end=100) for i in range(9)]
    legs[0] = stream(0, chunks=(10, 20, 90), end=100)
    legs.append(failure(9, at=900, end=100))
    slos = [
        Slo(text="ttft", metric="ttft", q=0.5, bound=15 * MS),
        Slo(text="itl", metric="itl", q=0.99, bound=10 * MS),
        Slo(text="fast", metric="tps_per_user", q=0.1, bound=1.0),
    ]
    stage = summarise(trace(legs), [], run_info(slos=slos)).stages[0]
    # TTFT ≤ 15 ms: requests 0 … 5; request 0 missed its own p99 of ITL
    assert stage.goodput == 5.0
    assert [slo.measured for slo in stage.slos] == [14 * MS, None, 0.0]
    assert [slo.met for slo in stage.slos] == [True, False, False]


def test_a_bound_on_what_was_not_measured_is_not_met() -> None:
    slos = [Slo(text="x", metric="tpot", q=0.9, bound=1e12)]
    legs = [stream(0, tokens=None, source=ChunkTokens.NONE)]
    stage = summarise(trace(legs), [], run_info(slos=slos)).stages[0]
    assert (stage.slos[0].measured, stage.slos[0].met, stage.goodput) == (None, False, None)


def test_buffered_streams_give_no_streaming_metrics() -> None:
    legs = [stream(i, at=10 * i, chunks=(50, 50, 50)) for i in range(4)]
    summary = summarise(trace(legs), [], run_info())
    stage = summary.stages[0]
    assert stage.one_piece_share == 1.0
    assert not {"ttft", "itl", "tpot", "chunk_gap", "stall", "tps_per_user"} & set(stage.distributions)
    assert "latency" in stage.distributions
    assert stage.tps_per_user is None
    assert all(point.ttft is None for point in stage.points)
    assert "not_incremental" in [reason.code for reason in summary.verdict.reasons]


def test_series_integrates_to_the_totals() -> None:
    legs = [stream(i, at=40 * i, chunks=(10, 60, 110)) for i in range(50)] + [failure(50, at=500, end=700)]
    stage = summarise(trace(legs), [], run_info()).stages[0]
    series = stage.series
    assert series is not None
    edges = [*(t * 1e9 for t in series.t), stage.duration]
    span = [(b - a) / 1e9 for a, b in pairwise(edges)]
    assert len(span) <= 121
    assert sum(c * s for c, s in zip(series.completed, span, strict=True)) == pytest.approx(50)
    assert sum(c * s for c, s in zip(series.failed, span, strict=True)) == pytest.approx(1)
    assert sum(c * s for c, s in zip(series.tokens, span, strict=True)) == pytest.approx(150)
    # request-seconds: 50 of 110 ms and one of 700 ms
    assert sum(c * s for c, s in zip(series.in_flight, span, strict=True)) == pytest.approx(6.2)


def test_points_take_every_failure_first_and_then_spread_evenly() -> None:
    legs = [stream(i, at=i) for i in range(3000)]
    for i in range(0, 3000, 30):
        legs[i] = failure(i, at=i)
    points = summarise(trace(legs, rows=500), [], run_info()).stages[0].points
    assert len(points) == 2000
    assert [point.outcome for point in points[:100]] == ["http_error"] * 100
    rest = [point.task_id for point in points[100:]]
    assert rest == sorted(rest)
    steps = [b - a for a, b in pairwise(rest)]
    assert max(steps) <= 4
    assert rest[0] < 4 and rest[-1] > 2995


def test_the_error_bar_is_of_every_read() -> None:
    legs = [stream(i, at=i, read_at=[1, 2], read_added=[1000 * i, 2000 * i]) for i in range(1, 51)]
    bar = summarise(trace(legs), beats(1, cpu=0.5, late=7), run_info()).error_bar
    everything = sorted([1000 * i for i in range(1, 51)] + [2000 * i for i in range(1, 51)])
    assert bar.source == "kernel"
    assert bar.reads == 100
    assert (bar.read_p50, bar.read_p99, bar.read_max) == (everything[49], everything[98], everything[99])
    assert bar.send_p99 is None
    assert bar.worker_cpu == pytest.approx(0.5)
    assert bar.clock_drift == 0.0


def test_without_kernel_stamps_the_error_bar_is_loop_lateness() -> None:
    bar = summarise(trace([stream(0, end=1000)]), beats(1, late=3 * MS), run_info()).error_bar
    assert (bar.source, bar.read_p50, bar.read_max) == ("loop", 3 * MS, 3 * MS)
    assert summarise(trace([stream(0)]), [], run_info()).error_bar.source == "none"


def test_an_empty_trace_is_a_summary_too() -> None:
    summary = summarise(trace([]), [], run_info())
    assert summary.stages[0].requests == 0
    assert summary.stages[0].distributions == {}
    assert [reason.code for reason in summary.verdict.reasons] == ["no_requests"]
    assert msgspec.json.decode(msgspec.json.encode(summary), type=Summary) == summary


def test_summary_and_definitions_load_without_numpy() -> None:
    code = (
        "import sys, relaymark.measure, relaymark.measure.summary, relaymark.measure.inputs; "
        "print(sorted({'numpy', 'pyarrow'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


leg_of = st.builds(
    lambda at, chunks, outcome, stage: (at, sorted(chunks), outcome, stage),
    st.integers(0, 500),
    st.lists(st.integers(1, 300), max_size=6),
    st.sampled_from(list(Outcome)),
    st.integers(0, 1),
)


@settings(deadline=None, max_examples=30)
@given(drawn=st.lists(leg_of, max_size=25), rows=st.integers(1, 30))
def test_whatever_happened_it_adds_up(drawn: list, rows: int) -> None:
    legs = []
    for i, (at, chunks, outcome, stage) in enumerate(drawn):
        legs.append(stream(i, at=at, chunks=chunks, end=max(chunks, default=0) + 1, stage=stage, outcome=outcome))
    summary = summarise(trace(legs, rows), [], run_info(closed(0), closed(1)))
    assert sum(stage.requests for stage in summary.stages) == len(legs)
    for stage in summary.stages:
        assert sum(stage.outcomes.values()) == stage.requests
        good = sum(count for name, count in stage.outcomes.items() if Outcome(name).good)
        assert len(stage.points) == stage.requests
        for shown in stage.distributions.values():
            for quantile in shown.quantiles:
                assert quantile.value is not None
                assert shown.minimum <= quantile.value <= shown.maximum
            assert shown.minimum <= shown.mean <= shown.maximum
        if "latency" in stage.distributions:
            assert stage.distributions["latency"].count == good
        if "itl" in stage.distributions:
            own = [leg for leg in legs if leg.stage == stage.index and leg.outcome.good and leg.chunk_at]
            after = sum(len(leg.chunk_at) - leg.chunk_at.count(leg.chunk_at[0]) for leg in own)
            assert stage.distributions["itl"].count == after
    assert msgspec.json.decode(msgspec.json.encode(summary), type=Summary) == summary
