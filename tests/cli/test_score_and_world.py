"""``relaymark data world``, ``emulate --script`` and ``score`` from the command line: files, tables, exit codes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from calling import call_here as call

from relaymark.data import load_questions
from relaymark.emulate import ScriptedConfig, start_scripted
from relaymark.trace.answers import AnswerWriter, TaskAnswer


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    done = call("data", "world", "--pages", "40", "--out", str(folder / "w"), "--questions", "20", "--tsv", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "40 pages" in done.stdout and "20 questions" in done.stdout
    return folder / "w"


@pytest.fixture
def run(tmp_path: Path, made: Path) -> Path:
    """Eighteen right answers of twenty."""
    with AnswerWriter(tmp_path / "answers.jsonl") as writer:
        for number, question in enumerate(load_questions(made / "questions.jsonl")):
            answer = TaskAnswer(task_id=number, question_id=question.id, question=question.text, outcome="ok")
            answer.answer = question.answer if number > 1 else "[bold]nobody[/bold]"
            answer.gold_answer, answer.gold_urls, answer.kept_urls = question.answer, question.gold_urls, []
            writer.append(answer)
    return tmp_path


def test_a_world_that_is_there_already(made: Path, tmp_path: Path) -> None:
    words = ["data", "world", "--out", str(made), "--questions", "20"]
    assert call(*words, "--pages", "40", cwd=tmp_path).returncode == 0
    other = call(*words, "--pages", "41", cwd=tmp_path)
    assert other.returncode == 2 and "another world" in other.stderr and str(made) in other.stderr
    small = call("data", "world", "--pages", "3", "--out", "x", cwd=tmp_path)
    assert small.returncode == 2 and "30 to 100,000" in small.stderr


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ([], 0, "90.00%: 18 of 20 right"),
        (["--reference", "0.9"], 0, "passed: 87.30% was asked for"),
        (["--reference", "95%", "--gate", "1"], 1, "FAILED: 95.00% was asked for"),
        (["--reference", "mlperf/v6.1/e2e-rag-qna"], 0, "33.95%"),
    ],
)
def test_the_gate_decides_the_exit_code(words: list[str], code: int, says: str, run: Path) -> None:
    done = call("score", str(run), *words, cwd=run)
    assert done.returncode == code
    assert says in " ".join(done.stdout.split())
    assert done.stderr == ""
    score = json.loads((run / "score.json").read_bytes())
    assert score["tasks"]["correct"] == 18
    assert score["retrieval"]["official"]["recall"] == 0


def test_as_json(run: Path) -> None:
    done = call("score", str(run), "--json", cwd=run)
    assert json.loads(done.stdout)["accuracy"] == 0.9
    assert done.stdout == (run / "score.json").read_text()


def test_a_model_judge(run: Path, made: Path) -> None:
    with start_scripted(ScriptedConfig(script=f"world:{made}")) as server:
        done = call("score", str(run), "--url", server.url, cwd=run)
    assert done.returncode == 0
    assert "18 of 20 right" in " ".join(done.stdout.split())
    assert "llm:scripted" in done.stdout
    silent = {"malformed": {"refusal": 1.0}, "malformed_roles": ["judge"]}
    with start_scripted(ScriptedConfig(script=f"world:{made}", settings=silent)) as server:
        done = call("score", str(run), "--url", server.url, "--afresh", "--reference", "0.5", cwd=run)
    assert done.returncode == 3
    assert "INVALID" in done.stdout and "UNDECIDED" in done.stdout


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--gate", "0.9"], 2, "--reference"),
        (["--reference", "35"], 2, "35%"),
        (["--judge", "llm"], 2, "--url"),
        (["--judge", "exact", "--url", "http://127.0.0.1:9"], 2, "asks no endpoint"),
        (["--url", "http://127.0.0.1:9"], 4, "cannot be reached"),
        (["--judge-failures", "x"], 2, "--judge-failures"),
    ],
)
def test_bad_usage(words: list[str], code: int, says: str, run: Path) -> None:
    done = call("score", str(run), *words, cwd=run)
    assert done.returncode == code
    assert says in done.stderr
    assert done.stdout == ""


def test_a_folder_with_nothing_to_score(tmp_path: Path) -> None:
    done = call("score", str(tmp_path), cwd=tmp_path)
    assert done.returncode == 2 and "answers.jsonl" in done.stderr


def test_a_scripted_endpoint(made: Path, tmp_path: Path) -> None:
    program = "import sys; from relaymark.cli import main; sys.exit(main(sys.argv[1:]))"
    words = ["emulate", "--script", f"world:{made}", "--wrong", "0.1", "--malformed", "empty=0.2", "--down-after", "5"]
    with subprocess.Popen(
        [sys.executable, "-c", program, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("http://127.0.0.1:")
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    for bad in (["--malformed", "empty"], ["--malformed", "rude=0.1"], ["--wrong", "7"]):
        done = call("emulate", "--script", f"world:{made}", *bad, cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr.startswith("relaymark: ")
