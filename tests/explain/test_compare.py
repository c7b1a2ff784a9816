"""Two runs side by side: what is shown, what is noise, what is not like for like."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from made_runs import MS, write_run

from relaymark.emulate import PacedServer
from relaymark.errors import ConfigError
from relaymark.explain.compare import broken, compare_runs, parse_limit
from relaymark.measure.summary import ErrorBar, Summary, Verdict
from relaymark.report.compare import comparison_markdown
from relaymark.report.export import summary_json
from relaymark.trace import Leg, Outcome, read_run_record, write_run_record


def made(
    folder: Path, factor: float, *, seed: int = 1, noise: float = 0.05, count: int = 400, model: str = "m"
) -> Path:
    """A run of requests whose times vary widely, all of them ``factor`` times as long."""
    from fake_stage import stage_of

    noise, count = 0.05, 400
    prompts, draw = Random(7), Random(seed)
    legs: list[Leg] = []
    for task in range(count):
        length = prompts.lognormvariate(0, 0.6) * 40 * MS * factor * draw.gauss(1, noise)
        at = task * 100 * MS
        legs.append(
            Leg(
                task_id=task, leg_id=task + 1, endpoint="http://x", started=at, sent=at,
                first_token=at + int(length / 2),
                ended=at + int(length), completion_tokens=10, streamed=True, outcome=Outcome.OK,
            )
        )  # fmt: skip
    write_run(folder, legs, load="x", slots=1)
    record = read_run_record(folder)
    record.model = model
    write_run_record(folder, record)
    bar = ErrorBar(
        source="kernel", read_p50=0, read_p99=0, read_max=0, reads=1, send_p50=None, send_p99=None, send_max=None,
        worker_cpu=None, clock_drift=None,
    )  # fmt: skip
    summary = Summary(
        schema=1, run_id="made", name="made", version="0", started_at="2026-12-01T00:00:00+00:00", url="http://x",
        model=model, dialect="openai-chat", status="complete", verdict=Verdict(valid=True, reasons=[], warnings=[]),
        error_bar=bar, stages=[stage_of(seconds=40, requests=count, ok=count, prompt=1, output=1, goodput=None)],
        schedule_sha256="s", config="", environment={}, server={}, notes=[],
    )  # fmt: skip
    (folder / "summary.json").write_bytes(summary_json(summary))
    return folder


def changes(a: Path, b: Path) -> dict[str, tuple[float, str]]:
    (level,) = compare_runs(a, b).levels
    return {change.metric: (change.change or 0.0, change.verdict) for change in level.changes}


def test_a_small_real_change_is_shown_where_requests_are_paired_and_noise_is_not(tmp_path: Path) -> None:
    a = made(tmp_path / "a", 1.0)
    slower, same = made(tmp_path / "slower", 1.04, seed=2), made(tmp_path / "same", 1.0, seed=3)
    found = changes(a, slower)
    assert found["latency_p50"][0] == pytest.approx(0.04, abs=0.02)
    assert {found[metric][1] for metric in ("ttft_p50", "latency_p50", "tpot_p50")} == {"worse"}
    assert changes(slower, a)["latency_p50"][1] == "better"
    assert {verdict for _, verdict in changes(a, same).values()} == {"no difference shown"}


def test_without_pairs_the_same_change_drowns(tmp_path: Path) -> None:
    a, b = made(tmp_path / "a", 1.0), made(tmp_path / "b", 1.04, seed=2)
    record = read_run_record(b)
    record.schedule_sha256 = "another"
    write_run_record(b, record)
    comparison = compare_runs(a, b)
    assert not comparison.levels[0].paired
    assert any(line.startswith("schedule") for line in comparison.unlike)
    assert {c.metric: c.verdict for c in comparison.levels[0].changes}["latency_p50"] == "no difference shown"


def test_limits_fail_on_what_is_beyond_them_and_shown(tmp_path: Path) -> None:
    a = made(tmp_path / "a", 1.0)
    comparison = compare_runs(a, made(tmp_path / "b", 1.2, seed=2))
    assert broken(parse_limit("latency_p50 > +5%"), comparison)
    assert not broken(parse_limit("latency_p50 > +40%"), comparison)
    assert not broken(parse_limit("latency_p50 < -5%"), comparison)
    assert not broken(parse_limit("latency_p50 > +0%"), compare_runs(a, made(tmp_path / "c", 1.0, seed=9)))
    for text in ("ttft", "ttft_p99 > 5", "ttft_p99 = +5%"):
        with pytest.raises(ConfigError):
            parse_limit(text)
    with pytest.raises(ConfigError, match="no figure"):
        broken(parse_limit("nothing_p99 > +5%"), comparison)


def test_another_model_is_another_thing(tmp_path: Path) -> None:
    comparison = compare_runs(made(tmp_path / "a", 1.0), made(tmp_path / "b", 1.0, model="<b>|other"))
    assert comparison.forbidden
    text = comparison_markdown([comparison], ["x|y"])
    assert "\\<b\\>\\|other" in text and "**Limit broken:** x\\|y" in text


def test_the_command_on_real_runs(paced_server: Callable[..., PacedServer], tmp_path: Path) -> None:
    def run(name: str, *words: str, **paced: float) -> Path:
        server = paced_server(tokens=6, **paced)
        command = [sys.executable, "-m", "relaymark", "run", "chat", "--url", server.url, "--load", "concurrency:4"]
        out = tmp_path / name
        subprocess.run(
            [*command, "--requests", "120", "--out", str(out), "--json", *words], capture_output=True, check=False
        )
        return next(out.iterdir())

    before, after = run("before", ttft=0.02, itl=0.004), run("after", ttft=0.03, itl=0.004)
    other = run("other", "--seed", "5", ttft=0.02, itl=0.004)

    def compare(*words: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "relaymark", "compare", *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    done = compare(before, after, "--fail-if", "ttft_p50 > +5%", "--json")
    told = json.loads(done.stdout)
    assert done.returncode == 1 and told["broken"], done.stderr
    found = {c["metric"]: c for c in told["comparisons"][0]["levels"][0]["changes"]}
    assert told["comparisons"][0]["levels"][0]["paired"]
    assert found["ttft_p50"]["change"] == pytest.approx(0.5, abs=0.1) and found["ttft_p50"]["verdict"] == "worse"
    assert compare(before, after, "--fail-if", "ttft_p50 > +500%").returncode == 0
    refused = compare(before, other)
    assert refused.returncode == 2 and "not like for like" in refused.stderr
    assert compare(before, other, "--anyway").returncode == 0
    assert "| ttft_p50 |" in compare(before, after, "--markdown").stdout
    assert compare(before).returncode == 2
    explained = [sys.executable, "-m", "relaymark", "explain", str(before), "--faster", "decode=2", "--json"]
    done = subprocess.run(explained, capture_output=True, text=True, check=False)
    shares = {stage["name"]: stage["share"] for stage in json.loads(done.stdout)["anatomy"]["stages"]}
    assert shares["first token"] == pytest.approx(0.5, abs=0.1)
    cost = [sys.executable, "-m", "relaymark", "cost", str(before), "--watts", "100", "--json"]
    told = json.loads(subprocess.run(cost, capture_output=True, text=True, check=True).stdout)
    assert told[0]["joules"] == pytest.approx(100 * told[0]["seconds"])
