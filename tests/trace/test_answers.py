"""The answers of a run: what is appended is read, a torn line is counted, several writers don't mix."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relaymark.errors import TraceError
from relaymark.trace import answers as module
from relaymark.trace.answers import AnswerReader, AnswerWriter, TaskAnswer, read_answers


def answer(number: int, said: str | None = "x") -> TaskAnswer:
    return TaskAnswer(task_id=number, question_id=f"q{number}", question="Who?", outcome="ok", answer=said)


def test_what_is_appended_is_read(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    whole = TaskAnswer(
        task_id=1, question_id="q", question="Q?", outcome="failed", stage=2, error="timeout", gold_answer="NA",
        gold_urls=["u"], kept_urls=[], retrieved_urls=["u", "u"], iterations=3, llm_calls=7, answer_tokens=5,
        replay={"used": 6, "missing": 1},
    )  # fmt: skip
    with AnswerWriter(path) as writer:
        writer.append(whole)
        writer.append(answer(2, None))
    with AnswerWriter(path) as writer:
        writer.append(answer(3, "line\nbreaks \u2028 and \x00"))
    read, torn = read_answers(path)
    assert read == [whole, answer(2, None), answer(3, "line\nbreaks \u2028 and \x00")]
    assert torn == 0
    assert read[0].kept_urls == [] and read[1].kept_urls is None  # found nothing; doesn't tell


@pytest.mark.parametrize("cut", [1, 10, 30])
def test_a_torn_line_costs_no_other(cut: int, tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    with AnswerWriter(path) as writer:
        writer.append(answer(1))
        writer.append(answer(2))
    path.write_bytes(path.read_bytes()[:-cut])
    whole = 1 if cut > 1 else 2  # a line that lacks its line break alone is whole
    assert [each.task_id for each in read_answers(path)[0]] == [1, 2][:whole]
    assert read_answers(path)[1] == (cut > 1)
    with AnswerWriter(path) as writer:  # a successor, after the crash
        writer.append(answer(3))
    read, torn = read_answers(path)
    assert [each.task_id for each in read] == [*[1, 2][:whole], 3]
    assert torn == (cut > 1)


def test_lines_that_are_no_answers_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "answers.jsonl"
    good = b'{"task_id":1,"question_id":"q","question":"?","outcome":"ok"}\n'
    path.write_bytes(good + b"[]\n\n\xff\xfe\n" + b'{"task_id":"1"}\n' + b"x" * 300 + b"\n" + good + b"[" * 5000)
    monkeypatch.setattr(module, "MAX_LINE", 100)
    reader = AnswerReader(path)
    assert [each.task_id for each in reader] == [1, 1]
    assert reader.torn == 5
    assert len(list(reader)) == 2 and reader.torn == 5  # counted afresh


def _write(path: Path, first: int) -> None:
    with AnswerWriter(path) as writer:
        for number in range(first, first + 200):
            writer.append(answer(number, "long " * 400))


def test_writers_of_several_processes_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    spawn = multiprocessing.get_context("spawn")
    workers = [spawn.Process(target=_write, args=(path, first)) for first in (0, 1000)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    read, torn = read_answers(path)
    assert torn == 0
    assert sorted(each.task_id for each in read) == [*range(200), *range(1000, 1200)]


@given(st.text(st.characters(), max_size=40))
@settings(deadline=None, max_examples=60)
def test_any_text_can_be_kept(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("answers") / "a.jsonl"
    with AnswerWriter(path) as writer:
        writer.append(answer(1, text))
    (read,), torn = read_answers(path)
    assert torn == 0
    assert read.answer == text.encode("utf-8", "replace").decode()


def test_a_folder_without_answers(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="no answers"):
        read_answers(tmp_path / "answers.jsonl")
