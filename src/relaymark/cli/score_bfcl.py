"""``relaymark score --with bfcl`` and ``bfcl-multi-turn``: function calling, asked anew and checked."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relaymark.errors import ConfigError, ExitCode
from relaymark.trace.runfolder import CONFIG_FILE, RUN_FILE

if TYPE_CHECKING:
    from collections.abc import Callable

    from relaymark.score.bfcl import BfclScore
    from relaymark.score.bfcl.multi_turn import MultiTurnScore
    from relaymark.score.calling import CallerSettings

    Progress = Callable[[int, int], None] | None

_SUBSETS = ("base", "miss_func", "miss_param", "long_context")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of BFCL to the parser of ``relaymark score``."""
    group = parser.add_argument_group("function calling (BFCL v4): asks the run's endpoint, or --url")
    group.add_argument(
        "--with",
        dest="quiz",
        choices=("bfcl", "bfcl-multi-turn"),
        help="bfcl: 995 samples of one turn, MLPerf's selection and gate; bfcl-multi-turn: up to 800 conversations "
        "about a simulated world, never gated",
    )
    group.add_argument("--bfcl-data", metavar="DIR", type=Path, help="its files, where they are not fetched")
    group.add_argument(
        "--hinted", action="store_true", help="ask Java and JavaScript as strings, as BFCL itself does; not gated"
    )
    group.add_argument(
        "--subset",
        metavar="NAME",
        action="append",
        choices=_SUBSETS,
        help=f"multi turn: only this one of {', '.join(_SUBSETS)}; may be repeated",
    )
    group.add_argument("--limit", metavar="N", type=int, help="multi turn: only the first N of each subset")


def call(options: argparse.Namespace) -> int:
    """Asks, checks, writes the score's file, prints the table."""
    folder: Path = options.run
    if not folder.is_dir():
        raise ConfigError("there is no such folder", where=str(folder), mend="name a run's, or make an empty one")
    if options.limit is not None and options.limit < 1:
        raise ConfigError("must be at least 1", where="--limit")
    if options.quiz == "bfcl" and (options.subset or options.limit):
        raise ConfigError("are for multi turn", where="--subset and --limit", mend="add --with bfcl-multi-turn")
    if options.quiz != "bfcl" and options.hinted:
        raise ConfigError("is for single turn", where="--hinted", mend="leave it out, or take --with bfcl")
    settings, sampling = _settings(options, folder)
    shown = _Shown("samples asked" if options.quiz == "bfcl" else "conversations ended")
    ask = _ask if options.quiz == "bfcl" else _converse
    return int(ask(options, settings, sampling, shown.tell if sys.stderr.isatty() else None, shown))


def _ask(
    options: argparse.Namespace, settings: CallerSettings, sampling: dict[str, Any], progress: Progress, shown: _Shown
) -> ExitCode:
    from relaymark.data.fetching import bfcl_folder  # noqa: PLC0415 - lazy: start-up
    from relaymark.score.bfcl import SCORE_FILE, run_bfcl  # noqa: PLC0415 - lazy: start-up

    score = run_bfcl(
        options.run,
        options.bfcl_data or bfcl_folder(),
        settings,
        sampling=sampling,
        hinted=options.hinted,
        afresh=options.afresh,
        progress=progress,
    )
    shown.clear()
    _tell(options, score, SCORE_FILE)
    if score.variant == "mlperf" and score.failed:
        return ExitCode.INVALID_MEASUREMENT
    return ExitCode.GATE_FAILED if score.passed is False else ExitCode.GOOD


def _converse(
    options: argparse.Namespace, settings: CallerSettings, sampling: dict[str, Any], progress: Progress, shown: _Shown
) -> ExitCode:
    from relaymark.data.fetching import bfcl_folder  # noqa: PLC0415 - lazy: start-up
    from relaymark.score.bfcl.multi_turn import SCORE_FILE, run_multi_turn  # noqa: PLC0415 - lazy: start-up

    score = run_multi_turn(
        options.run,
        options.bfcl_data or bfcl_folder(),
        settings,
        sampling=sampling,
        subsets=tuple(name for name in _SUBSETS if name in (options.subset or _SUBSETS)),
        limit=options.limit,
        afresh=options.afresh,
        progress=progress,
    )
    shown.clear()
    _tell(options, score, SCORE_FILE)
    return ExitCode.INVALID_MEASUREMENT if score.failed else ExitCode.GOOD


def _tell(options: argparse.Namespace, score: BfclScore | MultiTurnScore, file: str) -> None:
    """Puts the score into the run's report, and prints it."""
    from relaymark.cli.score_answers import rewrite_report  # noqa: PLC0415 - lazy: start-up
    from relaymark.report.findings import print_findings  # noqa: PLC0415 - lazy: start-up
    from relaymark.report.score import score_rows, score_title  # noqa: PLC0415 - lazy: start-up

    path: Path = options.run / file
    rewrite_report(options.run)
    if options.json:
        sys.stdout.buffer.write(path.read_bytes())
    else:
        print_findings(score_title(score), score_rows(score))
        sys.stdout.write(f"  {path}\n")


def _settings(options: argparse.Namespace, folder: Path) -> tuple[CallerSettings, dict[str, Any]]:
    """Whom to ask, and with which sampling: the run's own, unless the options say otherwise."""
    from relaymark.score.calling import CallerSettings  # noqa: PLC0415 - lazy: start-up

    sampling: dict[str, Any] = {"temperature": 0, "seed": 42, "max_completion_tokens": 1024}
    url, model, stream = options.url, options.model, True
    key, headers, verify = options.api_key_env, dict[str, str](), True
    if (folder / RUN_FILE).is_file() and (folder / CONFIG_FILE).is_file():
        from relaymark.bench import load_benchmark  # noqa: PLC0415 - lazy: start-up

        bench = load_benchmark(folder / CONFIG_FILE)
        sampling = bench.sampling.request_fields() or sampling
        stream = bench.stream
        if url is None:
            url, model = bench.endpoint.url, model or bench.endpoint.model
            key, headers, verify = bench.endpoint.api_key_env, bench.endpoint.headers, bench.endpoint.verify_tls
    if url is None:
        raise ConfigError("the folder is no run's, so it names no endpoint", where=str(folder), mend="add --url")
    told = CallerSettings(
        url=url,
        model=model,
        parallel=options.parallel,
        stream=stream,
        api_key_env=key,
        headers=headers,
        verify_tls=verify,
    )
    return told, sampling


class _Shown:
    """One line on the terminal with how much is done and the time left."""

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self._start = time.monotonic()
        self._first: int | None = None
        self._told = 0.0

    def tell(self, done: int, total: int) -> None:
        """Shows progress, four times a second at most."""
        self._first = done if self._first is None else self._first
        now = time.monotonic()
        if now - self._told > 0.25:
            self._told = now
            left = ""  # until one more has ended, nothing is known
            if done > self._first:
                left = f", {(now - self._start) / (done - self._first) * (total - done):.0f} s left"
            sys.stderr.write(f"\r{done:,} of {total:,} {self._unit}{left} \033[K")
            sys.stderr.flush()

    def clear(self) -> None:
        """Takes the line away."""
        if self._told:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
