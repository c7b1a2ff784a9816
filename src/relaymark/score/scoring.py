"""Scores a run from the answers it left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean

from relaymark.errors import TraceError
from relaymark.score.desk import Desk
from relaymark.score.exact import MOST, says_nothing
from relaymark.score.gate import Gate
from relaymark.score.interval import wilson
from relaymark.score.llmjudge import LlmJudge, Ruling
from relaymark.score.result import GateRecord, Score, Tasks
from relaymark.score.retrieval import RetrievalScore, RetrievalTally
from relaymark.trace import RunRecord, read_run_record
from relaymark.trace.answers import ANSWERS_FILE, AnswerReader, TaskAnswer
from relaymark.trace.runfolder import RUN_FILE

MOST_UNJUDGED = 0.01
"""Share of the tasks that a judge may fail on before the score is invalid."""


def score_answers(
    folder: Path,
    *,
    judge: LlmJudge | None = None,
    gate: Gate | None = None,
    most_unjudged: float = MOST_UNJUDGED,
    afresh: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Score:
    """Judges the answers of a run; writes ``judgements.jsonl`` into its folder.

    Args:
        folder: The run's. Its ``run.json`` says how many tasks were planned and which stages were warm-up; without one
            every answer counts.
        judge: A judging model; ``None`` judges deterministically.
        gate: What must be reached.
        most_unjudged: Share of the tasks on which the judge may fail before the score is invalid.
        afresh: Asks a judging model again for answers that it has judged already.
        progress: Is told how many of the answers that needed the model are judged, and of how many.

    Raises:
        TraceError: There are no answers in the folder, or none but a warm-up's.
        UnreachableError: The judge's endpoint went away.
    """
    record = read_run_record(folder) if (folder / RUN_FILE).exists() else None
    reader = AnswerReader(folder / ANSWERS_FILE)
    answers = _measured(reader, record)
    if not answers:
        raise TraceError("The run left no answers that could be scored.", where=str(folder / ANSWERS_FILE))
    desk = Desk(folder, judge, afresh=afresh)
    rulings = desk.rule(answers, progress)
    score = Score(
        run_id=record.run_id if record else "",
        judge=desk.record(),
        tasks=_count(answers, rulings, _planned(record, len(answers))),
        retrieval=_retrieval(answers),
        iterations=_mean([answer.iterations for answer in answers]),
        llm_calls=_mean([answer.llm_calls for answer in answers]),
        replay=_replay(answers),
        torn=reader.torn,
    )
    _rate(score, most_unjudged)
    if gate is not None:
        _apply(gate, score)
    _note(score, record)
    return score


def _measured(reader: AnswerReader, record: RunRecord | None) -> list[TaskAnswer]:
    """One answer a task, without warm-ups. A task that ran twice, in a resumed run, counts as it ended last."""
    warmups = {stage.index for stage in record.stages if stage.warmup} if record else set[int]()
    last: dict[tuple[int, int], TaskAnswer] = {}
    for answer in reader:
        if answer.stage not in warmups:
            if answer.answer is not None and len(answer.answer) > MOST:
                answer.answer = answer.answer[: MOST + 1]  # no judge looks further, and answers of 10 MB add up
            last[answer.stage, answer.task_id] = answer
    return list(last.values())


def _planned(record: RunRecord | None, ended: int) -> int:
    """Tasks that the measured stages were to run; those that ended, where only time bounds a stage."""
    stages = [stage for stage in record.stages if not stage.warmup] if record else []
    counts = [stage.planned for stage in stages if stage.planned is not None]
    return max(ended, sum(counts)) if len(counts) == len(stages) else ended


def _count(answers: Sequence[TaskAnswer], rulings: Sequence[Ruling], planned: int) -> Tasks:
    tasks = Tasks(planned=planned, missing=planned - len(answers))
    tasks.questions = len({answer.question_id for answer in answers})
    for answer, ruling in zip(answers, rulings, strict=True):
        if answer.outcome != "ok":
            tasks.failed += 1
        elif answer.gold_answer is None or not answer.gold_answer.strip():
            tasks.unknown += 1
        elif ruling.correct is None:
            tasks.unjudged += 1
        elif ruling.correct:
            tasks.correct += 1
        elif says_nothing(answer.answer):
            tasks.unanswered += 1
        else:
            tasks.wrong += 1
    return tasks


def _retrieval(answers: Sequence[TaskAnswer]) -> RetrievalScore | None:
    tally = RetrievalTally()
    for answer in answers:
        tally.add(answer.gold_urls, answer.kept_urls, answer.retrieved_urls)
    return tally.result()


def _mean(values: Sequence[int | None]) -> float | None:
    told = [value for value in values if value is not None]
    return fmean(told) if told else None


def _replay(answers: Sequence[TaskAnswer]) -> dict[str, int]:
    total: dict[str, int] = {}
    for answer in answers:
        for name, count in answer.replay.items():
            total[name] = total.get(name, 0) + count
    return total


def _rate(score: Score, most_unjudged: float) -> None:
    """Accuracy, its interval, and whether it can be trusted."""
    tasks = score.tasks
    if tasks.unjudged > most_unjudged * tasks.planned:
        score.valid = False
        problems = ", ".join(f"{problem}: {count}" for problem, count in sorted(score.judge.problems.items()))
        score.reasons.append(
            f"the judge failed on {tasks.unjudged} of {tasks.planned} tasks, more than {most_unjudged:.1%}"
            + (f" ({problems})" if problems else "")
        )
    if tasks.judged <= 0:
        score.valid = False
        score.reasons.append("no task could be judged: none has a reference answer that was compared")
        return
    score.accuracy = tasks.correct / tasks.judged
    # A question that was asked several times tells little more than once: the trials are the different questions.
    trials = min(tasks.judged, tasks.questions) or tasks.judged
    score.low, score.high = wilson(score.accuracy, trials)


def _apply(gate: Gate, score: Score) -> None:
    tasks = score.tasks
    # With some tasks unjudged, the gate is decided only if it would come out the same whichever way they went.
    least = gate.passes(tasks.correct, tasks.judged + tasks.unjudged)
    most = gate.passes(tasks.correct + tasks.unjudged, tasks.judged + tasks.unjudged)
    passed = least if least == most and tasks.judged > 0 else None
    score.gate = GateRecord(
        reference=float(gate.reference),
        share=float(gate.share),
        threshold=float(gate.threshold),
        passed=passed,
        source=gate.source,
    )
    if passed is None:
        score.valid = False
        if tasks.judged > 0:
            score.reasons.append(f"the gate hangs on {tasks.unjudged} tasks that the judge failed on")
    elif score.low is not None and score.high is not None and score.low < score.gate.threshold < score.high:
        score.notes.append("the threshold lies within the interval: another run of the same system may end differently")


def _note(score: Score, record: RunRecord | None) -> None:
    tasks = score.tasks
    if record is not None and record.status != "complete":
        score.notes.append(f"the run is {record.status}")
    if tasks.missing:
        score.notes.append(f"{tasks.missing} planned tasks left no answer; they count as failed")
    if tasks.unknown:
        score.notes.append(f"{tasks.unknown} tasks have no reference answer and are left out")
    if tasks.unjudged and score.valid:
        score.notes.append(f"the judge failed on {tasks.unjudged} tasks, which are left out")
    if score.torn:
        score.notes.append(f"{score.torn} torn lines of {ANSWERS_FILE} were left out")
    if score.judge.unconstrained:
        score.notes.append("the judge's endpoint refused the JSON schema; it was asked for JSON in words only")
    if tasks.questions and tasks.planned > tasks.questions + tasks.missing:
        score.notes.append(
            f"{tasks.planned} tasks asked {tasks.questions} different questions; the interval counts each once"
        )
    if score.retrieval is None:
        score.notes.append("no retrieval figures: the pipeline told no pages, or no task has gold pages")
    for name in ("missing", "mismatched"):
        if score.replay.get(name):
            score.notes.append(f"{score.replay[name]} recorded responses were {name}")
