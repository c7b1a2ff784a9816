"""Whole runs against the paced endpoint, whose own log says what each number has to be."""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from relaymark.bench import build_benchmark, dump_benchmark, load_benchmark
from relaymark.emulate import FaultyServer, PacedServer, TruthRecord
from relaymark.emulate.ask import read_ask
from relaymark.measure.run import summarise_run
from relaymark.relay import Coordinator, finish, prepare
from relaymark.relay.pack import RequestPack
from relaymark.trace import ChunkTokens, Leg, Outcome, RunRecord
from relaymark.trace.table import Trace

MS = 1_000_000
Paced = Callable[..., PacedServer]


@dataclass
class Done:
    folder: Path
    record: RunRecord
    legs: list[Leg]


def run(url: str, parent: Path, **settings: object) -> Done:
    flat = {key.replace("__", "."): value for key, value in settings.items()}
    bench = build_benchmark({"name": "t", "endpoint.url": url, **flat})
    folder = prepare(bench, parent, parent)
    Coordinator(folder).run()
    record = finish(folder)
    return Done(folder, record, list(Trace(folder / "trace.parquet").legs()))


def paired(done: Done, truth: list[TruthRecord]) -> list[tuple[Leg, TruthRecord]]:
    """Legs with what the server knows of them, by the prompt: each request has one of its own."""
    pack = RequestPack(done.folder)
    by_prompt = {record.prompt_sha: record for record in truth}
    assert len(by_prompt) == len(truth) == len(done.legs)
    return [(leg, by_prompt[read_ask("chat", bytes(pack[leg.task_id - (1 << 32)])).prompt_sha]) for leg in done.legs]


@pytest.mark.parametrize(
    "load",
    [
        {"load": "concurrency:8", "requests": 120},
        {"load": "poisson:80/s", "duration": "1500ms", "workers": 2},
    ],
    ids=["closed", "poisson"],
)
def test_every_leg_agrees_with_what_the_server_did(
    paced_server: Paced, tmp_path: Path, load: dict[str, object]
) -> None:
    server = paced_server(ttft=0.03, ttft_jitter=0.01, itl=0.004, jitter=0.001, tokens=12, seed=3)
    done = run(server.url, tmp_path, prompts="synthetic:isl=30±10,osl=12", **load)
    server.stop()
    truth = server.truth()
    legs = done.legs
    assert done.record.status == "complete"
    assert len(legs) == len(truth) == len({leg.task_id for leg in legs}) == len({leg.leg_id for leg in legs})
    assert {leg.outcome for leg in legs} <= {Outcome.OK, Outcome.OK_LENGTH}
    first: list[int] = []
    gaps: list[int] = []
    for leg, real in paired(done, truth):
        assert leg.started is not None and leg.connected is not None and leg.sent is not None
        assert leg.first_byte is not None and leg.first_token is not None and leg.ended is not None
        assert leg.started <= leg.connected <= leg.sent < leg.first_byte <= leg.first_token <= leg.ended
        assert len(leg.chunk_at) == len(real.sent_at) == 12
        assert leg.chunk_tokens == real.tokens
        assert leg.chunk_tokens_source is ChunkTokens.ONE
        assert (leg.prompt_tokens, leg.completion_tokens) == (real.prompt_tokens, real.completion_tokens)
        # Bytes cannot arrive before they were sent.
        arrived = [leg.sent + at for at in leg.chunk_at]
        assert all(at - sent > -200_000 for at, sent in zip(arrived, real.sent_at, strict=True))
        first.append(arrived[0] - real.sent_at[0])
        gaps += [
            (b - a) - (d - c) for a, b, c, d in zip(arrived, arrived[1:], real.sent_at, real.sent_at[1:], strict=False)
        ]
    if sys.platform == "linux":
        assert {leg.stamp_source for leg in legs} == {"kernel"}
        assert statistics.median(map(abs, first)) < 2 * MS
        assert abs(statistics.median(gaps)) < 0.2 * MS


def test_the_summary_counts_what_the_server_counted(paced_server: Paced, tmp_path: Path) -> None:
    server = paced_server(ttft=0.02, itl=0.003, tokens=9, tokens_per_chunk=4, usage="continuous")
    done = run(server.url, tmp_path, load="concurrency:6", requests=60, workers=2)
    server.stop()
    truth = server.truth()
    stage = summarise_run(done.folder).stages[0]
    assert stage.requests == sum(stage.outcomes.values()) == len(truth) == 60
    assert stage.completion_tokens == sum(record.completion_tokens for record in truth) == 540
    assert stage.prompt_tokens == sum(record.prompt_tokens for record in truth)
    assert {tuple(leg.chunk_tokens) for leg in done.legs} == {(4, 4, 1)}
    assert stage.itl_weights == "usage"
    assert stage.distributions["itl"].count == 60 * 5, "tokens after the first chunk"
    rate = 540 / (stage.duration / 1e9)
    assert stage.output_token_rate == pytest.approx(rate)
    ttft = next(q.value for q in stage.distributions["ttft"].quantiles if q.q == 0.5)
    # The first chunk holds four tokens and is due when its last one is.
    real = statistics.median(record.sent_at[0] - record.arrived for record in truth)
    assert ttft == pytest.approx(real, abs=3 * MS)


def test_failures_are_counted_and_their_tokens_kept_apart(
    faulty_server: Callable[..., FaultyServer], tmp_path: Path
) -> None:
    server = faulty_server("rst:after=3,rate=0.25", "503-html:rate=0.2", ttft=0.01, itl=0.002, tokens=6, seed=5)
    done = run(server.url, tmp_path, load="concurrency:8", requests=100)
    server.stop()
    truth = server.truth()
    faults = [record.fault for record in truth]
    stage = summarise_run(done.folder).stages[0]
    assert sum(stage.outcomes.values()) == stage.requests == len(truth) == 100
    assert stage.outcomes.get("truncated", 0) == sum(1 for f in faults if f == "rst")
    assert stage.outcomes.get("http_error", 0) == sum(1 for f in faults if f == "503-html")
    good = stage.outcomes.get("ok", 0) + stage.outcomes.get("ok_length", 0)
    assert good == sum(1 for f in faults if f is None)
    assert stage.completion_tokens == 6 * good
    assert 0 < stage.partial_tokens <= 3 * stage.outcomes["truncated"]


OPEN = {"load": "gamma:60/s,burstiness=0.5", "duration": "1s"}


def test_the_same_seed_is_the_same_schedule_for_any_number_of_workers(paced_server: Paced, tmp_path: Path) -> None:
    server = paced_server(ttft=0.005, itl=0.001, tokens=3)
    one = run(server.url, tmp_path, seed=7, workers=1, **OPEN)
    two = run(server.url, tmp_path, seed=7, workers=2, **OPEN)
    other = run(server.url, tmp_path, seed=8, workers=1, **OPEN)
    assert one.record.schedule_sha256 == two.record.schedule_sha256 != other.record.schedule_sha256
    assert one.record.prompts_sha256 == two.record.prompts_sha256
    assert {leg.task_id for leg in one.legs} == {leg.task_id for leg in two.legs}
    assert {leg.worker for leg in two.legs} == {0, 1}

    def times(done: Done) -> dict[int, int]:
        start = next(stage.started_ns for stage in done.record.stages)
        assert start is not None
        return {leg.task_id: (leg.scheduled or 0) - start for leg in done.legs}

    assert times(one) == times(two), "each task at its own time, to the nanosecond"
    requests = {leg.task_id: leg.request_ref for leg in one.legs}
    assert requests == {leg.task_id: leg.request_ref for leg in two.legs}, "and with its own prompt"
    assert all((leg.sent or 0) >= (leg.scheduled or 0) for leg in one.legs + two.legs), "never before its time"


def test_a_run_folders_file_runs_again_as_the_same_schedule(paced_server: Paced, tmp_path: Path) -> None:
    server = paced_server(ttft=0.005, itl=0.001, tokens=3)
    first = run(server.url, tmp_path, seed=3, prompts="synthetic:isl=20±5,osl=3", warmup__requests=3, **OPEN)
    bench = load_benchmark(first.folder / "benchmark.yaml")
    assert bench.endpoint.model == "paced", "the model that was served is written down"
    assert dump_benchmark(bench) == (first.folder / "benchmark.yaml").read_text()
    folder = prepare(bench, tmp_path, tmp_path)
    Coordinator(folder).run()
    again = finish(folder)
    assert again.schedule_sha256 == first.record.schedule_sha256
    assert again.prompts_sha256 == first.record.prompts_sha256
    warm = [leg for leg in first.legs if leg.warmup]
    assert len(warm) == 3
    assert {leg.stage for leg in warm} == {-1}
    assert summarise_run(first.folder).stages[0].requests == len(first.legs) - 3


def test_a_closed_loop_with_a_quota_sends_each_task_once_over_any_workers(paced_server: Paced, tmp_path: Path) -> None:
    server = paced_server(ttft=0.003, itl=0.001, tokens=2)
    for workers in (1, 3):
        done = run(server.url, tmp_path, load="concurrency:5", requests=43, workers=workers)
        assert sorted(leg.task_id - (1 << 32) for leg in done.legs) == list(range(43))


def test_stages_follow_each_other_and_each_is_counted_apart(paced_server: Paced, tmp_path: Path) -> None:
    server = paced_server(ttft=0.004, itl=0.001, tokens=2)
    stages = [
        {"load": "single", "requests": 5},
        {"load": "offline", "requests": 20},
        {"load": "constant:50/s", "requests": 10},
    ]
    done = run(server.url, tmp_path, stages=stages)
    summary = summarise_run(done.folder)
    assert [stage.requests for stage in summary.stages] == [5, 20, 10]
    starts = [stage.started_ns or 0 for stage in done.record.stages]
    assert starts == sorted(starts)
    for index in range(2):
        last = max(leg.ended or 0 for leg in done.legs if leg.stage == index)
        assert last < starts[index + 1], "a stage begins when the one before is over"
    offline = [leg for leg in done.legs if leg.stage == 1]
    assert {leg.scheduled for leg in offline} == {starts[1]}


def test_nothing_of_a_run_is_left_behind(paced_server: Paced, tmp_path: Path) -> None:
    server = paced_server(ttft=0.003, itl=0.001, tokens=2)
    done = run(server.url, tmp_path, load="concurrency:2", requests=6, workers=2)
    names = {path.name for path in done.folder.iterdir()}
    assert not any(name.endswith((".journal", ".part.parquet")) or name.startswith(".") for name in names), names
    assert {"run.json", "benchmark.yaml", "trace.parquet", "health.jsonl"} <= names
    assert (done.folder / "worker.log").read_bytes() == b""
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=False).stdout
    assert str(done.folder) not in listed
