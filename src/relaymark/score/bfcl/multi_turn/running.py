"""Has conversations with an endpoint, many at a time, and keeps every answer: it can be broken off and gone on with."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from relaymark.data.fetching import mpmath_folder
from relaymark.dialects import Decoded
from relaymark.score.bfcl.multi_turn.conversation import Conversation, Step
from relaymark.score.bfcl.multi_turn.entries import SUBSETS, load_entries, wheel_folder
from relaymark.score.bfcl.multi_turn.scoring import SCORE_FILE, MultiTurnScore, SubsetTally
from relaymark.score.bfcl.multi_turn.world import Worlds
from relaymark.score.bfcl.writing import write_json
from relaymark.score.calling import Caller, CallerSettings
from relaymark.score.interval import wilson
from relaymark.trace.turns import SaidCall

ANSWERS_FILE = "bfcl_multi_turn.jsonl"


def run_multi_turn(
    folder: Path,
    data: Path,
    settings: CallerSettings,
    *,
    sampling: dict[str, Any],
    subsets: tuple[str, ...] = SUBSETS,
    limit: int | None = None,
    afresh: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> MultiTurnScore:
    """Has what conversations are left, writes ``bfcl_multi_turn.jsonl`` and ``bfcl_multi_turn.json`` into ``folder``.

    Raises:
        ConfigError: The data or the settings can't be used.
        UnreachableError: The endpoint went away; what it had answered is kept.
    """
    entries = load_entries(data, subsets, limit)
    caller = Caller(settings)
    kept = {} if afresh else _kept(folder / ANSWERS_FILE, caller.model)
    steps = 0
    with (
        Worlds([wheel_folder(data), mpmath_folder()]) as worlds,
        (folder / ANSWERS_FILE).open("ab" if kept else "wb") as file,
    ):
        every = [Conversation(entry, worlds) for entry in entries]
        for conversation in every:
            steps += _take_kept(conversation, kept.get(conversation.entry.id, {}))
        told = sum(one.right is not None for one in every)
        # In rounds: each conversation that goes on is asked once, so many at a time.
        while asking := [one for one in every if one.right is None]:

            def take(place: int, decoded: Decoded, asking: list[Conversation] = asking) -> None:
                nonlocal told, steps
                conversation = asking[place]
                step = _step(conversation, decoded, caller)
                file.write(msgspec.json.encode(step) + b"\n")
                file.flush()
                steps += 1
                conversation.take(step)
                told += conversation.right is not None
                if progress is not None:
                    progress(told, len(every))

            bodies = [
                caller.body(messages=one.messages, sampling=sampling, extra={"tools": one.tools, "tool_choice": "auto"})
                for one in asking
            ]
            caller.call(bodies, take)
    score = _score(every)
    score.model, score.url, score.steps = caller.model, settings.url, steps
    write_json(folder / SCORE_FILE, score)
    return score


def _take_kept(conversation: Conversation, kept: dict[tuple[int, int], Step]) -> int:
    """Goes on by what an earlier asking was answered, without asking; how many answers that were."""
    taken = 0
    while conversation.right is None and (step := kept.get((conversation.turn, conversation.step))) is not None:
        conversation.take(step)
        taken += 1
    return taken


def _step(conversation: Conversation, decoded: Decoded, caller: Caller) -> Step:
    text = caller.redact(decoded.texts[0]) if decoded.texts and decoded.texts[0] else None
    good = decoded.outcome.good
    return Step(
        id=conversation.entry.id,
        turn=conversation.turn,
        step=conversation.step,
        asked=caller.model,
        outcome=decoded.outcome.value,
        why="" if good else caller.redact(decoded.error_message or decoded.outcome.value)[:300],
        content=text,
        calls=[SaidCall(caller.redact(call.name), caller.redact(call.arguments)) for call in decoded.tool_calls],
    )


def _kept(path: Path, asked: str) -> dict[str, dict[tuple[int, int], Step]]:
    """Answers of an earlier asking of the same model by conversation; failures are asked again."""
    kept: dict[str, dict[tuple[int, int], Step]] = defaultdict(dict)
    if not path.is_file():
        return kept
    decode = msgspec.json.Decoder(Step).decode
    for line in path.read_bytes().splitlines():
        try:
            step = decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
        if step.asked == asked and step.outcome in ("ok", "ok_length"):
            kept[step.id][step.turn, step.step] = step
    return kept


def _score(every: list[Conversation]) -> MultiTurnScore:
    score = MultiTurnScore(entries=len(every))
    why: Counter[str] = Counter()
    for conversation in every:
        tally = score.subsets.setdefault(conversation.entry.subset, SubsetTally())
        tally.entries += 1
        tally.right += conversation.right is True
        tally.turns += len(conversation.entry.turns)
        tally.turns_right += conversation.turn
        score.failed += conversation.failed
        score.unheard += conversation.unheard
        if not conversation.right:
            why["a call failed" if conversation.failed else conversation.why] += 1
    for tally in score.subsets.values():
        tally.low, tally.high = wilson(tally.share, tally.entries)
    score.right = sum(tally.right for tally in score.subsets.values())
    if score.subsets:
        score.overall = sum(tally.share for tally in score.subsets.values()) / len(score.subsets)
        score.low, score.high = wilson(score.overall, score.entries)
    score.why_wrong = dict(why.most_common())
    if score.unheard:
        score.notes.append(
            f"{score.unheard:,} answers held calls in their text that the server did not hand over as tool calls; "
            "they were not made. Is its tool-call parser on?"
        )
    return score
