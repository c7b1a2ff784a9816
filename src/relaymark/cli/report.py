"""``relaymark report``: everything a run's folder can tell, recomputed from its trace alone."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from relaymark.errors import ConfigError


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    """Adds the command to the parser."""
    parser = commands.add_parser(
        "report",
        help="recompute a run's table, report and files from its trace",
        description="Recomputes every number of a run from its trace, prints the table and rewrites report.html, "
        "summary.json and summary.csv in the run's folder. Never touches the endpoint. Opens partial and crashed "
        "runs too, and says what is missing.",
    )
    parser.add_argument("run", metavar="RUN", type=Path, help="a run's folder, e.g. runs/20261201-093000-chat")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="print the summary as JSON and nothing else")
    shape.add_argument("--csv", action="store_true", help="print the summary as CSV and nothing else")
    parser.add_argument(
        "--perfetto", metavar="FILE", type=Path, help="also write the trace for ui.perfetto.dev (Chrome trace JSON)"
    )
    parser.set_defaults(call=call)


def call(options: argparse.Namespace) -> int:
    """Reports; the exit code is that of the run."""
    from relaymark.cli.session import exit_code, print_table, write_files  # noqa: PLC0415 - lazy: start-up
    from relaymark.measure.run import summarise_run  # noqa: PLC0415 - lazy: start-up
    from relaymark.relay import finish  # noqa: PLC0415 - lazy: start-up
    from relaymark.report.export import summary_csv, summary_json  # noqa: PLC0415 - lazy: start-up

    folder: Path = options.run
    finish(folder)
    summary = summarise_run(folder)
    written = write_files(folder, summary)
    if options.perfetto is not None:
        written.append(_write_perfetto(folder, options.perfetto))
    if options.json:
        sys.stdout.buffer.write(summary_json(summary))
    elif options.csv:
        sys.stdout.write(summary_csv(summary))
    else:
        print_table(summary, written)
    return exit_code(summary)


def _write_perfetto(folder: Path, path: Path) -> Path:
    from relaymark.report.perfetto import write_perfetto  # noqa: PLC0415 - lazy: start-up
    from relaymark.trace.runfolder import TRACE_FILE  # noqa: PLC0415 - lazy: start-up
    from relaymark.trace.table import Trace  # noqa: PLC0415 - lazy: start-up

    if path.is_dir():
        raise ConfigError("This is a folder; the trace needs a file.", where=str(path), mend="Name one: trace.json")
    write_perfetto(Trace(folder / TRACE_FILE).legs(), path)
    return path
