"""A run's score: who is in the denominator, what the gate says, and when it can't say anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from relaymark.errors import TraceError
from relaymark.score import make_gate, read_judgements, score_answers, wilson, write_score
from relaymark.score.result import Score
from relaymark.trace import RunRecord, StageRecord, write_run_record
from relaymark.trace.answers import AnswerWriter, TaskAnswer


def task(number: int, answer: str | None, gold: str | None = "Ada", **more: Any) -> TaskAnswer:
    fields: dict[str, Any] = {"question_id": f"q{number}", "question": "Who?", "outcome": "ok", **more}
    return TaskAnswer(task_id=number, answer=answer, gold_answer=gold, **fields)


def write(folder: Path, answers: list[TaskAnswer], **record: Any) -> Path:
    with AnswerWriter(folder / "answers.jsonl") as writer:
        for answer in answers:
            writer.append(answer)
    if record:
        stages = record.pop("stages", [])
        base = {"run_id": "r", "name": "n", "version": "0", "started_at": "", "url": "", "model": "", "dialect": ""}
        write_run_record(folder, RunRecord(**{**base, "status": "complete", **record}, stages=stages))
    return folder


def stage(index: int, planned: int | None, **more: Any) -> StageRecord:
    return StageRecord(index=index, name=f"s{index}", load="offline", open_loop=False, planned=planned, **more)


def test_every_planned_task_is_in_the_denominator(tmp_path: Path) -> None:
    answers = [
        task(0, "Ada"),
        task(1, "the ada"),
        task(2, "Bo"),
        task(3, None),
        task(4, "Unknown"),
        task(5, "Ada", outcome="failed", error="timeout"),  # a failed task stays failed, whatever it had to say
        task(6, None, outcome="failed"),
    ]
    score = score_answers(write(tmp_path, answers, stages=[stage(0, 10)]))
    tasks = score.tasks
    assert (tasks.planned, tasks.correct, tasks.wrong, tasks.unanswered) == (10, 2, 1, 2)
    assert (tasks.failed, tasks.missing, tasks.unjudged, tasks.unknown) == (2, 3, 0, 0)
    assert score.accuracy == 0.2
    assert (score.low, score.high) == wilson(0.2, 7)  # seven different questions were seen
    assert score.valid
    assert any("3 planned tasks left no answer" in note for note in score.notes)


def test_warm_ups_and_second_tries_do_not_count(tmp_path: Path) -> None:
    answers = [
        task(0, "Bo", stage=0),
        task(0, "Bo", stage=1),
        task(1, "Ada", stage=1),
        task(0, "Ada", stage=1),  # the run was resumed and did the task again
        task(0, "Ada", stage=2),
    ]
    score = score_answers(write(tmp_path, answers, stages=[stage(0, 5, warmup=True), stage(1, 2), stage(2, None)]))
    assert (score.tasks.planned, score.tasks.correct) == (3, 3)
    with pytest.raises(TraceError, match="no answers"):
        folder = tmp_path / "warm"
        folder.mkdir()
        score_answers(write(folder, [task(0, "Ada")], stages=[stage(0, 1, warmup=True)]))


def test_questions_asked_again_do_not_narrow_the_interval(tmp_path: Path) -> None:
    answers = [task(number, "Ada", question_id=f"q{number % 5}") for number in range(100)]
    score = score_answers(write(tmp_path, answers))
    assert score.accuracy == 1.0
    assert (score.low, score.high) == wilson(1.0, 5)
    assert any("100 tasks asked 5 different questions" in note for note in score.notes)


def test_without_a_reference_there_is_nothing_to_judge(tmp_path: Path) -> None:
    score = score_answers(write(tmp_path, [task(0, "Ada", None), task(1, "Ada", " ")]), gate=make_gate("0.5"))
    assert score.accuracy is None and not score.valid
    assert score.tasks.unknown == 2
    assert score.gate is not None and score.gate.passed is None
    mixed = tmp_path / "mixed"
    mixed.mkdir()
    score = score_answers(write(mixed, [task(0, "Ada", None), task(1, "Ada")]))
    assert score.accuracy == 1.0 and score.valid


@pytest.mark.parametrize(("right", "passed"), [(290, False), (291, True)])
def test_the_gate_at_its_edge(right: int, passed: bool, tmp_path: Path) -> None:
    answers = [task(number, "Ada" if number < right else "Bo") for number in range(1000)]
    score = score_answers(write(tmp_path, answers), gate=make_gate("0.3"))
    assert score.gate is not None
    assert score.gate.passed is passed
    assert score.gate.threshold == pytest.approx(0.291)
    assert any("within the interval" in note for note in score.notes)


def test_black_box_answers_have_accuracy_only(tmp_path: Path) -> None:
    answers = [task(number, "Ada", gold_urls=["u"]) for number in range(4)]
    score = score_answers(write(tmp_path, answers))
    assert score.accuracy == 1.0 and score.retrieval is None
    assert score.iterations is None and score.llm_calls is None
    assert any("no retrieval figures" in note for note in score.notes)


def test_what_else_is_summed_up(tmp_path: Path) -> None:
    answers = [
        task(0, "Ada", gold_urls=["u"], kept_urls=["u"], iterations=2, llm_calls=4, replay={"used": 4}),
        task(1, "Ada", gold_urls=["u"], kept_urls=[], iterations=5, replay={"used": 3, "missing": 2}),
        task(2, None, outcome="failed", gold_urls=["u"]),
    ]
    folder = write(tmp_path, answers, status="interrupted")
    with (folder / "answers.jsonl").open("ab") as file:
        file.write(b'{"task_id": 9')
    score = score_answers(folder)
    assert score.iterations == 3.5 and score.llm_calls == 4.0
    assert score.replay == {"used": 7, "missing": 2}
    assert score.torn == 1
    assert score.retrieval is not None and score.retrieval.official.recall == pytest.approx(1 / 3)
    notes = " ".join(score.notes)
    assert "interrupted" in notes and "torn" in notes and "2 recorded responses were missing" in notes


def test_an_answer_of_ten_megabytes_is_wrong_and_not_held(tmp_path: Path) -> None:
    score = score_answers(write(tmp_path, [task(0, "Ada " * 2_500_000), task(1, "Ada")]))
    assert score.accuracy == 0.5


def test_the_files_it_leaves(tmp_path: Path) -> None:
    folder = write(tmp_path, [task(0, "Ada"), task(1, "Bo"), task(2, "x", None)])
    score = score_answers(folder)
    written = write_score(folder, score)
    assert msgspec.json.decode(written.read_bytes(), type=Score) == score
    judgements = list(read_judgements(folder / "judgements.jsonl"))
    assert [(each.question_id, each.correct) for each in judgements] == [("q0", True), ("q1", False), ("q2", None)]
    assert all(each.judge == score.judge.name for each in judgements)
    score_answers(folder)  # again: the file is replaced, not appended to
    assert list(read_judgements(folder / "judgements.jsonl")) == judgements
    assert sorted(path.name for path in folder.iterdir()) == ["answers.jsonl", "judgements.jsonl", "score.json"]
