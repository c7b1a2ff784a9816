"""A score in words, for the terminal and the page alike."""

from __future__ import annotations

from relaymark.report.bfcl import bfcl_rows, bfcl_title, multi_turn_rows, multi_turn_title
from relaymark.report.findings import Mark
from relaymark.score import Score
from relaymark.score.bfcl import BfclScore
from relaymark.score.bfcl.multi_turn import MultiTurnScore
from relaymark.score.retrieval import Prf
from relaymark.score.turns import TurnScore

Row = tuple[Mark, str, str]
Scored = Score | TurnScore | BfclScore | MultiTurnScore
"""Everything that lies scored in a run's folder."""


def score_title(score: Scored) -> str:
    """What was scored by whom, and whether it counts."""
    if isinstance(score, BfclScore):
        return bfcl_title(score)
    if isinstance(score, MultiTurnScore):
        return multi_turn_title(score)
    if isinstance(score, TurnScore):
        return "Score of the turns (inline IoU: programs called, against the recorded ones)"
    return f"{'Score' if score.valid else 'Score: INVALID'} (judged by {score.judge.name})"


def score_rows(score: Scored) -> list[Row]:
    """What came out, a row each: mark, topic, sentence."""
    if isinstance(score, BfclScore):
        return bfcl_rows(score)
    if isinstance(score, MultiTurnScore):
        return multi_turn_rows(score)
    if isinstance(score, TurnScore):
        return _turn_rows(score)
    tasks = score.tasks
    rows: list[Row] = []
    if score.accuracy is not None and score.low is not None and score.high is not None:
        rows.append(
            (
                "good",
                "accuracy",
                f"{score.accuracy:.2%}: {tasks.correct} of {tasks.judged} right "
                f"(95 % interval {score.low:.2%} to {score.high:.2%})",
            )
        )
    if score.gate is not None:
        gate = score.gate
        said = {True: "passed", False: "FAILED", None: "UNDECIDED"}[gate.passed]
        from_preset = f" of {gate.source}" if gate.source else ""
        rows.append(
            (
                "good" if gate.passed else "bad",
                "gate",
                f"{said}: {gate.threshold:.2%} was asked for, {gate.share:.4g} of {gate.reference:.2%}{from_preset}",
            )
        )
    others = (
        ("wrong", tasks.wrong),
        ("without an answer", tasks.unanswered),
        ("failed", tasks.failed),
        ("never ended", tasks.missing),
        ("not judged", tasks.unjudged),
        ("without a reference", tasks.unknown),
    )
    told = ", ".join(f"{count} {what}" for what, count in others if count)
    rows.append(("good", "tasks", f"{tasks.planned} planned, {tasks.correct} right" + (f", {told}" if told else "")))
    if score.retrieval is not None:
        rows.append(("good", "pages kept", f"{_prf(score.retrieval.official)} (URLs to the letter, first ten)"))
        rows.append(("good", "", f"{_prf(score.retrieval.normalised)} (by page name, first ten)"))
        if score.retrieval.retrieved is not None:
            rows.append(
                ("good", "pages retrieved", f"{_prf(score.retrieval.retrieved)} (by page name, before grading)")
            )
    if score.iterations is not None or score.llm_calls is not None:
        parts = [f"{score.iterations:.2f} iterations" if score.iterations is not None else ""]
        parts.append(f"{score.llm_calls:.2f} LLM calls" if score.llm_calls is not None else "")
        rows.append(("good", "per task", ", ".join(part for part in parts if part)))
    judge = score.judge
    if judge.requests or judge.reused:
        rows.append(
            ("good", "judging", f"{judge.requests} requests, {judge.retries} retries, {judge.reused} verdicts kept")
        )
    return [*rows, *_remarks(score)]


def _turn_rows(score: TurnScore) -> list[Row]:
    rows: list[Row] = []
    for stage in score.stages:
        name = f"IoU, {stage.name}" if len(score.stages) > 1 else "IoU"
        if stage.score is None:
            rows.append(("note", name, "no turn has a recorded action to compare with"))
            continue
        bounds = ""
        if stage.low is not None and stage.high is not None:
            bounds = f" (95 % interval over conversations {stage.low:.4f} to {stage.high:.4f})"
        rows.append(("good", name, f"{stage.score:.4f}{bounds} over {stage.scorable:,} turns"))
        floors = (
            [f"repeating the turn before scores {stage.floor_repeat:.4f}"] if stage.floor_repeat is not None else []
        )
        if stage.floor_best is not None:
            floors.append(f"always calling {stage.floor_program} {stage.floor_best:.4f}")
        if floors:
            rows.append(("good", "floor", "; ".join(floors)))
        rows.append(
            ("good", "to the letter", f"{stage.exact:,} of {stage.scorable:,} turns called the recorded commands")
        )
    return [*rows, *(("bad", "invalid", why) for why in score.reasons), *(("note", "note", why) for why in score.notes)]


def _prf(value: Prf) -> str:
    return f"precision {value.precision:.2%}, recall {value.recall:.2%}, F1 {value.f1:.2%}"


def _remarks(score: Score) -> list[Row]:
    return [
        *(("bad", "invalid", reason) for reason in score.reasons),
        *(("note", "note", note) for note in score.notes),
    ]
