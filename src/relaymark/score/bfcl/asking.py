"""Asks an endpoint BFCL's samples and keeps its answers, so that asking can be broken off and gone on with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from relaymark.dialects import Decoded
from relaymark.score.bfcl.checking import check_calls
from relaymark.score.bfcl.extracting import calls_of
from relaymark.score.bfcl.loading import Sample, ids_sha256, load_samples
from relaymark.score.bfcl.scoring import SCORE_FILE, BfclScore, apply_gate, score_of
from relaymark.score.bfcl.selection import BY_NAME
from relaymark.score.bfcl.tools import tools_of
from relaymark.score.bfcl.writing import write_json
from relaymark.score.calling import Caller, CallerSettings
from relaymark.score.interval import wilson
from relaymark.trace.turns import SaidCall

ANSWERS_FILE = "bfcl.jsonl"


class BfclAnswer(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One answer as it came, and what was thought of it. ``asked`` names model and variant: others don't count."""

    id: str
    subset: str
    asked: str
    outcome: str
    right: bool
    why: str = ""
    content: str | None = None
    calls: list[SaidCall] = []


def run_bfcl(
    folder: Path,
    data: Path,
    settings: CallerSettings,
    *,
    sampling: dict[str, Any],
    hinted: bool = False,
    afresh: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> BfclScore:
    """Asks what has not been asked yet, checks all of it, writes ``bfcl.jsonl`` and ``bfcl.json`` into ``folder``.

    Raises:
        ConfigError: The data or the settings can't be used.
        UnreachableError: The endpoint went away; what it had answered is kept.
    """
    samples = load_samples(data)
    caller = Caller(settings)
    variant = "hinted" if hinted else "mlperf"
    asked = f"{caller.model}/{variant}"
    kept = {} if afresh else _kept(folder / ANSWERS_FILE, asked)
    left = [sample for sample in samples if sample.id not in kept]
    bodies = [_body(caller, sample, sampling, hinted) for sample in left]
    done = len(samples) - len(left)
    with (folder / ANSWERS_FILE).open("ab" if kept else "wb") as file:

        def told(place: int, decoded: Decoded) -> None:
            nonlocal done
            answer = _answer(left[place], decoded, asked, caller)
            kept[answer.id] = answer
            file.write(msgspec.json.encode(answer) + b"\n")
            file.flush()
            done += 1
            if progress is not None:
                progress(done, len(samples))

        caller.call(bodies, told)
    verdicts: dict[str, list[bool]] = defaultdict(list)
    failed = 0
    for sample in samples:
        answer = kept.get(sample.id)
        failed += answer is None or not _good(answer.outcome)
        verdicts[sample.subset].append(answer is not None and _right(sample, answer)[0])
    score = score_of(verdicts, failed)
    score.model, score.url, score.variant = caller.model, settings.url, variant
    score.ids_sha256 = ids_sha256(samples)
    score.low, score.high = wilson(score.overall, score.samples)
    if hinted:
        score.notes.append("Java and JavaScript parameters were asked for as strings: this is not what the gate is on")
    else:
        apply_gate(score)
    write_json(folder / SCORE_FILE, score)
    return score


def _body(caller: Caller, sample: Sample, sampling: dict[str, Any], hinted: bool) -> bytes:
    language = BY_NAME[sample.subset].language
    extra: dict[str, Any] = {"tools": tools_of(sample.functions, language, hinted=hinted), "tool_choice": "auto"}
    return caller.body(messages=sample.messages, sampling=sampling, extra=extra)


def _answer(sample: Sample, decoded: Decoded, asked: str, caller: Caller) -> BfclAnswer:
    text = caller.redact(decoded.texts[0]) if decoded.texts and decoded.texts[0] else None
    answer = BfclAnswer(
        id=sample.id,
        subset=sample.subset,
        asked=asked,
        outcome=decoded.outcome.value,
        right=False,
        content=text,
        calls=[SaidCall(caller.redact(call.name), caller.redact(call.arguments)) for call in decoded.tool_calls],
    )
    right, why = _right(sample, answer)
    if not decoded.outcome.good:
        why = caller.redact(decoded.error_message or decoded.outcome.value)[:300]
    return msgspec.structs.replace(answer, right=right, why=why)


def _right(sample: Sample, answer: BfclAnswer) -> tuple[bool, str]:
    """Whether an answer is right, and why not. Where no function fits, the right answer calls none."""
    if not _good(answer.outcome):
        return False, answer.outcome
    if sample.truth is None:
        return (not answer.calls), "" if not answer.calls else "it called a function where none fits"
    calls = calls_of(answer.calls, answer.content)
    why = check_calls(sample.subset, sample.functions, calls, sample.truth, BY_NAME[sample.subset].language)
    return why is None, why or ""


def _good(outcome: str) -> bool:
    return outcome in ("ok", "ok_length")


def _kept(path: Path, asked: str) -> dict[str, BfclAnswer]:
    """Answers of an earlier asking of the same model in the same way; failures are asked again."""
    kept: dict[str, BfclAnswer] = {}
    if not path.is_file():
        return kept
    decode = msgspec.json.Decoder(BfclAnswer).decode
    for line in path.read_bytes().splitlines():
        try:
            answer = decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
        if answer.asked == asked and _good(answer.outcome):
            kept[answer.id] = answer
    return kept
