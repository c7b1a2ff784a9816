"""How near a model's turns come to the recorded ones: MLPerf's inline IoU of a replayed agent, and what it is worth.

Every turn is asked with the recorded history, so this says whether the model would have taken the recorded next step,
not whether it solves the task. The score has a floor well above zero, which is therefore given beside it: what is
reached by always calling the most frequent program, and by repeating the turn before.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean

import msgspec
import numpy as np

from relaymark.errors import TraceError
from relaymark.score.actions import actions_of, overlap
from relaymark.trace import read_run_record
from relaymark.trace.runfolder import RUN_FILE
from relaymark.trace.turns import TURNS_FILE, SaidCall, TurnRecorded, TurnSaid, read_recorded, read_said

_WORKFLOW = re.compile(r"^sim_\d+$")
_INTENT = re.compile(r"intent:\s*(I\d{3})\b", re.IGNORECASE)
_BARE_INTENT = re.compile(r"\b(I\d{3})\b", re.IGNORECASE)
_RESAMPLES = 2_000


class StageScore(msgspec.Struct, kw_only=True):
    """The turns of one stage. ``score`` and its 95 % interval (bootstrap over conversations) are from 0 to 1."""

    stage: int
    name: str
    score: float | None
    low: float | None
    high: float | None
    scorable: int  # turns with a recorded action, of conversations that were begun
    answered: int  # of them
    exact: int  # of them, with commands equal to the recorded ones to the letter
    excluded: int  # turns without a recorded action
    conversations: int
    floor_repeat: float | None  # what repeating the turn before would score
    floor_best: float | None  # what always calling the most frequent program would score
    floor_program: str = ""


class TurnScore(msgspec.Struct, kw_only=True):
    """``score.json`` of a replay."""

    schema: int = 1
    kind: str = "turns"
    run_id: str = ""
    stages: list[StageScore] = []
    valid: bool = True
    reasons: list[str] = []
    notes: list[str] = []


def score_turns(folder: Path) -> TurnScore:
    """Scores the turns of a run from what it left.

    Raises:
        TraceError: It left none.
    """
    said: dict[int, dict[str, dict[int, TurnSaid]]] = defaultdict(lambda: defaultdict(dict))
    for turn in read_said(folder):
        if not turn.warmup:
            said[turn.stage][turn.session][turn.turn] = turn
    if not said:
        raise TraceError("The run left no turns that could be scored.", where=str(folder / TURNS_FILE))
    record = read_run_record(folder) if (folder / RUN_FILE).exists() else None
    names = {stage.index: stage.name for stage in record.stages} if record else {}
    recorded: dict[str, list[TurnRecorded]] = defaultdict(list)
    for one in read_recorded(folder):
        recorded[one.conversation].append(one)
    score = TurnScore(run_id=record.run_id if record else "")
    for stage in sorted(said):
        score.stages.append(_stage(stage, names.get(stage, ""), said[stage], recorded))
    missing = sum(one.scorable - one.answered for one in score.stages)
    if missing:
        score.valid = False
        score.reasons.append(f"{missing:,} turns were not answered; each counts as 0")
    return score


def _stage(
    index: int, name: str, sessions: dict[str, dict[int, TurnSaid]], recorded: dict[str, list[TurnRecorded]]
) -> StageScore:
    by_session: list[list[float]] = []
    answered = exact = excluded = 0
    programs: Counter[str] = Counter()
    wanted_all: list[Counter[str]] = []
    repeats: list[float] = []
    for turns in sessions.values():
        conversation = next(iter(turns.values())).conversation
        scores: list[float] = []
        before: Counter[str] = Counter()
        for one in recorded[conversation]:
            told = turns.get(one.turn)
            good = told is not None and told.outcome in ("ok", "ok_length")
            if _WORKFLOW.match(conversation):
                if not one.intents:
                    excluded += 1
                    continue
                right = good and told is not None and _intent(told) in {code.upper() for code in one.intents}
                scores.append(float(right))
                answered += good
                exact += right
                continue
            wanted = actions_of(one.calls)
            if not wanted:
                excluded += 1
                before = wanted
                continue
            done = actions_of(told.calls) if good and told is not None else Counter[str]()
            scores.append(overlap(wanted, done))
            answered += good
            exact += good and told is not None and _commands(told.calls) == _commands(one.calls)
            repeats.append(overlap(wanted, before))
            programs.update(set(wanted))
            wanted_all.append(wanted)
            before = wanted
        by_session.append(scores)
    every = [value for scores in by_session for value in scores]
    low, high = _interval(by_session)
    best = max(programs, key=lambda program: _always(program, wanted_all), default="")
    return StageScore(
        stage=index,
        name=name,
        score=round(fmean(every), 4) if every else None,
        low=low,
        high=high,
        scorable=len(every),
        answered=answered,
        exact=exact,
        excluded=excluded,
        conversations=len(sessions),
        floor_repeat=round(fmean(repeats), 4) if repeats else None,
        floor_best=round(_always(best, wanted_all), 4) if best else None,
        floor_program=best,
    )


def _always(program: str, wanted: Iterable[Counter[str]]) -> float:
    only = Counter((program,))
    return fmean(overlap(one, only) for one in wanted)


def _commands(calls: Iterable[SaidCall]) -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    for call in calls:
        try:
            found.append((call.name, msgspec.json.decode(call.arguments)))
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            found.append((call.name, call.arguments))
    return found


def _intent(told: TurnSaid) -> str | None:
    """The code that a workflow turn decides on: the first that is announced, else the last that is named."""
    texts = [told.reasoning or "", told.content or ""]
    for text in texts:
        if (match := _INTENT.search(text)) is not None:
            return match[1].upper()
    for text in texts:
        if found := _BARE_INTENT.findall(text):
            return found[-1].upper()
    return None


def _interval(by_session: list[list[float]]) -> tuple[float | None, float | None]:
    """95 % interval of the mean over turns, drawn anew by conversation: turns of one are not independent."""
    sums = np.array([sum(scores) for scores in by_session])
    counts = np.array([len(scores) for scores in by_session])
    if len(sums) < 2 or not counts.sum():
        return None, None
    draws = np.random.default_rng(0).integers(0, len(sums), (_RESAMPLES, len(sums)))
    means = sums[draws].sum(1) / np.maximum(counts[draws].sum(1), 1)
    low, high = np.quantile(means, [0.025, 0.975])
    return round(float(low), 4), round(float(high), 4)
