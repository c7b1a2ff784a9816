"""The whole pipeline as a user runs it, against an endpoint whose answers are known: scores must come out exactly."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psutil
import pytest

from relaymark.data.world import write_world
from relaymark.emulate import PacedConfig, ScriptedConfig, start_scripted
from relaymark.retrieval.build import BuildSpec, build_index
from relaymark.retrieval.specs import EmbedderSpec
from relaymark.score import official_prf
from relaymark.trace.answers import read_answers
from relaymark.trace.table import Trace

QUESTIONS = 40


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rag")
    write_world(folder, seed=7, pages=60, questions=QUESTIONS)
    embedder = EmbedderSpec(kind="static", path="wordllama")
    build_index(BuildSpec(corpus=str(folder / "pages"), index_folder=str(folder / "index"), embedder=embedder))
    return folder


@pytest.fixture
def run(world: Path, tmp_path: Path) -> Iterator[Any]:
    """Runs rag-ask; gives the folder, the summary's first stage and the exit code."""

    def go(url: str, *settings: str, **top: Any) -> tuple[Path, dict[str, Any], int]:
        file = tmp_path / "ask.yaml"
        told = {
            "kind": "rag-ask",
            "name": "ask",
            "questions": str(world / "questions.jsonl"),
            "index": str(world / "index"),
            "endpoint": {"url": url, "model": "scripted"},
            "load": "concurrency:8",
            "requests": QUESTIONS,
            "stream": False,
            **top,
        }
        file.write_text(json.dumps({key: value for key, value in told.items() if value is not None}))
        out = tmp_path / f"runs{len(list(tmp_path.iterdir()))}"
        command = [sys.executable, "-m", "relaymark", "run", "rag-ask", str(file), "--json", "--out", str(out)]
        for setting in settings:
            command += ["--set", setting]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert "Traceback" not in done.stderr, done.stderr
        assert done.stdout, done.stderr
        return next(out.iterdir()), json.loads(done.stdout)["stages"][0], done.returncode

    yield go


def score(folder: Path, *options: str) -> tuple[int, int, dict[str, Any]]:
    """Right answers, tasks, and the whole of score.json."""
    subprocess.run(
        [sys.executable, "-m", "relaymark", "score", str(folder), *options], capture_output=True, check=False
    )
    told = json.loads((folder / "score.json").read_text())
    return told["tasks"]["correct"], told["tasks"]["planned"], told


@pytest.mark.parametrize("load", ["offline", "poisson:40/s", "concurrency:8"])
def test_an_endpoint_that_knows_everything_is_right_about_everything(world: Path, run: Any, load: str) -> None:
    with start_scripted(ScriptedConfig(script=f"world:{world}")) as server:
        folder, stage, _ = run(server.url, f"load={load}", "workers=2")
    tasks = stage["tasks"]
    assert (tasks["tasks"], tasks["failed"], tasks["fallbacks"]) == (QUESTIONS, 0, {})
    assert score(folder)[:2] == (QUESTIONS, QUESTIONS)
    legs = list(Trace(folder / "trace.parquet").legs())
    whole = {leg.leg_id: leg for leg in legs if leg.kind == "task"}
    parts = [leg for leg in legs if leg.kind != "task"]
    assert len(whole) == QUESTIONS
    assert {leg.kind for leg in parts} == {"llm", "embed", "search"}
    for leg in parts:
        task = whole[leg.parent_id or 0]
        assert task.task_id == leg.task_id
        assert (task.started or 0) <= (leg.started or 0) <= (leg.ended or 0) <= (task.ended or 0)
    assert sum(leg.items or 0 for leg in whole.values()) == sum(leg.kind == "llm" for leg in parts) == stage["requests"]
    assert all(leg.queued_ns is not None and leg.service_ns is not None for leg in parts if leg.kind != "llm")
    assert all((leg.scheduled is not None) == (load != "concurrency:8") for leg in whole.values())


def test_one_that_errs_on_a_tenth_scores_nine_tenths(world: Path, run: Any) -> None:
    with start_scripted(ScriptedConfig(script=f"world:{world}", settings={"wrong": 0.1})) as server:
        folder, stage, _ = run(server.url, accuracy={"reference": "95%", "share": "95%"})
    assert stage["tasks"]["failed"] == 0
    right, planned, told = score(folder)
    assert (right, planned) == (36, 40)
    assert told["accuracy"] == pytest.approx(0.9)
    # The file's own gate: 95 % of 95 % is 90.25 %.
    assert told["gate"]["passed"] is False
    assert score(folder, "--reference", "0.9")[2]["gate"]["passed"] is True
    page = (folder / "report.html").read_text()
    assert "36 of 40 right" in page and "passed: 87.30% was asked for" in page


def test_one_that_plans_wrongly_loses_the_recall_that_can_be_counted(world: Path, run: Any) -> None:
    with start_scripted(ScriptedConfig(script=f"world:{world}", settings={"misdecompose": 0.2})) as server:
        folder, _, _ = run(server.url)
    answers, _ = read_answers(folder / "answers.jsonl")
    lost = [answer for answer in answers if answer.answer != answer.gold_answer]
    assert len(lost) == 8
    recalls = []
    for answer in answers:
        kept = set(answer.kept_urls or [])
        recalls.append(len(kept & set(answer.gold_urls)) / len(answer.gold_urls))
    assert all(recall == 1 for answer, recall in zip(answers, recalls, strict=True) if answer not in lost)
    assert all(recall < 1 for answer, recall in zip(answers, recalls, strict=True) if answer in lost)
    told = score(folder)[2]
    official = [official_prf(answer.kept_urls or [], answer.gold_urls).recall for answer in answers]
    assert told["retrieval"]["official"]["recall"] == pytest.approx(sum(official) / QUESTIONS)


def test_broken_replies_are_counted_and_kill_no_task(world: Path, run: Any) -> None:
    kinds = {"not_json": "not JSON", "wrong_shape": "wrong shape", "empty": "empty", "refusal": "refusal"}
    kinds["huge"] = "too long"
    malformed = dict.fromkeys(kinds, 0.1)
    settings: dict[str, Any] = {"malformed": malformed, "malformed_roles": ["queries", "relevance", "sufficiency"]}
    with start_scripted(ScriptedConfig(script=f"world:{world}", settings=settings)) as server:
        _, stage, _ = run(server.url)
    tasks = stage["tasks"]
    assert (tasks["tasks"], tasks["failed"]) == (QUESTIONS, 0)
    for name in kinds.values():
        assert tasks["fallbacks"][f"queries: {name}"] >= 4
    assert all(why.endswith(tuple(kinds.values())) for why in tasks["fallbacks"])


def test_an_endpoint_that_goes_away_fails_the_rest_which_stay_failed(world: Path, run: Any) -> None:
    with start_scripted(ScriptedConfig(script=f"world:{world}", down_after=60)) as server:
        folder, stage, _ = run(server.url)
    tasks = stage["tasks"]
    assert tasks["tasks"] == QUESTIONS
    assert 0 < tasks["failed"] < QUESTIONS
    assert tasks["latency"]["with_failures"]["p99"] is None
    right, planned, _ = score(folder)
    assert (right, planned) == (QUESTIONS - tasks["failed"], QUESTIONS)
    answers, _ = read_answers(folder / "answers.jsonl")
    assert all(answer.answer is None and answer.error for answer in answers if answer.outcome == "failed")


def test_a_recording_drives_another_endpoint_to_the_same_end(world: Path, run: Any) -> None:
    with start_scripted(ScriptedConfig(script=f"world:{world}")) as server:
        first, before, _ = run(server.url)
    recording = first / "responses.jsonl"
    # Another system, which would answer everything wrongly and plan half of it wrongly: it does the same work.
    settings = {"wrong": 1.0, "misdecompose": 0.5}
    with start_scripted(ScriptedConfig(script=f"world:{world}", settings=settings)) as server:
        second, after, _ = run(server.url, replay=str(recording))
        lines = recording.read_bytes().splitlines(keepends=True)
        cut = first / "cut.jsonl"
        cut.write_bytes(b"".join(lines[:-3]) + b'{"question_id": "q')
        _, missing, code = run(server.url, replay=str(cut))
    assert after["tasks"]["replay"] == {"used": before["requests"]}
    assert after["requests"] == before["requests"]
    assert score(second)[:2] == (QUESTIONS, QUESTIONS)
    assert missing["tasks"]["replay"]["missing"] >= 3
    assert code == 3  # not the same work, so no measurement of it


def test_a_retrieval_server_that_dies_fails_tasks_and_is_named(world: Path, run: Any) -> None:
    killed: list[int] = []

    def kill() -> None:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and not killed:
            for process in psutil.Process().children(recursive=True):
                try:
                    if "relaymark.retrieval.server" in process.cmdline() and time.time() - process.create_time() > 1.5:
                        process.kill()
                        killed.append(process.pid)
                except psutil.Error:
                    continue
            time.sleep(0.05)

    watcher = threading.Thread(target=kill)
    paced = PacedConfig(ttft=0.15, itl=0.0, model="scripted")
    with start_scripted(ScriptedConfig(script=f"world:{world}", paced=paced)) as server:
        watcher.start()
        folder, stage, code = run(server.url)
        watcher.join()
    assert killed
    assert stage["tasks"]["failed"] > 0
    answers, _ = read_answers(folder / "answers.jsonl")
    assert any("retrieval server is gone" in (answer.error or "") for answer in answers)
    verdict = json.loads((folder / "summary.json").read_text())["verdict"]
    assert any("retrieval server ended" in reason["text"] for reason in verdict["reasons"])
    assert code == 3


class Asked(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps(
            {
                "result": {"text": "Paris" if "capital" in asked["ask"]["q"] else "no idea"},
                "from": [{"page": "u1", "text": "T"}],
            }
        ).encode()
        self.send_response(200 if "fail" not in asked["ask"]["q"] else 500)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None: ...


def test_a_service_of_the_users_own_is_asked_as_a_whole(run: Any, tmp_path: Path) -> None:
    asked = tmp_path / "q.jsonl"
    lines = [
        {"id": "1", "text": "What is the capital?", "answer": "Paris", "gold_urls": ["u1"]},
        {"id": "2", "text": "Why?", "answer": "because"},
        {"id": "3", "text": "Please fail", "answer": "x"},
    ]
    asked.write_text("".join(json.dumps(line) + "\n" for line in lines))
    server = ThreadingHTTPServer(("127.0.0.1", 0), Asked)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    service = {
        "body": {"ask": {"q": "${question}"}},
        "answer": "$.result.text",
        "urls": "$.from[*].page",
        "contexts": "$.from[*].text",
    }
    folder, stage, _ = run(
        f"http://127.0.0.1:{server.server_port}/api", questions=str(asked), index=None, service=service, requests=3
    )
    server.shutdown()
    server.server_close()
    assert (stage["tasks"]["tasks"], stage["tasks"]["failed"]) == (3, 1)
    assert [leg["name"] for leg in stage["tasks"]["legs"]] == ["service"]
    assert score(folder)[:2] == (1, 3)
    answers, _ = read_answers(folder / "answers.jsonl")
    told = {answer.question_id: (answer.kept_urls, answer.contexts) for answer in answers}
    assert told["1"] == (["u1"], ["T"])


def test_a_reranker_of_the_users_decides_what_the_llm_reads(world: Path, run: Any) -> None:
    """Of twelve that are found for each of several queries the reranker's best are kept."""

    class Reranker(BaseHTTPRequestHandler):
        asked = 0

        def do_POST(self) -> None:
            told = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            Reranker.asked += 1
            words = set(told["query"].lower().split())
            scores = [len(words & set(text.lower().split())) for text in told["documents"]]
            body = json.dumps({"results": [{"index": i, "relevance_score": s} for i, s in enumerate(scores)]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None: ...

    reranker = ThreadingHTTPServer(("127.0.0.1", 0), Reranker)
    threading.Thread(target=reranker.serve_forever, daemon=True).start()
    try:
        place = {"kind": "endpoint", "url": f"http://127.0.0.1:{reranker.server_port}"}
        with start_scripted(ScriptedConfig(script=f"world:{world}")) as server:
            folder, stage, _ = run(
                server.url,
                loop={"k": 12},
                retrieval={"embedder": {"kind": "static", "path": "wordllama"}, "reranker": place},
            )
    finally:
        reranker.shutdown()
        reranker.server_close()
    assert stage["tasks"]["failed"] == 0
    legs = list(Trace(folder / "trace.parquet").legs())
    reranks = [leg for leg in legs if leg.kind == "rerank"]
    # Where one query is asked all twelve are kept, and there is nothing to leave out.
    assert 0 < len(reranks) <= sum(leg.kind == "search" for leg in legs)
    assert 0 < Reranker.asked <= len(reranks)  # calls that wait together are one batch
    assert all(leg.service_ns and leg.queued_ns is not None and leg.outcome == "ok" for leg in reranks)
    assert score(folder)[0] >= QUESTIONS * 0.9
