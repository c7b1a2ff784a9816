"""Retries: when, after how long, and that every attempt is told apart while the leg counts once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from test_against_the_truth import run

from relaymark.dialects import Decoded
from relaymark.emulate import FaultyServer
from relaymark.measure.run import summarise_run
from relaymark.relay.attempts import retry_after_ns, wait_ns, worth_another
from relaymark.relay.plan import Retries
from relaymark.trace import Leg, Outcome

S = 1_000_000_000
NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("0", 0),
        ("3", 3 * S),
        (" 120 ", 120 * S),
        ("Thu, 01 Jan 2026 12:00:05 GMT", 5 * S),
        ("Thu, 01 Jan 2026 11:59:00 GMT", 0),
        ("Thu, 01 Jan 2026 13:00:05 +0100", 5 * S),
        ("Fri, 01 Jan 2027 12:00:00 GMT", 24 * 3600 * S),
        ("9" * 50, 24 * 3600 * S),
        ("-1", None),
        ("1.5", None),
        ("soon", None),
        ("", None),
        ("٣", None),
    ],
)
def test_retry_after_in_both_forms(text: str, ns: int | None) -> None:
    assert retry_after_ns(text, NOW) == ns


@hypothesis_settings(deadline=None, max_examples=150)
@given(
    st.one_of(st.text(max_size=40), st.from_regex(r"[A-Z][a-z]{2}, \d{1,3} [A-Z][a-z]{2} \d{1,6} [\d:]{1,9} \S{0,6}"))
)
@example("Thu, 01 Jan 0000 00:00:00 GMT")
@example("Thu, 31 Dec 9999 23:59:59 -2359")
@example("Thu, 01 Jan 2026 12:00:00 +9999")
def test_any_retry_after_is_a_bounded_wait_or_none(text: str) -> None:
    ns = retry_after_ns(text, NOW)
    assert ns is None or 0 <= ns <= 24 * 3600 * S


def test_backoff_doubles_to_its_bound_less_at_most_the_jitter() -> None:
    policy = Retries(attempts=9, backoff_ns=S, backoff_max_ns=10 * S, jitter=0.5)
    failed = Decoded(outcome=Outcome.RESET)
    for attempt, full in ((1, S), (2, 2 * S), (3, 4 * S), (4, 8 * S), (5, 10 * S), (90, 10 * S)):
        waits = [wait_ns(failed, policy, attempt, Random(n), NOW) for n in range(200)]
        assert all(full / 2 <= wait <= full for wait in waits)
        assert max(waits) - min(waits) > full / 3
        assert waits == [wait_ns(failed, policy, attempt, Random(n), NOW) for n in range(200)]
    exact = Retries(attempts=2, backoff_ns=S, jitter=0.0)
    assert wait_ns(failed, exact, 1, Random(1), NOW) == S


def test_retry_after_wins_where_it_can_be_read_and_is_honoured() -> None:
    policy = Retries(attempts=2, backoff_ns=S, jitter=0.0)
    busy = Decoded(outcome=Outcome.HTTP_ERROR, http_status=429, retry_after="7")
    assert wait_ns(busy, policy, 1, Random(0), NOW) == 7 * S
    deaf = Retries(attempts=2, backoff_ns=S, jitter=0.0, honour_retry_after=False)
    assert wait_ns(busy, deaf, 1, Random(0), NOW) == S
    assert wait_ns(Decoded(outcome=Outcome.HTTP_ERROR, retry_after="?"), policy, 1, Random(0), NOW) == S


def test_only_what_the_policy_names_is_tried_again() -> None:
    policy = Retries(attempts=2, on=("http_error", "reset"), statuses=(429, 503))
    assert worth_another(Decoded(outcome=Outcome.HTTP_ERROR, http_status=503), policy)
    assert not worth_another(Decoded(outcome=Outcome.HTTP_ERROR, http_status=401), policy)
    assert worth_another(Decoded(outcome=Outcome.RESET), policy)
    assert not worth_another(Decoded(outcome=Outcome.TRUNCATED), policy)
    for good in (Outcome.OK, Outcome.OK_LENGTH):
        assert not worth_another(Decoded(outcome=good), policy)


def by_leg(legs: list[Leg]) -> dict[int, list[Leg]]:
    groups: dict[int, list[Leg]] = {}
    for leg in sorted(legs, key=lambda leg: leg.attempt):
        groups.setdefault(leg.leg_id, []).append(leg)
    return groups


def test_a_run_with_retries_keeps_every_attempt_and_counts_each_leg_once(
    faulty_server: Callable[..., FaultyServer], tmp_path: Path
) -> None:
    server = faulty_server("503-html:rate=0.3", "rst:after=2,rate=0.2", ttft=0.005, itl=0.001, tokens=4, seed=2)
    done = run(
        server.url, tmp_path, load="concurrency:4", requests=60, seed=1,
        retries={"attempts": 3, "backoff": "20ms", "jitter": 0.5, "on": ["http_error"]},
    )  # fmt: skip
    server.stop()
    assert len(server.truth()) == len(done.legs), "each attempt is a request the server saw"
    groups = by_leg(done.legs)
    assert len(groups) == 60
    assert len({group[0].task_id for group in groups.values()}) == 60
    assert any(len(group) > 1 for group in groups.values())
    for group in groups.values():
        assert [leg.attempt for leg in group] == list(range(1, len(group) + 1))
        assert [leg.final for leg in group] == [False] * (len(group) - 1) + [True]
        assert {leg.first_sent for leg in group} == {group[0].sent}
        assert all(leg.outcome is Outcome.HTTP_ERROR for leg in group[:-1])
        for before, after in pairwise(group):
            pause = (after.sent or 0) - (before.ended or 0)
            assert pause >= 10_000_000 << (before.attempt - 1), "half of the backoff at least"
        if group[-1].outcome is Outcome.HTTP_ERROR:
            assert len(group) == 3
    stage = summarise_run(done.folder).stages[0]
    assert sum(stage.outcomes.values()) == stage.requests == 60
    assert stage.outcomes.get("truncated", 0) == sum(1 for g in groups.values() if g[-1].outcome is Outcome.TRUNCATED)


def test_without_a_policy_nothing_is_sent_twice(faulty_server: Callable[..., FaultyServer], tmp_path: Path) -> None:
    server = faulty_server("503-html:rate=0.5", ttft=0.002, itl=0.001, tokens=2)
    done = run(server.url, tmp_path, load="concurrency:4", requests=20)
    server.stop()
    assert len(server.truth()) == len(done.legs) == 20
    assert {(leg.attempt, leg.final) for leg in done.legs} == {(1, True)}
    assert all(leg.first_sent == leg.sent for leg in done.legs)
