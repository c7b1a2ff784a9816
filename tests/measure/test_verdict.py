"""Each rule of the verdict fires on what it is for, with the figures, and stays silent beside it."""

from __future__ import annotations

import pytest
from hand_built import MS, T0, S, beats, closed, failure, poisson, run_info, stream, trace

from relaymark.measure.health import read_health
from relaymark.measure.inputs import Gates, RunInfo
from relaymark.measure.rates import Window
from relaymark.measure.summarise import summarise
from relaymark.measure.summary import Reason
from relaymark.trace import ChunkTokens, Heartbeat, Leg, TokenSource

WHOLE = Window(T0, T0 + 1000 * S)


def legs_of(count: int = 100, *, chunks: tuple[int, ...] = (50, 70, 90), **changes: object) -> list[Leg]:
    changes = {"read_added": [1000], **changes}
    return [stream(i, at=100 * i, chunks=chunks, end=100, **changes) for i in range(count)]


def judged(
    legs: list[Leg], health: list[Heartbeat] | None = None, info: RunInfo | None = None
) -> tuple[dict[str, Reason], dict[str, Reason]]:
    verdict = summarise(trace(legs, 50), beats(10) if health is None else health, info or run_info()).verdict
    assert verdict.valid == (not verdict.reasons)
    for reason in (*verdict.reasons, *verdict.warnings):
        assert reason.text.endswith("."), reason.text
    return {r.code: r for r in verdict.reasons}, {r.code: r for r in verdict.warnings}


def test_a_clean_run_is_valid_without_a_word() -> None:
    assert judged(legs_of()) == ({}, {})


@pytest.mark.parametrize(
    ("added", "chunks", "reasons", "warnings"),
    [
        (900_000, (50, 70, 90), [], ["client_added_near"]),  # ITL p99 20 ms allows 1 ms
        (1_100_000, (50, 70, 90), ["client_added"], []),
        (1_600_000, (90, 150, 210), [], ["client_added_near"]),  # TTFT 90 and ITL 60 ms allow 3 ms
        (3_100_000, (90, 150, 210), ["client_added"], []),
        (400_000, (50, 70, 90), [], []),
    ],
)
def test_client_added(added: int, chunks: tuple[int, ...], reasons: list[str], warnings: list[str]) -> None:
    found, told = judged(legs_of(chunks=chunks, read_added=[added]))
    assert (list(found), list(told)) == (reasons, warnings)
    if reasons:
        assert found["client_added"].measured == added
        assert found["client_added"].bound == max(1e6, 0.05 * min(chunks[0], chunks[1] - chunks[0]) * MS)
        assert f"{added / 1e6:.2f} ms" in found["client_added"].text


def test_a_p99_that_two_slow_reads_make_is_a_warning_and_twenty_are_a_reason() -> None:
    quick, slow = [100_000] * 3, [100_000, 3_000_000, 100_000]

    def of(count: int) -> list[Leg]:
        return [
            stream(n, at=100 * n, chunks=(50, 70, 90), end=100, read_added=slow if n < count else quick)
            for n in range(100)
        ]

    found, told = judged(of(4))  # the p99 of 300 reads is one of these four; its interval reaches down to quick ones
    assert list(found) == []
    assert told["client_added_near"].measured == 3 * MS
    found, told = judged(of(20))
    assert found["client_added"].measured == 3 * MS
    assert "client_added_near" not in told


def test_client_added_is_held_against_latency_where_nothing_streams() -> None:
    found, _ = judged(legs_of(streamed=False, chunk_at=[], chunk_tokens=[], read_added=[4_900_000]))
    assert "client_added" not in found  # 5 % of 100 ms
    found, _ = judged(legs_of(streamed=False, chunk_at=[], chunk_tokens=[], read_added=[5_100_000]))
    assert found["client_added"].bound == 5 * MS


def test_client_added_is_judged_stage_by_stage() -> None:
    legs = legs_of(100, chunks=(400, 800), read_added=[3_000_000])
    legs += [stream(100 + i, at=10_000 + 100 * i, stage=1, end=100, read_added=[3_000_000]) for i in range(100)]
    verdict = summarise(trace(legs), beats(20), run_info(closed(0, name="slow"), closed(1, name="fast"))).verdict
    assert [reason.text.split(":")[0] for reason in verdict.reasons] == ["fast"]


def test_sampled_loop_lateness_decides_by_its_median_and_warns_by_its_worst() -> None:
    legs = legs_of(read_added=[], stamp_source="user")
    found, told = judged(legs, beats(10, late=2 * MS))
    assert list(found) == ["client_added"]
    assert "no_kernel_stamps" in told
    once = [beat if i != 30 else beats(1, begin=beat.mono_ns, late=5 * MS)[0] for i, beat in enumerate(beats(10))]
    found, told = judged(legs, once)
    assert found == {}
    assert "client_added_near" not in told  # the p99 of 100 intervals is not their largest
    twice = [
        beat if i not in (30, 60) else beats(1, begin=beat.mono_ns, late=5 * MS)[0] for i, beat in enumerate(beats(10))
    ]
    found, told = judged(legs, twice)
    assert found == {}
    assert told["client_added_near"].measured == 5 * MS


def test_send_lag_is_judged_in_open_loops() -> None:
    late = [stream(i, at=100 * i, end=100, scheduled=T0 + 100 * i * MS - 3 * MS) for i in range(100)]
    found, _ = judged(late, info=run_info(poisson()))
    assert found["send_lag"].measured == 3 * MS
    assert found["send_lag"].bound == 2.5 * MS  # 5 % of TTFT p99 50 ms
    assert "send_lag" not in judged(late, info=run_info(closed()))[0]


def test_a_worker_that_is_saturated_for_long() -> None:
    found, _ = judged(legs_of(), beats(10, cpu=0.97))
    assert found["cpu_saturated"].measured == pytest.approx(0.97)
    assert judged(legs_of(), beats(10, cpu=0.94))[0] == {}
    # busy only before and after what was measured: start-up and decoding do no harm
    after = beats(10, cpu=1.0, begin=T0 + 11 * S)
    assert (
        "cpu_saturated"
        not in judged(legs_of(), [*beats(10), *beats(10, worker=1, cpu=1.0, begin=T0 - 12 * S), *after])[0]
    )


def test_backpressure_crash_interrupt_and_tasks_never_sent() -> None:
    found, _ = judged(legs_of(), beats(10, backpressure=3))
    assert found["backpressure"].measured == 3
    found, told = judged(legs_of(), beats(10, due=100, ended=95, in_flight=2))
    assert found["never_sent"].measured == 3
    assert told["in_flight_at_end"].measured == 2
    found, _ = judged(legs_of(), info=run_info(status="interrupted"))
    assert list(found) == ["interrupted"]
    found, _ = judged(legs_of(), info=run_info(status="crashed", crashed_workers=[2]))
    assert "worker 2" in found["worker_crashed"].text


def test_a_clock_step_matters_where_the_kernel_stamps() -> None:
    stepped = beats(10, wall_offset_ns=1_700_000_000 * S + 5 * MS)
    found, _ = judged(legs_of(), stepped)
    assert found["clock_step"].measured == 5 * MS
    assert "clock_step" not in judged(legs_of(read_added=[], stamp_source="user"), stepped)[0]
    slewed = beats(10, wall_offset_ns=1_700_000_000 * S + 50_000)  # 500 ppm of 100 ms
    assert "clock_step" not in judged(legs_of(), slewed)[0]


def test_gates() -> None:
    gates = Gates(min_duration_ns=20 * S, min_requests=101)
    found, _ = judged(legs_of(), info=run_info(gates=gates))
    assert found["too_short"].measured == 10 * S
    assert found["too_few_requests"].measured == 100
    gates = Gates(min_duration_ns=10 * S, min_requests=100)
    assert judged(legs_of(), info=run_info(gates=gates))[0] == {}
    found, _ = judged(legs_of(), info=run_info(closed(requests=120)))
    assert found["schedule_incomplete"].bound == 120


def test_streams_in_one_piece() -> None:
    some = [stream(i, at=100 * i, chunks=(50, 50) if i < 11 else (50, 70), end=100) for i in range(100)]
    assert judged(some)[0]["not_incremental"].measured == 0.11
    assert judged(some[1:])[0]["not_incremental"].measured == pytest.approx(10 / 99)
    assert judged(some[2:])[0] == {}  # 9 of 98
    found, told = judged(some, info=run_info(gates=Gates(streaming=False)))
    assert "not_incremental" not in found
    assert "not_incremental" in told


def test_estimated_tokens() -> None:
    strict = run_info(gates=Gates(token_counts_from_server=True))
    assert judged(legs_of(), info=strict)[0] == {}
    assert "token_estimates" in judged(legs_of(token_source=TokenSource.TOKENIZER), info=strict)[0]
    average = legs_of(source=ChunkTokens.AVERAGE, tokens=7)
    assert "token_estimates" in judged(average, info=strict)[0]
    found, told = judged(average)
    assert found == {}
    assert "average_weights" in told


def test_failures_warn_and_only_failures_are_invalid() -> None:
    found, told = judged([*legs_of(99), failure(99, at=9900)])
    assert found == {}
    assert told["failures"].measured == 0.01
    found, told = judged([failure(i, at=i) for i in range(5)])
    assert "http_error: 5" in found["no_success"].text


def test_few_requests_and_repeated_prompts_warn() -> None:
    _, told = judged(legs_of(99))
    assert told["few_requests"].measured == 99
    _, told = judged(legs_of(request_ref="same"))
    assert told["repeated_prompts"].measured == 0.01
    _, told = judged(legs_of(tokens=None, source=ChunkTokens.NONE))
    assert told["no_token_counts"].measured == 100


def test_no_heartbeats_is_said() -> None:
    assert "no_heartbeats" in judged(legs_of(), [])[1]


def test_health_keeps_workers_apart() -> None:
    one, two = beats(4, cpu=0.97), beats(4, cpu=0.5, worker=1)
    mixed = [beat for pair in zip(one, two, strict=True) for beat in pair]
    health = read_health(mixed, WHOLE)
    assert health.worker_cpu == pytest.approx(0.97)
    assert health.saturated_longest == health.saturated_total == 4 * S
    half = [*beats(1, cpu=0.97), *beats(1, cpu=0.1, begin=T0 + S + 1)]
    assert read_health(half, WHOLE).saturated_longest == pytest.approx(1 * S, rel=0.01)
