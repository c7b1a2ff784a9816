"""Files for other programs: JSON, CSV and the Perfetto trace."""

from __future__ import annotations

import csv
import json
import random
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relaymark.errors import RelaymarkError
from relaymark.measure.summary import Summary
from relaymark.report.export import CSV_HEADER, summary_csv, summary_json
from relaymark.report.perfetto import write_perfetto
from relaymark.trace.leg import Leg, Outcome, TokenSource

from . import fake_summary


def test_json_round_trips() -> None:
    summary = fake_summary.valid_run()
    assert msgspec.json.decode(summary_json(summary), type=Summary) == summary


def test_csv_is_tidy_and_complete() -> None:
    summary = fake_summary.valid_run()
    rows = list(csv.reader(summary_csv(summary).splitlines()))
    assert tuple(rows[0]) == CSV_HEADER
    assert {len(row) for row in rows} == {6}
    values = {tuple(row[1:4]): (row[4], row[5]) for row in rows[1:]}
    p99 = summary.stages[4].distributions["ttft"].quantiles[3]
    assert values["poisson 4/s", "ttft", "p99"] == (repr(p99.value), "ns")
    assert values["poisson 4/s", "ttft", "p99_with_failures"] == ("inf", "ns")
    assert values["poisson 4/s", "outcome", "truncated"] == ("6", "requests")
    assert ("single", "ttft", "p99_with_failures") not in values
    assert values["", "verdict", "valid"] == ("1", "")


def test_csv_text_is_never_a_formula_nor_a_second_line() -> None:
    text = summary_csv(fake_summary.hostile_run())
    rows = list(csv.reader(text.splitlines()))
    assert {len(row) for row in rows} == {6}
    cells = [cell for row in rows for i, cell in enumerate(row) if i != 4]
    assert not [cell for cell in cells if cell[:1] in ("=", "+", "@")]
    assert '\'=HYPERLINK("http://evil")' in cells


def leg(i: int, start: int, end: int, **more: Any) -> Leg:
    return Leg(task_id=i, leg_id=i, started=start, sent=start, ended=end, **more)


def events(path: Path) -> list[dict[str, Any]]:
    trace = json.loads(path.read_text(encoding="utf-8"))
    assert set(trace) == {"displayTimeUnit", "traceEvents"}
    return trace["traceEvents"]


def test_a_leg_becomes_nested_slices(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    one = Leg(
        task_id=7, leg_id=9, worker=1, model="m\x1b", scheduled=900_000, started=1_000_000, connected=1_200_000,
        sent=1_300_000,
        first_token=5_000_000, last_token=9_000_123, ended=9_100_000, outcome=Outcome.OK, completion_tokens=12,
        token_source=TokenSource.USAGE,
    )  # fmt: skip
    assert write_perfetto([one, Leg(task_id=8, leg_id=10)], path) == 1
    slices = {e["name"]: e for e in events(path) if e["ph"] == "X"}
    assert set(slices) == {"llm ok", "connect", "prefill (TTFT)", "decode"}
    whole = slices["llm ok"]
    assert (whole["ts"], whole["dur"]) == (1000.0, 8100.0)
    assert whole["args"]["completion_tokens"] == 12
    assert whole["args"]["send_lag_us"] == 400.0
    assert whole["args"]["model"] == "m�"
    assert (slices["decode"]["ts"], slices["decode"]["dur"]) == (5000.0, 4000.123)
    named = {(e["pid"], e["name"]): e["args"]["name"] for e in events(path) if e["ph"] == "M"}
    assert named[2, "process_name"] == "worker 1"
    assert named[2, "thread_name"] == "slot 1"


LEGS = st.lists(
    st.tuples(st.integers(0, 10**9), st.integers(0, 10**8), st.integers(0, 2), st.sampled_from([None, "a", "b"])),
    min_size=1,
    max_size=40,
)


@given(LEGS, st.sampled_from(["start", "end", "any"]))
@settings(deadline=None, max_examples=60)
def test_slices_of_one_track_never_overlap(tmp_path_factory: Any, drawn: list[Any], order: str) -> None:
    legs = [leg(i, s, s + d, worker=w, session_id=n) for i, (s, d, w, n) in enumerate(drawn)]
    if order != "any":
        legs.sort(key=lambda x: (x.started if order == "start" else x.ended) or 0)
    path = tmp_path_factory.getbasetemp() / "trace.json"
    assert write_perfetto(legs, path) == len(legs)
    tracks: dict[tuple[int, int], list[tuple[float, float]]] = defaultdict(list)
    for event in events(path):
        if event["ph"] == "X" and event["cat"] == "llm":
            tracks[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    for slices in tracks.values():
        slices.sort()
        assert all(a[1] <= b[0] + 1e-6 for a, b in pairwise(slices))
    if order == "start":
        for worker in range(3):
            for session in (None, "a", "b"):
                mine = [x for x in legs if x.worker == worker and x.session_id == session]
                deepest = max(
                    (
                        sum(
                            (y.started or 0) <= (x.started or 0) < max(y.ended or 0, (y.started or 0) + 1) for y in mine
                        )
                        for x in mine
                    ),
                    default=0,
                )
                used = {
                    (e["pid"], e["tid"]) for e in events(path)
                    if e["ph"] == "X" and e["cat"] == "llm" and e["args"]["task_id"] in {x.task_id for x in mine}
                }  # fmt: skip
                assert len(used) <= max(deepest, 1)


def test_the_counter_ends_at_zero_and_peaks_where_it_should(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    ms = 1_000_000
    write_perfetto([leg(1, 10 * ms, 50 * ms), leg(2, 20 * ms, 40 * ms), leg(3, 30 * ms, 60 * ms)], path)
    counts = [(e["ts"], e["args"]["requests"]) for e in events(path) if e["ph"] == "C"]
    assert counts == [(10e3, 1), (20e3, 2), (30e3, 3), (40e3, 2), (50e3, 1), (60e3, 0)]


def test_many_legs_take_bounded_counters_and_few_tracks(tmp_path: Path) -> None:
    rng = random.Random(1)
    path = tmp_path / "trace.json"

    def stream() -> Any:
        for i in range(10_000):
            start = i * 10_000_000
            yield leg(i, start, start + rng.randrange(5_000_000, 60_000_000))

    assert write_perfetto(stream(), path) == 10_000
    found = events(path)
    assert sum(e["ph"] == "C" for e in found) <= 16_384
    assert len({e["tid"] for e in found if e["ph"] == "X"}) <= 7
    assert [e["args"]["requests"] for e in found if e["ph"] == "C"][-1] == 0


def test_a_trace_that_cannot_be_written_is_an_error_a_user_can_act_on(tmp_path: Path) -> None:
    with pytest.raises(RelaymarkError, match="cannot be written"):
        write_perfetto([], tmp_path / "missing" / "trace.json")
