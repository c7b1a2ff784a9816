"""Replays as a user runs them, against endpoints whose answers, times and caches are known."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from recorded import PROFILE_FILE, SHARED_FILE, needs_the_recording, script_of

from relaymark.data.trajectories import Trajectory, load_trajectories, write_trajectories
from relaymark.data.trajectories.synthesis import small_profile, synthesise
from relaymark.emulate import PacedConfig, ScriptedConfig, start_scripted
from relaymark.relay.agent.plan import PlannedPause
from relaymark.relay.agent.replay import pause_ns, plainly_whole
from relaymark.trace import Capture, TransferEnd
from relaymark.trace.table import Trace

CONVERSATIONS = 3


@pytest.fixture
def recorded(tmp_path: Path) -> tuple[Path, list[Trajectory]]:
    made = list(synthesise(small_profile(), seed=1, conversations=CONVERSATIONS))
    path = tmp_path / "t.jsonl"
    write_trajectories(path, made)
    return path, made


def run(cwd: Path, url: str, trajectories: Path, *settings: str, load: str = "single") -> tuple[Path, dict[str, Any]]:
    """Runs a replay; its folder and its summary."""
    file = cwd / "replay.yaml"
    told = {"kind": "agent-replay", "trajectories": str(trajectories), "endpoint": {"url": url}, "load": load}
    file.write_text(json.dumps(told))
    out = cwd / f"runs{len(list(cwd.glob('runs*')))}"
    command = [sys.executable, "-m", "relaymark", "run", str(file), "--json", "--out", str(out)]
    for setting in settings:
        command += ["--set", setting]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.stdout, done.stderr
    return next(out.iterdir()), json.loads(done.stdout)


def scripted(path: Path, **paced: Any) -> Any:
    config = PacedConfig(**{"ttft": 0.0, "itl": 0.0, "model": "scripted", **paced})
    return start_scripted(
        ScriptedConfig(script=f"record:{path}", settings={"key": "header:X-Session-ID"}, paced=config)
    )


@needs_the_recording
def test_an_endpoint_that_repeats_the_recording_scores_one(tmp_path: Path) -> None:
    script = script_of(tmp_path / "script.jsonl", load_trajectories(SHARED_FILE))
    with scripted(script) as server:
        folder, summary = run(tmp_path, server.url, SHARED_FILE)
    turns = summary["stages"][0]["turns"]
    assert (turns["turns"], turns["answered"], turns["conversations"]) == (1007, 1007, 20)
    (score,) = json.loads((folder / "score.json").read_text())["stages"]
    assert (score["score"], score["scorable"], score["exact"], score["excluded"]) == (1.0, 1006, 1006, 1)
    assert (score["floor_repeat"], score["floor_best"], score["floor_program"]) == (0.3235, 0.2625, "python")
    # 2 MB are kept of the 46 MB that were sent.
    legs = [leg for leg in Trace(folder / "trace.parquet").legs() if leg.kind == "llm"]
    assert sum(leg.bytes_out for leg in legs) > 40e6
    assert (folder / "sessions.pack").stat().st_size < 2.5e6
    latencies = [(leg.ended or 0) - (leg.sent or 0) for leg in legs]
    assert turns["latency_mean"] == pytest.approx(np.mean(latencies))


class Echo:
    """What was asked, in order; answers by a function of the request."""

    def __init__(self, answer: Callable[[dict[str, Any], int], dict[str, Any] | None]) -> None:
        self.asked: list[tuple[dict[str, str], dict[str, Any]]] = []
        self._answer = answer

    def __call__(self, request: BaseHTTPRequestHandler, body: bytes) -> tuple[int, bytes]:
        if request.command == "GET":
            return 200, b'{"data": [{"id": "m"}]}'
        asked = json.loads(body)
        self.asked.append((dict(request.headers.items()), asked))
        made = self._answer(asked, len(self.asked))
        return (500, b'{"error": {"message": "no"}}') if made is None else (200, json.dumps(made).encode())


def whole(content: str = "ok", **usage: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": content}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"object": "chat.completion", "choices": [choice], "usage": usage or None}


def test_every_prompt_is_the_recorded_history_whatever_was_answered(
    tmp_path: Path, recorded: tuple[Path, list[Trajectory]], echo_server: Any
) -> None:
    path, made = recorded
    echo = Echo(lambda asked, number: whole(f"something else entirely {number}"))
    with echo_server(echo) as url:
        folder, summary = run(tmp_path, url, path, "stream=false", "sampling.temperature=0")
    expected = [(one.id, one.messages(turn), list(one.tools)) for one in made for turn in range(len(one.turns))]
    assert [(head["X-Session-ID"], asked["messages"], asked["tools"]) for head, asked in echo.asked] == expected
    assert all(asked["temperature"] == 0 and asked["model"] == "m" for _, asked in echo.asked)
    turns = summary["stages"][0]["turns"]
    assert (turns["answered"], turns["failed"], turns["abandoned"]) == (len(expected), 0, 0)
    legs = list(Trace(folder / "trace.parquet").legs())
    order = [(leg.session_id, leg.turn) for leg in legs if leg.kind == "llm"]
    assert order == [(one.id, turn + 1) for one in made for turn in range(len(one.turns))]


def test_a_turn_that_fails_ends_its_conversation_and_makes_no_figure_better(
    tmp_path: Path, recorded: tuple[Path, list[Trajectory]], echo_server: Any
) -> None:
    path, made = recorded
    echo = Echo(lambda asked, number: None if number == 3 else whole())
    with echo_server(echo) as url:
        folder, summary = run(tmp_path, url, path, "stream=false")
    lengths = [len(one.turns) for one in made]
    turns = summary["stages"][0]["turns"]
    assert turns["turns"] == sum(lengths)
    assert (turns["failed"], turns["abandoned"]) == (1, lengths[0] - 3)
    assert not summary["verdict"]["valid"]
    assert "turns" in {reason["code"] for reason in summary["verdict"]["reasons"]}
    legs = [leg for leg in Trace(folder / "trace.parquet").legs() if leg.kind == "llm" and leg.outcome == "ok"]
    latencies = [(leg.ended or 0) - (leg.sent or 0) for leg in legs]
    assert turns["latency_mean"] == pytest.approx(np.mean(latencies))
    assert len(echo.asked) == 3 + sum(lengths[1:])  # the others' conversations went on


def test_caching_is_counted_and_a_server_that_begins_anew_is_named(
    tmp_path: Path, recorded: tuple[Path, list[Trajectory]], echo_server: Any
) -> None:
    path, _ = recorded

    def tokens(asked: dict[str, Any]) -> int:
        return len(asked["messages"]) * 100

    def keeping(asked: dict[str, Any], number: int) -> dict[str, Any]:
        cached = max(0, tokens(asked) - 200)
        return whole(prompt_tokens=tokens(asked), completion_tokens=5, prompt_tokens_details={"cached_tokens": cached})

    def forgetting(asked: dict[str, Any], number: int) -> dict[str, Any]:
        return whole(prompt_tokens=tokens(asked), completion_tokens=5, prompt_tokens_details={"cached_tokens": 10})

    found: list[dict[str, Any]] = []
    for answer in (keeping, forgetting):
        with echo_server(Echo(answer)) as url:
            found.append(run(tmp_path, url, path, "stream=false")[1])
    kept, forgot = (one["stages"][0]["turns"] for one in found)
    # Each turn brings an answer and a result, two messages: all before them could be kept, and was.
    assert kept["cached_share"] == pytest.approx(kept["ideal_share"], abs=0.03)
    assert (kept["reprocessed"], forgot["reprocessed"]) == (0, forgot["comparable"])
    codes = [{warning["code"] for warning in one["verdict"]["warnings"]} for one in found]
    assert "reprocessed" not in codes[0] and "reprocessed" in codes[1]


def test_sessions_under_load_wait_in_between_and_carry_a_salt(
    tmp_path: Path, recorded: tuple[Path, list[Trajectory]], echo_server: Any
) -> None:
    path, made = recorded
    echo = Echo(lambda asked, number: whole())
    with echo_server(echo) as url:
        folder, summary = run(
            tmp_path,
            url,
            path,
            "stream=false",
            "tools=fixed:30ms",
            "salt=pass",
            "session_headers=[X-Affinity, X-Session-ID]",
            f"requests={2 * CONVERSATIONS}",
            load="concurrency:3",
        )
    legs = list(Trace(folder / "trace.parquet").legs())
    pauses = [leg for leg in legs if leg.kind == "tool"]
    waiting = sum(turn.role == "tool" for one in made for turn in one.turns)
    assert len(pauses) == 2 * waiting
    assert all(25e6 < (leg.ended or 0) - (leg.started or 0) < 2e9 for leg in pauses)
    for session in {leg.session_id for leg in legs}:
        turns = sorted((leg for leg in legs if leg.session_id == session and leg.kind == "llm"), key=lambda x: x.turn)
        gaps = [(b.sent or 0) - (a.ended or 0) for a, b in itertools.pairwise(turns)]
        assert min(gaps) > 25e6  # the tool's time is between turns, and in none of them
    systems: dict[str, set[str]] = {}
    for head, asked in echo.asked:
        assert head["X-Affinity"] == head["X-Session-ID"]
        systems.setdefault(head["X-Session-ID"], set()).add(asked["messages"][0]["content"])
    assert len(systems) == 2 * CONVERSATIONS and all(len(texts) == 1 for texts in systems.values())
    salts = [next(iter(texts)) for texts in systems.values()]
    heads = {text.partition("\n\n")[0] for text in salts}
    tails = {text.rpartition("\n\n")[2] for text in salts}
    assert (len(heads), len(tails)) == (2, CONVERSATIONS)  # one for each pass, one for each conversation
    assert all(len(text.removeprefix("[salt: ").removesuffix("]")) == 16 for text in heads | tails)
    assert summary["stages"][0]["tasks"]["tasks"] == 2 * CONVERSATIONS


def test_a_run_that_was_killed_goes_on_with_the_conversations_that_are_missing(
    tmp_path: Path, recorded: tuple[Path, list[Trajectory]]
) -> None:
    path, made = recorded
    script = script_of(tmp_path / "script.jsonl", made)
    with scripted(script, ttft=0.05) as server:
        file = tmp_path / "replay.yaml"
        file.write_text(
            json.dumps(
                {"kind": "agent-replay", "trajectories": str(path), "endpoint": {"url": server.url}, "load": "single"}
            )
        )
        command = [sys.executable, "-m", "relaymark", "run", str(file), "--out", str(tmp_path / "killed")]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:  # until the second conversation is under way
            time.sleep(0.05)
            stats = list((tmp_path / "killed").glob("*/worker-0-*.journal"))
            if stats and stats[0].read_bytes().count(made[1].id.encode()) > 1:
                break
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    earlier = next((tmp_path / "killed").iterdir())
    rest = list(made[1:])
    with scripted(script_of(tmp_path / "rest.jsonl", rest), ttft=0.05) as server:
        # Another port is another endpoint, unless it is named as the same.
        command = [sys.executable, "-m", "relaymark", "run", str(file), "--resume", str(earlier)]
        command += ["--out", str(tmp_path / "x"), "--url", server.url]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 2 and "another endpoint" in done.stderr
        record = json.loads((earlier / "run.json").read_text())
        (earlier / "run.json").write_text(json.dumps({**record, "url": server.url}))
        folder, summary = run(tmp_path, server.url, path, f"resume={earlier}")
    turns = summary["stages"][0]["turns"]
    assert (turns["answered"], turns["turns"]) == (sum(len(one.turns) for one in made),) * 2
    assert any("went on with" in note for note in summary["notes"])
    legs = [leg for leg in Trace(folder / "trace.parquet").legs() if leg.kind == "llm"]
    assert len({leg.leg_id for leg in legs}) == len(legs)
    begin = min(leg.sent or 0 for leg in legs)
    assert {leg.session_id for leg in legs if leg.sent == begin} == {made[0].id}
    assert json.loads((folder / "score.json").read_text())["stages"][0]["score"] == 1.0


def test_reasoning_on_and_off_are_the_same_turns_set_beside_one_another(
    tmp_path: Path, recorded: tuple[Path, list[Trajectory]], echo_server: Any
) -> None:
    path, made = recorded

    def answer(asked: dict[str, Any], number: int) -> dict[str, Any]:
        thinking = asked["chat_template_kwargs"]["enable_thinking"]
        time.sleep(0.03 if thinking else 0.01)
        return whole(prompt_tokens=9, completion_tokens=50 if thinking else 10)

    echo = Echo(answer)
    with echo_server(echo) as url:
        _, summary = run(tmp_path, url, path, "stream=false", "reasoning=both")
    (one,) = summary["reasoning"]
    assert one["turns"] == sum(len(each.turns) for each in made)
    assert one["tokens_ratio"] == pytest.approx(5.0)
    assert 1.5 < one["ratio"] < 3.5
    assert one["ratio_low"] <= one["ratio"] <= one["ratio_high"]


def test_pauses_have_the_mean_they_are_told() -> None:
    draw = Random(1)
    assert pause_ns(PlannedPause(kind="recorded", scale=0.5), 2_000, draw) == 1_000
    assert pause_ns(PlannedPause(kind="recorded"), -1, draw) == 0
    assert pause_ns(PlannedPause(kind="fixed", mean_ns=7), 2_000, draw) == 7
    for kind in ("exponential", "lognormal"):
        pause = PlannedPause(kind=kind, mean_ns=10**9, sigma=0.8)
        values = [pause_ns(pause, -1, draw) for _ in range(20_000)]
        assert np.mean(values) == pytest.approx(1e9, rel=0.05)


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"


@pytest.mark.parametrize(
    ("raw", "end", "plain"),
    [
        (HEAD + b'data: {"x": "say \\"error\\""}\n\ndata: [DONE]\n\n', TransferEnd.COMPLETE, True),
        (HEAD + b'data: {"error": {}}\n\ndata: [DONE]\n\n', TransferEnd.COMPLETE, False),
        (HEAD + b"data: {}\n\n", TransferEnd.COMPLETE, False),
        (HEAD + b"data: [DONE]\n\n", TransferEnd.EOF, False),
        (HEAD.replace(b"200", b"500") + b"data: [DONE]\n\n", TransferEnd.COMPLETE, False),
    ],
)
def test_only_what_can_be_nothing_but_good_is_not_looked_into(raw: bytes, end: TransferEnd, plain: bool) -> None:
    assert plainly_whole(Capture(leg_id=1, task_id=1, request=-1, raw=raw, end=end)) is plain


def test_the_profile_is_where_the_recording_is() -> None:
    assert PROFILE_FILE.exists() == SHARED_FILE.exists()
