"""Gives every task of a run its ruling, and keeps the rulings so that judging can be broken off and gone on with."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from relaymark.score.exact import judge_exact, says_nothing
from relaymark.score.judgement import JUDGEMENTS_FILE, Judgement, read_judgements, subject_of
from relaymark.score.llmjudge import Case, LlmJudge, Ruling
from relaymark.score.result import JudgeRecord
from relaymark.trace.answers import TaskAnswer

EXACT = "exact:1"
"""The deterministic judge and the version of its rules."""


class Desk:
    """Judges with a model, or deterministically without one.

    Args:
        folder: The run's; the rulings go into its ``judgements.jsonl``.
        judge: A judging model.
        afresh: Asks the model again for what it has judged already.
    """

    def __init__(self, folder: Path, judge: LlmJudge | None = None, *, afresh: bool = False) -> None:
        self._folder = folder
        self._judge = judge
        self._afresh = afresh
        self.name = EXACT if judge is None else judge.name
        self._reused = 0

    def rule(self, answers: Sequence[TaskAnswer], progress: Callable[[int, int], None] | None = None) -> list[Ruling]:
        """One ruling for each answer; what is no answer is wrong without asking anybody.

        Raises:
            UnreachableError: The judge's endpoint went away; what it had judged is kept.
        """
        kept = self._kept()
        rulings = [self._at_once(answer, kept) for answer in answers]
        open_places = [place for place, ruling in enumerate(rulings) if ruling is None]
        keeper = _Keeper(self._folder / JUDGEMENTS_FILE, self.name)
        try:
            for answer, ruling in zip(answers, rulings, strict=True):
                if ruling is not None:
                    keeper.add(answer, ruling)
            keeper.publish()
            if self._judge is not None and open_places:
                done = 0

                def told(number: int, ruling: Ruling) -> None:
                    nonlocal done
                    done += 1
                    place = open_places[number]
                    rulings[place] = ruling
                    keeper.add(answers[place], ruling)
                    if progress is not None:
                        progress(done, len(open_places))

                cases = [_case(answers[place]) for place in open_places]
                self._judge.judge(cases, told)
        finally:
            keeper.close()
        return [ruling or Ruling(None, "never judged", 0) for ruling in rulings]

    def record(self) -> JudgeRecord:
        """Who judged, and what it took."""
        record = JudgeRecord(name=self.name, reused=self._reused)
        if self._judge is not None:
            counts = self._judge.counts
            record.url = self._judge.settings.url
            record.requests, record.retries = counts.requests, counts.retries
            record.prompt_tokens, record.completion_tokens = counts.prompt_tokens, counts.completion_tokens
            record.unconstrained = counts.unconstrained
            record.problems = dict(counts.problems)
        return record

    def _kept(self) -> dict[str, Ruling]:
        """The model's earlier rulings by what was judged. A failure to judge is no ruling."""
        if self._judge is None or self._afresh:
            return {}
        return {
            each.subject: Ruling(each.correct, each.why, each.requests)
            for each in read_judgements(self._folder / JUDGEMENTS_FILE)
            if each.judge == self.name and each.correct is not None and each.subject
        }

    def _at_once(self, answer: TaskAnswer, kept: dict[str, Ruling]) -> Ruling | None:
        """The ruling on an answer that no model need be asked about."""
        if answer.outcome != "ok":
            return Ruling(False, "the task failed", 0)
        if answer.gold_answer is None or not answer.gold_answer.strip():
            return Ruling(None, "nobody knows the right answer", 0)
        said = answer.answer
        if self._judge is None:
            return Ruling(*judge_exact(answer.gold_answer, said), 0)
        if said is None or (says_nothing(said) and not judge_exact(answer.gold_answer, said).correct):
            return Ruling(False, "no answer", 0)
        known = kept.get(_subject(answer))
        self._reused += known is not None
        return known


def _case(answer: TaskAnswer) -> Case:
    return Case(answer.question, answer.gold_answer or "", answer.answer or "")


def _subject(answer: TaskAnswer) -> str:
    return subject_of(*_case(answer))


class _Keeper:
    """Writes rulings to a fresh file that takes the old one's place once it holds all that the old one is good for."""

    def __init__(self, path: Path, judge: str) -> None:
        self._path = path
        self._judge = judge
        self._fresh = path.with_name(f".{path.name}.{os.getpid()}")
        self._file = self._fresh.open("wb")
        self._published = False

    def add(self, answer: TaskAnswer, ruling: Ruling) -> None:
        """Adds a ruling; after :meth:`publish` it reaches the kernel at once."""
        judgement = Judgement(
            task_id=answer.task_id,
            stage=answer.stage,
            question_id=answer.question_id,
            correct=ruling.correct,
            why=ruling.why,
            judge=self._judge,
            subject=_subject(answer),
            requests=ruling.requests,
        )
        self._file.write(msgspec.json.encode(judgement) + b"\n")
        if self._published:
            self._file.flush()

    def publish(self) -> None:
        """Puts the file in its place."""
        self._file.flush()
        self._fresh.replace(self._path)
        self._published = True

    def close(self) -> None:
        """Closes the file; one that never came to its place is deleted."""
        self._file.close()
        if not self._published:
            self._fresh.unlink(missing_ok=True)
