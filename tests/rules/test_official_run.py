"""Runs of the reference client read in: their events as a trace, or their summary as it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from made_submission import client_config, result_summary

from relaymark.errors import TraceError
from relaymark.measure.run import summarise_run
from relaymark.rules.official_run import import_run

MS = 1_000_000


def write_run(folder: Path, *, events: list[dict[str, object]] | None) -> Path:
    (folder / "performance").mkdir(parents=True)
    (folder / "performance/result_summary.json").write_text(json.dumps(result_summary(4, 1, 50.0)))
    (folder / "config.yaml").write_text(json.dumps(client_config(4)))
    if events is not None:
        (folder / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    return folder


def event(kind: str, at: int, uuid: str | None = None, **more: object) -> dict[str, object]:
    return {"event_type": kind, "timestamp_ns": at, "sample_uuid": uuid, **more}


def requests() -> list[dict[str, object]]:
    """One of the warm-up, four that are counted (TTFT 50 ms, end after 250 ms), one that fails, one never completed."""
    events = [event("session.started", 0), event("sample.issued", 1, "warm"), event("sample.complete", 9 * MS, "warm")]
    events.append(event("session.start_performance_tracking", 10 * MS))
    for n in range(4):
        begin = (20 + 300 * n) * MS
        events.append(event("sample.issued", begin, f"u{n}", data="prompt"))
        events.append(event("sample.recv_first", begin + 50 * MS, f"u{n}"))
        events.append(event("sample.recv_non_first", begin + 150 * MS, f"u{n}"))
        events.append(event("sample.recv_non_first", begin + 250 * MS, f"u{n}"))
        events.append(event("sample.complete", begin + 250 * MS, f"u{n}", finish_reason="stop"))
    events.append(event("sample.issued", 1300 * MS, "bad"))
    events.append(event("error.timeout", 1400 * MS, "bad", data="took too long"))
    events.append(event("sample.complete", 1400 * MS, "bad"))
    events.append(event("sample.issued", 1450 * MS, "open"))
    events.append(event("session.stop_performance_tracking", 1500 * MS))
    return events


def test_events_become_a_trace_that_can_be_reported(tmp_path: Path) -> None:
    folder, nothing = import_run(write_run(tmp_path / "run", events=requests()), tmp_path / "runs")
    assert nothing is None
    summary = summarise_run(folder)
    (stage,) = summary.stages
    assert stage.outcomes == {"ok": 4, "timeout_total": 1}
    assert stage.in_flight_at_end == 1
    ttft, latency = stage.distributions["ttft"], stage.distributions["latency"]
    assert (ttft.count, ttft.minimum, ttft.maximum) == (4, 50 * MS, 50 * MS)
    assert latency.maximum == 250 * MS
    assert stage.distributions["chunk_gap"].mean == 100 * MS
    # the client's events carry no token counts, so nothing that needs them is given
    assert stage.output_token_rate is None
    assert "tpot" not in stage.distributions
    assert any("reference client" in note for note in summary.notes)


def test_without_events_the_clients_own_figures_are_taken(tmp_path: Path) -> None:
    folder, summary = import_run(write_run(tmp_path / "run", events=None), tmp_path / "runs")
    assert summary is not None
    stage, given = summary.stages[0], result_summary(4, 1, 50.0)
    assert stage.requests == given["n_samples_issued"]
    assert stage.output_token_rate == pytest.approx(128 * 50, rel=1e-6)
    p90 = next(q.value for q in stage.distributions["tpot"].quantiles if q.q == 0.9)
    assert p90 == given["tpot"]["percentiles"]["90.0"]
    assert stage.tps_per_user == pytest.approx(1e9 / p90)
    assert summary.error_bar.source == "none"
    assert (folder / "run.json").is_file()


@pytest.mark.parametrize("line", ["{", "[]", '{"event_type": 3, "timestamp_ns": 1}'])
def test_a_broken_line_is_named(tmp_path: Path, line: str) -> None:
    run = write_run(tmp_path / "run", events=requests())
    with (run / "events.jsonl").open("a") as file:
        file.write(line + "\n")
    with pytest.raises(TraceError, match="no event") as caught:
        import_run(run, tmp_path / "runs")
    assert "events.jsonl:" in caught.value.where


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="neither"):
        import_run(tmp_path, tmp_path / "runs")
