"""Scores the answers of a question-answering pipeline, for ``relaymark score``."""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING, Literal

from relaymark.errors import ConfigError, ExitCode
from relaymark.trace.answers import ANSWERS_FILE

if TYPE_CHECKING:
    from relaymark.score import LlmJudge, Score
    from relaymark.score.retrieval import Prf

FILE = ANSWERS_FILE
Row = tuple[Literal["good", "note", "bad"], str, str]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of answers to the parser of ``relaymark score``."""
    group = parser.add_argument_group("answers of a pipeline")
    group.add_argument(
        "--judge",
        choices=("exact", "llm"),
        help="exact (default): equal after normalisation of names, numbers, dates and lists; llm: a model at --url",
    )
    group.add_argument("--url", help="base URL of the judge's endpoint; implies --judge llm")
    group.add_argument("--model", help="the judging model; may be left out where the endpoint serves just one")
    group.add_argument("--api-key-env", default="OPENAI_API_KEY", metavar="NAME", help="variable with the judge's key")
    group.add_argument("--parallel", type=int, default=8, metavar="N", help="judge so many at a time (default 8)")
    group.add_argument("--afresh", action="store_true", help="ask the judge again for what it has judged already")
    group.add_argument(
        "--judge-failures", default="1%", metavar="SHARE", help="on more the score is invalid (default 1%%)"
    )
    group.add_argument(
        "--reference",
        metavar="ACCURACY",
        help="gate on this accuracy: 0.35, 35%% or a preset that has one (mlperf/v6.1/e2e-rag-qna)",
    )
    group.add_argument("--gate", metavar="SHARE", help="share of the reference to be reached (default 0.97)")


def call(options: argparse.Namespace) -> int:
    """Judges, writes score.json, prints the table."""
    from fractions import Fraction  # noqa: PLC0415 - lazy: start-up

    from relaymark.score import make_gate, score_answers, write_score  # noqa: PLC0415 - lazy: start-up
    from relaymark.score.gate import DEFAULT_SHARE, parse_share  # noqa: PLC0415 - lazy: start-up

    if options.gate is not None and options.reference is None:
        raise ConfigError("a gate is a share of a reference", where="--gate", mend="add --reference 0.35")
    gate = None if options.reference is None else make_gate(options.reference, options.gate or DEFAULT_SHARE)
    teller = _Teller()
    score = score_answers(
        options.run,
        judge=_judge(options),
        gate=gate,
        most_unjudged=float(Fraction(parse_share(options.judge_failures, "--judge-failures"))),
        afresh=options.afresh,
        progress=teller.tell if sys.stderr.isatty() else None,
    )
    teller.clear()
    path = write_score(options.run, score)
    if options.json:
        sys.stdout.buffer.write(path.read_bytes())
    else:
        print_score(score)
        sys.stdout.write(f"  {path}\n")
    return exit_code(score)


def exit_code(score: Score) -> int:
    """3 when the score can't be trusted or the gate can't be decided, 1 when the gate fails, else 0."""
    if score.gate is not None and score.gate.passed is False and score.valid:
        return int(ExitCode.GATE_FAILED)
    return int(ExitCode.GOOD if score.valid else ExitCode.INVALID_MEASUREMENT)


def _judge(options: argparse.Namespace) -> LlmJudge | None:
    if options.judge != "llm" and options.url is None:
        return None
    if options.judge == "exact":
        raise ConfigError("the exact judge asks no endpoint", where="--url", mend="leave --url out, or use --judge llm")
    if options.url is None:
        raise ConfigError("a judging model needs an endpoint", where="--judge llm", mend="name it with --url")
    from relaymark.score import JudgeSettings, LlmJudge  # noqa: PLC0415 - lazy: start-up

    return LlmJudge(
        JudgeSettings(url=options.url, model=options.model, parallel=options.parallel, api_key_env=options.api_key_env)
    )


def print_score(score: Score) -> None:
    """Prints the table."""
    from relaymark.report.findings import print_findings  # noqa: PLC0415 - lazy: start-up

    title = "Score" if score.valid else "Score: INVALID"
    print_findings(f"{title} (judged by {score.judge.name})", [*_rows(score), *_remarks(score)])


def _rows(score: Score) -> list[Row]:
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
    return rows


def _prf(value: Prf) -> str:
    return f"precision {value.precision:.2%}, recall {value.recall:.2%}, F1 {value.f1:.2%}"


def _remarks(score: Score) -> list[Row]:
    return [
        *(("bad", "invalid", reason) for reason in score.reasons),
        *(("note", "note", note) for note in score.notes),
    ]


class _Teller:
    """One line on the terminal with the answers judged and the time left."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._told = 0.0

    def tell(self, done: int, total: int) -> None:
        """Shows progress, four times a second at most."""
        now = time.monotonic()
        if now - self._told > 0.25:
            self._told = now
            left = (now - self._start) / done * (total - done)
            sys.stderr.write(f"\r{done:,} of {total:,} answers judged, {left:.0f} s left \033[K")
            sys.stderr.flush()

    def clear(self) -> None:
        """Takes the line away."""
        if self._told:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
