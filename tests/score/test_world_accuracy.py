"""Truth first: a pipeline over the generated world scores exactly what its scripted endpoint was told to know."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from world_driver import Library, Pipeline

from relaymark.data import Question, load_questions
from relaymark.data.world import world, write_world
from relaymark.emulate import ScriptedConfig, WorldKnobs, WorldScript, start_scripted
from relaymark.score import JudgeSettings, LlmJudge, Score, make_gate, score_answers
from relaymark.trace.answers import AnswerWriter

PAGES, QUESTIONS = 300, 50


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    write_world(folder, seed=11, pages=PAGES, questions=QUESTIONS)
    return folder


@pytest.fixture(scope="module")
def asked(made: Path) -> list[Question]:
    return load_questions(made / "questions.jsonl")


@pytest.fixture(scope="module")
def library(asked: list[Question]) -> Library:
    return Library(world(11, PAGES), asked)


def run(
    folder: Path, made: Path, asked: list[Question], library: Library, *, schemas: bool = True, **knobs: Any
) -> Score:
    """Asks all questions and scores the answers."""
    folder.mkdir(exist_ok=True)
    with start_scripted(ScriptedConfig(script=f"world:{made}", settings=knobs)) as server:
        pipeline = Pipeline(server.url, library, schemas=schemas)
        with AnswerWriter(folder / "answers.jsonl") as writer:
            for number, question in enumerate(asked):
                writer.append(pipeline.ask(number, question))
        pipeline.close()
    return score_answers(folder, gate=make_gate("1.0"))


@pytest.mark.parametrize("schemas", [True, False])
@pytest.mark.parametrize("knobs", [{}, {"plan": "chain"}, {"tool_calls": True}, {"max_queries": 1}])
def test_everything_right_is_exactly_one(
    knobs: dict[str, Any], schemas: bool, tmp_path: Path, made: Path, asked: list[Question], library: Library
) -> None:
    score = run(tmp_path, made, asked, library, schemas=schemas, **knobs)
    assert score.accuracy == 1.0
    assert score.tasks.correct == score.tasks.planned == QUESTIONS
    assert score.gate is not None and score.gate.passed
    assert score.retrieval is not None
    # Nothing but the gold pages was kept, and all of them.
    assert score.retrieval.official.precision == score.retrieval.official.recall == 1.0
    if knobs == {}:
        # Three hops are asked for at once, a fourth in the next round; the answer comes the round after.
        expected = [2 if len(question.hops) <= 3 else 3 for question in asked]
        assert score.iterations == pytest.approx(sum(expected) / QUESTIONS)
    if knobs == {"max_queries": 1}:
        assert score.iterations == pytest.approx(sum(len(question.hops) + 1 for question in asked) / QUESTIONS)


@pytest.mark.parametrize(("wrong", "accuracy"), [(0.1, 0.9), (0.3, 0.7), (1.0, 0.0)])
def test_told_to_err_it_errs_exactly_so_often(
    wrong: float, accuracy: float, tmp_path: Path, made: Path, asked: list[Question], library: Library
) -> None:
    score = run(tmp_path, made, asked, library, wrong=wrong)
    assert score.accuracy == accuracy
    assert score.tasks.wrong == round(wrong * QUESTIONS)
    assert score.gate is not None and score.gate.passed is False
    assert score.retrieval is not None and score.retrieval.official.recall == 1.0


def test_other_questions_sub_queries_find_nothing(
    tmp_path: Path, made: Path, asked: list[Question], library: Library
) -> None:
    score = run(tmp_path, made, asked, library, misdecompose=0.2)
    script = WorldScript(asked, WorldKnobs(misdecompose=0.2))
    assert len(script.misdecomposed) == 10
    assert score.retrieval is not None
    # By hand: ten of fifty find no gold page and keep nothing, all others find each.
    assert score.retrieval.official.recall == pytest.approx(0.8)
    assert score.retrieval.official.precision == pytest.approx(0.8)
    assert score.accuracy == 0.8
    assert score.tasks.unanswered == 10


def test_leaving_out_the_last_hop_costs_its_share_of_recall(
    tmp_path: Path, made: Path, asked: list[Question], library: Library
) -> None:
    score = run(tmp_path, made, asked, library, misdecompose=0.5, misdecompose_how="partial")
    script = WorldScript(asked, WorldKnobs(misdecompose=0.5, misdecompose_how="partial"))
    assert len(script.misdecomposed) == 25
    by_hand = [
        (len(question.hops) - 1) / len(question.hops) if question.id in script.misdecomposed else 1.0
        for question in asked
    ]
    assert score.retrieval is not None
    assert score.retrieval.official.recall == pytest.approx(sum(by_hand) / QUESTIONS)
    assert score.retrieval.official.precision == 1.0
    assert score.accuracy == 0.5


@pytest.mark.parametrize("kind", ["not_json", "wrong_shape", "empty", "refusal"])
def test_malformed_replies_have_a_known_price(
    kind: str, tmp_path: Path, made: Path, asked: list[Question], library: Library
) -> None:
    score = run(tmp_path, made, asked, library, malformed={kind: 0.2}, malformed_roles=["relevance"])
    # A grader that can't be read keeps every document: precision falls, recall and accuracy don't.
    assert score.accuracy == 1.0
    assert score.retrieval is not None
    assert score.retrieval.normalised.recall == 1.0
    assert score.retrieval.official.precision < 0.95


def test_the_model_judge_agrees_with_the_exact_one(
    tmp_path: Path, made: Path, asked: list[Question], library: Library
) -> None:
    exact = run(tmp_path, made, asked, library, wrong=0.1)
    with start_scripted(ScriptedConfig(script=f"world:{made}")) as server:
        judged = score_answers(tmp_path, judge=LlmJudge(JudgeSettings(url=server.url)))
        assert (judged.accuracy, judged.tasks) == (exact.accuracy, exact.tasks)
        assert judged.judge.requests == QUESTIONS and judged.judge.retries == 0
        again = score_answers(tmp_path, judge=LlmJudge(JudgeSettings(url=server.url)))
        assert again.judge.requests == 0 and again.judge.reused == QUESTIONS
        assert again.accuracy == exact.accuracy
        afresh = score_answers(tmp_path, judge=LlmJudge(JudgeSettings(url=server.url)), afresh=True)
        assert afresh.judge.requests == QUESTIONS
