"""Each metric on legs whose answer can be worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hand_built import MS, T0, failure, piece, stream
from hypothesis import given, settings
from hypothesis import strategies as st

from relaymark.errors import TraceError
from relaymark.measure import metrics
from relaymark.measure.arrivals import TOKEN_UNIT, arrivals
from relaymark.trace import ChunkTokens


def test_times_of_one_request() -> None:
    leg = stream(chunks=(50, 70, 100), end=105)
    leg.scheduled, leg.started, leg.connected = T0 - 2 * MS, T0 - 5 * MS, T0 - 1 * MS
    leg.first_byte, leg.first_answer_token = T0 + 40 * MS, T0 + 70 * MS
    found = piece(leg)
    assert metrics.ttft(found) == [50 * MS]
    assert metrics.ttft_scheduled(found) == [52 * MS]
    assert metrics.ttfat(found) == [70 * MS]
    assert metrics.ttfb(found) == [40 * MS]
    assert metrics.latency(found) == [105 * MS]
    assert metrics.latency_scheduled(found) == [107 * MS]
    assert metrics.send_lag(found) == [2 * MS]
    assert metrics.connect(found) == [4 * MS]
    # (105 − 50) / (3 − 1): until the end of the response, not until its last token
    assert metrics.tpot(found) == [27.5 * MS]
    assert metrics.tps_per_user(found) == [pytest.approx(1000 / 27.5)]


def test_stamps_beyond_a_float_keep_their_nanoseconds() -> None:
    leg = stream()
    assert leg.sent is not None and leg.sent > 2**53
    leg.first_token = leg.sent + 1
    assert metrics.ttft(piece(leg)) == [1.0]


def test_absent_times_are_absent() -> None:
    found = piece(failure(1, sent=None, started=None, ended=None))
    for name, metric in metrics.PER_LEG.items():
        if name != "prompt_tokens":
            assert np.isnan(metric(found)).all(), name


def test_streaming_metrics_are_of_streams_only() -> None:
    found = piece(stream(streamed=False))
    for metric in (metrics.ttft, metrics.ttfat, metrics.tpot, metrics.tps_per_user):
        assert np.isnan(metric(found)).all()
    assert metrics.latency(found) == [90 * MS]


def test_tpot_counts_tokens_after_the_first_event_by_what_is_known_of_it() -> None:
    usage = stream(chunks=(50, 70, 100), end=100, tokens=11, source=ChunkTokens.USAGE, listed=(3, 4, 4))
    average = stream(chunks=(50, 70, 100), end=100, tokens=12, source=ChunkTokens.AVERAGE)
    unknown = stream(tokens=None, source=ChunkTokens.NONE)
    single = stream(chunks=(50,), end=60)
    found = metrics.tpot(piece(usage, average, unknown, single))
    assert found[0] == 50 * MS / 8
    assert found[1] == 50 * MS / 8
    assert np.isnan(found[2:]).all()


def test_itl_splits_an_arrival_over_its_tokens() -> None:
    leg = stream(chunks=(50, 70, 100), source=ChunkTokens.USAGE, listed=(2, 1, 3), tokens=6)
    gaps = arrivals(piece(leg)).token_gaps
    assert gaps.value.tolist() == [20 * MS, 10 * MS]
    assert gaps.weight is not None
    assert (gaps.weight / TOKEN_UNIT).tolist() == [1, 3]


def test_events_of_one_read_are_one_arrival() -> None:
    leg = stream(chunks=(50, 50, 80, 80, 80, 90))
    found = arrivals(piece(leg))
    assert found.chunk_gaps.value.tolist() == [30 * MS, 10 * MS]
    gaps = found.token_gaps
    assert gaps.weight is not None
    assert gaps.value.tolist() == [10 * MS, 10 * MS]
    assert (gaps.weight / TOKEN_UNIT).tolist() == [3, 1]
    assert metrics.stall(found, 1).value.tolist() == [30 * MS]


def test_itl_with_average_weights() -> None:
    # 8 tokens in 4 events: 2 each; the second arrival holds two events
    leg = stream(chunks=(50, 90, 90, 100), source=ChunkTokens.AVERAGE, tokens=8)
    gaps = arrivals(piece(leg)).token_gaps
    assert gaps.weight is not None
    assert gaps.value.tolist() == [10 * MS, 5 * MS]
    assert (gaps.weight / TOKEN_UNIT).tolist() == [4, 2]


def test_an_event_without_a_token_passes_its_wait_on() -> None:
    leg = stream(chunks=(50, 60, 90), source=ChunkTokens.USAGE, listed=(1, 0, 2), tokens=3)
    found = arrivals(piece(leg))
    gaps = found.token_gaps
    assert gaps.weight is not None
    assert gaps.value.tolist() == [20 * MS]
    assert (gaps.weight / TOKEN_UNIT).tolist() == [2]
    assert found.chunk_gaps.value.tolist() == [10 * MS, 30 * MS]


def test_gaps_never_cross_from_one_leg_to_the_next() -> None:
    # the second leg opens with the stamp that the first closed with
    found = arrivals(piece(stream(1, chunks=(50, 70)), stream(2, chunks=(), end=10), stream(3, chunks=(70, 75))))
    assert found.chunk_gaps.value.tolist() == [20 * MS, 5 * MS]
    assert found.chunk_gaps.leg.tolist() == [0, 2]
    assert metrics.stall(found, 3).leg.tolist() == [0, 2]


def test_without_token_counts_there_is_no_itl_but_there_are_gaps() -> None:
    found = arrivals(piece(stream(source=ChunkTokens.NONE, tokens=None)))
    assert found.token_gaps.value.size == 0
    assert found.chunk_gaps.value.size == 2


def test_a_trace_whose_lists_disagree_is_refused() -> None:
    leg = stream(source=ChunkTokens.USAGE, listed=(1, 1))
    with pytest.raises(TraceError):
        arrivals(piece(leg))


def test_server_timings() -> None:
    leg = stream(server_prefill_ns=30 * MS, server_decode_ns=400 * MS, server_completion_tokens=20)
    assert metrics.server_prefill(piece(leg)) == [30 * MS]
    assert metrics.server_decode_rate(piece(leg)) == [50.0]


gaps_of = st.lists(st.integers(0, 5), min_size=1, max_size=12)


@settings(deadline=None)
@given(
    legs=st.lists(
        st.tuples(
            gaps_of,
            st.sampled_from([ChunkTokens.ONE, ChunkTokens.AVERAGE, ChunkTokens.USAGE]),
            st.integers(1, 40),
            st.data(),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_itl_weights_sum_to_the_tokens_after_the_first_arrival(legs: list) -> None:
    built, after, spans = [], [], []
    for i, (gaps, source, total, data) in enumerate(legs):
        stamps = np.cumsum(gaps).tolist()
        listed = data.draw(st.lists(st.integers(0, 4), min_size=len(stamps), max_size=len(stamps)))
        first = stamps.count(stamps[0])
        count, rest = {
            ChunkTokens.USAGE: (sum(listed), sum(listed[first:])),
            ChunkTokens.ONE: (len(stamps), len(stamps) - first),
            ChunkTokens.AVERAGE: (total, total * (len(stamps) - first) / len(stamps)),
        }[source]
        built.append(stream(i, chunks=stamps, source=source, tokens=count, listed=listed))
        after.append(rest)
        bearing = [s for s, n in zip(stamps, listed, strict=True) if n > 0 and s > stamps[0]]
        last = stamps[-1] if source is not ChunkTokens.USAGE else max(bearing, default=stamps[0])
        spans.append((last - stamps[0]) * MS)
    gaps = arrivals(piece(*built)).token_gaps
    assert gaps.weight is not None
    sums = np.bincount(gaps.leg, weights=gaps.weight, minlength=len(built)) / TOKEN_UNIT
    assert sums == pytest.approx(after, abs=2 / TOKEN_UNIT)
    # and gap × tokens gives the time between first and last arrival back: nothing is lost or counted twice
    spent = np.bincount(gaps.leg, weights=gaps.value * gaps.weight, minlength=len(built)) / TOKEN_UNIT
    assert spent == pytest.approx(spans, rel=1e-4, abs=1)
