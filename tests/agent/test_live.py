"""The agent that works: its shell, its tasks, its loop; and that nothing of the host is touched."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relaymark.data.repairs import repairs
from relaymark.emulate import ScriptedConfig, start_scripted
from relaymark.relay.agent.files import MAX_FILE, Files
from relaymark.relay.agent.shell import MAX_OUTPUT, Shell
from relaymark.trace.answers import read_answers
from relaymark.trace.table import Trace


def shell() -> Shell:
    return Shell(Files({"/work/a.txt": "one\ntwo\nthree\n", "/work/src/b.py": "def f():\n    return 1\n"}))


@pytest.mark.parametrize(
    ("command", "code", "output"),
    [
        ("ls", 0, "a.txt\nsrc/\n"),
        ("cat a.txt | head -2 | tail -1", 0, "two\n"),
        ("cat nope 2>/dev/null || echo none", 0, "none\n"),
        ("cat nope && echo no", 1, "cat: nope: No such file or directory\n"),
        ("false; true && echo yes", 0, "yes\n"),
        ("grep -rn return .", 0, "src/b.py:2:    return 1\n"),
        ("grep -c o a.txt", 0, "2\n"),
        ("grep -E 'one|two' a.txt; grep 'o\\|x' a.txt | wc -l", 0, "one\ntwo\n2\n"),
        ("sed -n '2,3p' a.txt", 0, "two\nthree\n"),
        ("sed -i 's/return 1/return 2/' src/b.py && cat src/b.py", 0, "def f():\n    return 2\n"),
        ("sed 's/o\\(.\\)/<&>/g' a.txt | head -n 1", 0, "<on>e\n"),
        ("find . -name '*.py'; wc -l a.txt", 0, "src/b.py\n3 a.txt\n"),
        ("cd src && pwd && cat ../a.txt | sort -r | uniq | head -1", 0, "/work/src\ntwo\n"),
        ("cat > new.txt << 'EOF'\n$x `y`\n\nEOF\ncat new.txt", 0, "$x `y`\n\n"),
        ("echo a > n; echo b >> n; cat n; rm n; cat n", 1, "a\nb\ncat: n: No such file or directory\n"),
        ("mkdir -p d && mv a.txt d/ 2>&1; mv d/x y", 1, "mv: d/x: No such file or directory\n"),
        ("python -c 'print(1)'", 127, "sh: python: not found\n"),
        ("echo 'open", 2, "sh: syntax error: no closing quotation\n"),
        ("grep '(a+)+$' a.txt", 0, None),
        ("grep -E '(a+)+$' a.txt", 1, None),
        ("printf '%s\\n' x; touch t; ls t", 0, "x\nt\n"),
    ],
)
def test_commands_do_what_they_do_in_a_shell(command: str, code: int, output: str | None) -> None:
    got = shell().run(command)
    if output is not None:
        assert got == (code, output)
    elif code:
        assert got[0] == code


HARD = st.text(alphabet="abcdef 012'\"|&;<>\n\\./*-$()[]{}+sp/", max_size=80)


@given(
    HARD
    | st.lists(st.sampled_from(["cat", "sed -i", "grep -rn", "<<", "EOF", "\n", "|", ">", "'", "a.txt", "/"])).map(
        " ".join
    )
)
def test_no_command_line_is_an_exception_or_leaves_the_memory(command: str) -> None:
    here = set(Path().iterdir())
    code, output = shell().run(command)
    assert 0 <= code <= 127
    assert len(output) <= MAX_OUTPUT + 200
    assert set(Path().iterdir()) == here


def test_what_is_written_is_bounded() -> None:
    one = shell()
    one.files.texts["/work/big"] = "x" * MAX_FILE
    assert one.run("cat big big > bigger")[0] == 2
    assert "/work/bigger" not in one.files.texts
    assert len(one.run("cat big")[1]) < MAX_OUTPUT + 100
    assert one.run("; ".join(["true"] * 60))[0] == 2


def test_every_task_can_be_solved_and_none_is_solved_already() -> None:
    for task in repairs(5, 120):
        assert not task.solved_by(task.files), task
        files = Files(dict(task.files))
        assert Shell(files).run(task.solution)[0] == 0
        assert task.solved_by(files.texts), task
    assert repairs(5, 6) == repairs(5, 120)[:6]
    assert len({task.instruction for task in repairs(5, 120)}) > 100  # few questions come twice, about other files


def table(path: Path, seed: int, count: int, *, skip: int = 0) -> Path:
    """A script that solves every task but the first ``skip``, and says that it is done."""
    lines: list[dict[str, Any]] = []
    for number, task in enumerate(repairs(seed, count)):
        if number >= skip:
            call = {"name": "bash", "arguments": json.dumps({"command": task.solution})}
            lines.append({"match": {"last": task.instruction}, "reply": {"tool_calls": [call]}})
    lines.append({"match": {}, "reply": {"content": "DONE"}})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def run(cwd: Path, url: str, *words: str) -> tuple[Path, dict[str, Any], int]:
    command = [sys.executable, "-m", "relaymark", "run", "agent-live", "--url", url, "--no-stream", "--json"]
    done = subprocess.run(
        [*command, "--out", str(cwd / "runs"), *words], capture_output=True, text=True, timeout=90, check=False
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert done.stdout, done.stderr
    return next((cwd / "runs").iterdir()), json.loads(done.stdout), done.returncode


def test_success_is_what_the_files_say_and_not_what_the_model_says(tmp_path: Path) -> None:
    script = table(tmp_path / "t.jsonl", 9, 12, skip=3)
    with start_scripted(ScriptedConfig(script=f"table:{script}")) as server:
        folder, summary, _ = run(
            tmp_path,
            server.url,
            "--seed",
            "9",
            "--load",
            "concurrency:3",
            "--set",
            "tasks=12",
            "--set",
            "accuracy={reference: 80%, share: 1.0}",
        )
    tasks = summary["stages"][0]["tasks"]
    assert (tasks["tasks"], tasks["failed"], tasks["solved"]) == (12, 0, 9)
    assert tasks["iterations"] == {"1": 3, "2": 9}
    assert tasks["tokens_per_solved"] > 0 and tasks["time_per_solved"] > 0
    answers, _ = read_answers(folder / "answers.jsonl")
    assert [answer.solved for answer in sorted(answers, key=lambda one: one.task_id)] == [False] * 3 + [True] * 9
    legs = list(Trace(folder / "trace.parquet").legs())
    assert sum(leg.kind == "tool" for leg in legs) == 9
    assert {leg.parent_id for leg in legs if leg.kind != "task"} == {leg.leg_id for leg in legs if leg.kind == "task"}
    scored = subprocess.run(
        [sys.executable, "-m", "relaymark", "score", str(folder), "--json"], capture_output=True, check=False
    )
    told = json.loads(scored.stdout)
    assert (told["accuracy"], told["gate"]["passed"], scored.returncode) == (0.75, False, 1)


def test_calls_that_make_no_sense_are_answered_in_words_and_a_loop_has_an_end(tmp_path: Path, echo_server: Any) -> None:
    bad = [
        {"name": "bash", "arguments": "{broken"},
        {"name": "rm", "arguments": "{}"},
        {"name": "bash", "arguments": '{"cmd": 1}'},
        {"name": "bash", "arguments": '{"command": "ls"}'},
    ]
    seen: list[list[dict[str, Any]]] = []

    def answer(request: Any, body: bytes) -> tuple[int, bytes]:
        if request.command == "GET":
            return 200, b'{"data": [{"id": "m"}]}'
        messages = json.loads(body)["messages"]
        seen.append(messages)
        call = {
            "id": "",
            "type": "function",
            "function": bad[sum(m["role"] == "assistant" for m in messages) % len(bad)],
        }
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        return 200, json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}).encode()

    with echo_server(answer) as url:
        folder, summary, _ = run(tmp_path, url, "--set", "tasks=1", "--set", "max_turns=5")
    tasks = summary["stages"][0]["tasks"]
    assert (tasks["failed"], tasks["solved"], tasks["iterations"]) == (0, 0, {"5": 1})
    assert sum(tasks["fallbacks"].values()) == 4
    results = [message["content"] for message in seen[-1] if message["role"] == "tool"]
    assert ["not JSON" in results[0], "no tool" in results[1], "no command" in results[2]] == [True] * 3
    assert "<returncode>0</returncode>" in results[3]
    ids = [m["tool_calls"][0]["id"] for m in seen[-1] if m["role"] == "assistant"]
    assert ids == [m["tool_call_id"] for m in seen[-1] if m["role"] == "tool"] and all(ids)
    assert "not ended after 5" in (folder / "answers.jsonl").read_text()
