"""Scores the turns of a replayed agent, for ``relaymark score``."""

from __future__ import annotations

import argparse
import sys

from relaymark.errors import ExitCode
from relaymark.trace.turns import TURNS_FILE

FILE = TURNS_FILE


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds nothing: there is nothing to choose."""


def call(options: argparse.Namespace) -> int:
    """Scores, writes score.json, prints the table."""
    from relaymark.cli.score_answers import rewrite_report  # noqa: PLC0415 - lazy: start-up
    from relaymark.report.findings import print_findings  # noqa: PLC0415 - lazy: start-up
    from relaymark.report.score import score_rows, score_title  # noqa: PLC0415 - lazy: start-up
    from relaymark.score.result import write_score  # noqa: PLC0415 - lazy: start-up
    from relaymark.score.turns import score_turns  # noqa: PLC0415 - lazy: start-up

    score = score_turns(options.run)
    path = write_score(options.run, score)
    rewrite_report(options.run)
    if options.json:
        sys.stdout.buffer.write(path.read_bytes())
    else:
        print_findings(score_title(score), score_rows(score))
        sys.stdout.write(f"  {path}\n")
    return int(ExitCode.GOOD if score.valid else ExitCode.INVALID_MEASUREMENT)
