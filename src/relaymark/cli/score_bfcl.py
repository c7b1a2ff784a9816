"""``relaymark score --with bfcl``: function calling of a run's model, asked anew and checked."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relaymark.errors import ConfigError, ExitCode
from relaymark.trace.runfolder import CONFIG_FILE, RUN_FILE

if TYPE_CHECKING:
    from relaymark.score.bfcl import BfclScore
    from relaymark.score.calling import CallerSettings


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of BFCL to the parser of ``relaymark score``."""
    group = parser.add_argument_group("function calling (BFCL v4, 995 samples): asks the run's endpoint, or --url")
    group.add_argument("--with", dest="quiz", choices=("bfcl",), help="ask and check BFCL v4, MLPerf's selection")
    group.add_argument("--bfcl-data", metavar="DIR", type=Path, help="its files, where they are not fetched")
    group.add_argument(
        "--hinted", action="store_true", help="ask Java and JavaScript as strings, as BFCL itself does; not gated"
    )


def call(options: argparse.Namespace) -> int:
    """Asks, checks, writes bfcl.json, prints the table."""
    from relaymark.cli.score_answers import rewrite_report  # noqa: PLC0415 - lazy: start-up
    from relaymark.data.fetching import bfcl_folder  # noqa: PLC0415 - lazy: start-up
    from relaymark.score.bfcl import SCORE_FILE, run_bfcl  # noqa: PLC0415 - lazy: start-up

    folder: Path = options.run
    if not folder.is_dir():
        raise ConfigError("there is no such folder", where=str(folder), mend="name a run's, or make an empty one")
    settings, sampling = _settings(options, folder)
    shown = _Shown()
    score = run_bfcl(
        folder,
        options.bfcl_data or bfcl_folder(),
        settings,
        sampling=sampling,
        hinted=options.hinted,
        afresh=options.afresh,
        progress=shown.tell if sys.stderr.isatty() else None,
    )
    shown.clear()
    rewrite_report(folder)
    if options.json:
        sys.stdout.buffer.write((folder / SCORE_FILE).read_bytes())
    else:
        _print(score)
        sys.stdout.write(f"  {folder / SCORE_FILE}\n")
    if score.variant == "mlperf" and score.failed:
        return int(ExitCode.INVALID_MEASUREMENT)
    return int(ExitCode.GATE_FAILED if score.passed is False else ExitCode.GOOD)


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


def _print(score: BfclScore) -> None:
    from relaymark.report.bfcl import bfcl_rows, bfcl_title  # noqa: PLC0415 - lazy: start-up
    from relaymark.report.findings import print_findings  # noqa: PLC0415 - lazy: start-up

    print_findings(bfcl_title(score), bfcl_rows(score))


class _Shown:
    """One line on the terminal with the samples asked and the time left."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._first: int | None = None
        self._told = 0.0

    def tell(self, done: int, total: int) -> None:
        """Shows progress, four times a second at most."""
        self._first = done - 1 if self._first is None else self._first
        now = time.monotonic()
        if now - self._told > 0.25:
            self._told = now
            left = (now - self._start) / max(1, done - self._first) * (total - done)
            sys.stderr.write(f"\r{done:,} of {total:,} samples asked, {left:.0f} s left \033[K")
            sys.stderr.flush()

    def clear(self) -> None:
        """Takes the line away."""
        if self._told:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
