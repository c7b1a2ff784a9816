"""Scores the answers of a question-answering pipeline, for ``relaymark score``."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from relaymark.errors import ConfigError, ExitCode
from relaymark.trace.answers import ANSWERS_FILE
from relaymark.trace.runfolder import CONFIG_FILE, TRACE_FILE

if TYPE_CHECKING:
    from relaymark.score import LlmJudge, Score
    from relaymark.score.gate import Gate

FILE = ANSWERS_FILE


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
        help="gate on this accuracy: 0.35, 35%% or a preset that has one (mlperf/v6.1/e2e-rag-qna); the run's own file "
        "may have one too",
    )
    group.add_argument("--gate", metavar="SHARE", help="share of the reference to be reached (default 0.97)")


def call(options: argparse.Namespace) -> int:
    """Judges, writes score.json, prints the table."""
    from fractions import Fraction  # noqa: PLC0415 - lazy: start-up

    from relaymark.score import score_answers, write_score  # noqa: PLC0415 - lazy: start-up
    from relaymark.score.gate import parse_share  # noqa: PLC0415 - lazy: start-up

    gate = _gate(options)
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
    rewrite_report(options.run)
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
    from relaymark.report.score import score_rows, score_title  # noqa: PLC0415 - lazy: start-up

    print_findings(score_title(score), score_rows(score))


def _gate(options: argparse.Namespace) -> Gate | None:
    """The gate of the command line, else of the run's own benchmark file."""
    from relaymark.score import make_gate  # noqa: PLC0415 - lazy: start-up
    from relaymark.score.gate import DEFAULT_SHARE  # noqa: PLC0415 - lazy: start-up

    if options.reference is not None:
        return make_gate(options.reference, options.gate or DEFAULT_SHARE)
    file = options.run / CONFIG_FILE
    asked = None
    if file.is_file():
        from relaymark.bench import load_benchmark  # noqa: PLC0415 - lazy: start-up
        from relaymark.bench.agent_live import AgentLive  # noqa: PLC0415 - lazy: start-up
        from relaymark.bench.rag_ask import RagAsk  # noqa: PLC0415 - lazy: start-up

        bench = load_benchmark(file)
        asked = bench.accuracy if isinstance(bench, RagAsk | AgentLive) else None
    if asked is not None:
        return make_gate(asked.reference, options.gate or asked.share)
    if options.gate is not None:
        raise ConfigError("a gate is a share of a reference", where="--gate", mend="add --reference 0.35")
    return None


def rewrite_report(folder: Path) -> None:
    """Writes the run's report again, with the score in it."""
    from relaymark.cli.session import write_files  # noqa: PLC0415 - lazy: start-up
    from relaymark.measure.run import summarise_run  # noqa: PLC0415 - lazy: start-up

    if (folder / TRACE_FILE).is_file():
        write_files(folder, summarise_run(folder))


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
