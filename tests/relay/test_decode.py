"""From a capture to a leg: every stamp where it belongs, every count from where it says."""

from __future__ import annotations

import pytest
from hand_made import DONE, HEAD, LAST, MS, OFFSET, SENT, captured, event, stream, timespec
from hypothesis import given, settings
from hypothesis import strategies as st

from relaymark.relay.decode import leg_from_capture
from relaymark.trace import Capture, ChunkTokens, Leg, Outcome, TokenSource, TransferEnd


def leg_of(capture: Capture) -> Leg:
    return leg_from_capture(capture, 64 << 20, "ref")[0]


def test_each_stamp_is_the_kernels_of_its_read() -> None:
    at = [4 * MS, 50 * MS, 71 * MS, 90 * MS, 95 * MS]
    leg = leg_of(captured(stream(3, usage=3), at, late=400_000))
    assert leg.outcome is Outcome.OK
    assert leg.stamp_source == "kernel"
    assert leg.first_byte == SENT + at[0], "the role's event is a byte, and no token"
    assert leg.first_token == leg.first_answer_token == SENT + at[1]
    assert leg.last_token == SENT + at[3]
    assert leg.ended == SENT + at[4]
    assert leg.read_at == at
    assert leg.read_added == [400_000] * 5
    assert leg.chunk_at == at[1:4]
    assert leg.chunk_tokens == [1, 1, 1]
    assert leg.chunk_tokens_source is ChunkTokens.ONE
    assert (leg.prompt_tokens, leg.completion_tokens, leg.token_source) == (7, 3, TokenSource.USAGE)
    assert leg.coalesced == 0
    assert leg.finish_reason == "stop"
    assert leg.model == "m-1"
    assert leg.request_ref == "ref"


def test_without_kernel_stamps_ours_stand_and_nothing_is_claimed_of_added_latency() -> None:
    at = [10 * MS, 20 * MS, 30 * MS, 40 * MS, 50 * MS]
    for capture in (
        captured(stream(3), at, late=5 * MS, kernel=False),
        captured(stream(3), at, late=5 * MS, kernel_ts=bytes(16 * 5)),  # asked for, and never given
    ):
        leg = leg_of(capture)
        assert leg.stamp_source == "user"
        assert leg.read_added == []
        assert leg.read_at == [offset + 5 * MS for offset in at]
        assert leg.first_token == SENT + 25 * MS
        assert leg.ended == SENT + 55 * MS


def test_one_read_without_a_kernel_stamp_keeps_ours() -> None:
    at = [10 * MS, 20 * MS, 30 * MS]
    stamps = [timespec(SENT + at[0]), bytes(16), timespec(SENT + at[2])]
    leg = leg_of(captured(stream(1), at, late=MS, kernel_ts=b"".join(stamps)))
    assert leg.stamp_source == "kernel"
    assert leg.read_at == [10 * MS, 21 * MS, 30 * MS]
    assert leg.read_added == [MS, 0, MS]


@pytest.mark.parametrize("step", [-(10**9), -50 * MS, 50 * MS, 10**9, 3600 * 10**9])
def test_a_stepped_wall_clock_falls_back_to_our_stamps(step: int) -> None:
    at = [10 * MS, 20 * MS, 30 * MS]
    stepped = b"".join(timespec(SENT + offset, OFFSET + step) for offset in at)
    leg = leg_of(captured(stream(1), at, kernel_ts=stepped))
    assert leg.stamp_source == "user"
    assert leg.first_token == SENT + 20 * MS + 30_000


def test_a_read_before_the_upload_was_over_does_not_cost_the_kernels_stamps() -> None:
    interim = b"HTTP/1.1 100 Continue\r\n\r\n"
    leg = leg_of(captured([interim, *stream(1)], [-5 * MS, 10 * MS, 20 * MS, 30 * MS], connected=SENT - 9 * MS))
    assert leg.outcome is Outcome.OK
    assert leg.stamp_source == "kernel"
    assert leg.read_at[0] == -5 * MS
    assert leg.first_token == SENT + 20 * MS


def test_packed_fields_that_do_not_match_are_never_an_exception() -> None:
    leg = leg_of(captured(stream(1), kernel_ts=timespec(SENT)))
    assert leg.stamp_source == "user"


def test_several_events_of_one_read_share_its_stamp_and_are_counted() -> None:
    reads = [HEAD + b"".join(event({"content": "x"}) for _ in range(3)), event({"content": "y"})]
    reads.append(event({"content": "z"}) + event({}, "stop") + DONE + LAST)
    leg = leg_of(captured(reads, [10 * MS, 20 * MS, 30 * MS]))
    assert leg.chunk_at == [10 * MS] * 3 + [20 * MS, 30 * MS]
    assert leg.coalesced == 2


def test_an_event_split_over_reads_has_the_stamp_of_the_read_that_completes_it() -> None:
    whole = HEAD + event({"content": "x"}) + event({"content": "y"}) + event({}, "stop") + DONE + LAST
    cut = len(HEAD) + len(event({"content": "x"})) + 20
    leg = leg_of(captured([whole[:20], whole[20:cut], whole[cut:]], [10 * MS, 20 * MS, 30 * MS]))
    assert leg.first_byte == SENT + 10 * MS
    assert leg.chunk_at == [20 * MS, 30 * MS]


def test_reasoning_sets_ttft_and_the_answer_sets_ttfat() -> None:
    reads = [HEAD, event({"reasoning_content": "hm"}), event({"content": "so"}), event({}, "stop") + DONE + LAST]
    leg = leg_of(captured(reads, [10 * MS, 20 * MS, 30 * MS, 40 * MS]))
    assert (leg.first_token, leg.first_answer_token) == (SENT + 20 * MS, SENT + 30 * MS)


@pytest.mark.parametrize(
    ("usage", "finish", "source"),
    [
        (3, "stop", ChunkTokens.ONE),
        (4, "stop", ChunkTokens.ONE),  # the end token has no text
        (4, "length", ChunkTokens.AVERAGE),
        (5, "stop", ChunkTokens.AVERAGE),
        (9, "stop", ChunkTokens.AVERAGE),
        (2, "stop", ChunkTokens.AVERAGE),
        (None, "stop", ChunkTokens.NONE),
    ],
)
def test_tokens_per_chunk_are_known_or_not_and_never_guessed(
    usage: int | None, finish: str, source: ChunkTokens
) -> None:
    leg = leg_of(captured(stream(3, usage=usage, finish=finish)))
    assert leg.chunk_tokens_source is source
    assert leg.completion_tokens == usage
    assert leg.token_source is (TokenSource.NONE if usage is None else TokenSource.USAGE)
    assert len(leg.chunk_tokens) == len(leg.chunk_at) == 3


def test_running_counts_give_exact_tokens_per_chunk() -> None:
    def counted(total: int) -> bytes:
        return event({"content": "x"}, usage={"prompt_tokens": 7, "completion_tokens": total})

    end = event({}, "stop", usage={"prompt_tokens": 7, "completion_tokens": 9})
    leg = leg_of(captured([HEAD, counted(2), counted(3), counted(9), end + DONE + LAST]))
    assert leg.chunk_tokens == [2, 1, 6]
    assert leg.chunk_tokens_source is ChunkTokens.USAGE
    assert leg.completion_tokens == 9


def test_a_json_answer_has_an_end_and_no_first_token() -> None:
    body = b'{"model":"m-2","choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],'
    body += b'"usage":{"prompt_tokens":1,"completion_tokens":2}}'
    raw = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    leg = leg_of(captured([raw], [30 * MS], streamed=False))
    assert leg.outcome is Outcome.OK
    assert (leg.first_token, leg.chunk_at, leg.chunk_tokens) == (None, [], [])
    assert (leg.ended, leg.completion_tokens) == (SENT + 30 * MS, 2)


def test_a_failure_before_any_byte() -> None:
    leg = leg_of(captured([], end=TransferEnd.REFUSED, sent=None, connected=None, error="Connection refused"))
    assert leg.outcome is Outcome.REFUSED
    assert (leg.sent, leg.first_byte, leg.first_token, leg.read_at, leg.chunk_at) == (None, None, None, [], [])
    assert leg.ended is not None and leg.started is not None
    assert "Connection refused" in (leg.error_message or "")


def test_a_timeout_ends_when_it_was_noticed_and_keeps_its_tokens_apart() -> None:
    reads = stream(3)[:-1]
    leg = leg_of(captured(reads, end=TransferEnd.TIMEOUT_IDLE, ended=SENT + 900 * MS))
    assert leg.outcome is Outcome.TIMEOUT_IDLE
    assert leg.ended == SENT + 900 * MS
    assert len(leg.chunk_at) == 3


def test_an_answer_that_was_whole_before_its_connection_stalled_ended_with_its_mark() -> None:
    reads = stream(2)
    reads[-1] = reads[-1].removesuffix(LAST)
    for end in (TransferEnd.TIMEOUT_IDLE, TransferEnd.RESET, TransferEnd.EOF):
        leg = leg_of(captured(reads, end=end, ended=SENT + 120_000 * MS))
        assert leg.outcome is Outcome.OK
        assert leg.ended == SENT + 40 * MS
        assert any("complete when the transfer" in warning for warning in leg.warnings)


def test_identity_is_carried_over() -> None:
    fields = {
        "leg_id": 77, "task_id": (3 << 32) + 5, "parent_id": 4, "session_id": "s", "turn": 2, "attempt": 3, "worker": 1,
        "stage": 2, "warmup": True, "endpoint": "http://e", "role": "grade", "scheduled": SENT - 5 * MS,
        "reconnects": 1, "bytes_out": 321,
    }  # fmt: skip
    leg = leg_of(captured(stream(1), **fields))
    for name, value in fields.items():
        assert getattr(leg, name) == value
    assert leg.bytes_in == sum(map(len, stream(1)))
    assert (leg.started, leg.connected, leg.sent) == (SENT - 2 * MS, SENT - 1000, SENT)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_any_cut_of_a_stream_gives_a_consistent_leg(data: st.DataObject) -> None:
    whole = b"".join(stream(4, usage=4))
    raw = whole[: data.draw(st.integers(0, len(whole)))]
    reads: list[bytes] = []
    while raw:
        size = data.draw(st.integers(1, len(raw)))
        reads.append(raw[:size])
        raw = raw[size:]
    end = data.draw(st.sampled_from(list(TransferEnd)))
    leg = leg_of(captured(reads, end=end))
    assert leg.ended is not None
    assert len(leg.chunk_at) == len(leg.chunk_tokens) <= 4
    assert len(leg.read_at) == len(leg.read_added) == len(reads)
    assert leg.chunk_at == sorted(leg.chunk_at)
    assert set(leg.chunk_at) <= set(leg.read_at)
    if leg.outcome.good:
        assert len(leg.chunk_at) == 4
    if leg.chunk_at:
        assert leg.first_token == SENT + leg.chunk_at[0]
        assert leg.last_token == SENT + leg.chunk_at[-1]


def test_a_large_error_is_shortened_and_utf8() -> None:
    body = ("é" * 5000).encode()
    raw = b"HTTP/1.1 500 Oops\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    leg = leg_of(captured([raw], streamed=True))
    assert leg.outcome is Outcome.HTTP_ERROR
    assert leg.http_status == 500
    assert 0 < len(leg.error_message or "") <= 2000
