"""``relaymark explain``: where a run's time goes, and what a change would buy."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from relaymark.errors import ConfigError, ExitCode

_ABOUT = """\
Says where the time of a run's tasks goes, on the critical path and not just summed, and what a change would buy.

  relaymark explain runs/20261201-101500-rag
  relaymark explain RUN --faster answer=3 --faster rerank=2
  relaymark explain RUN --infinite llm --balanced 2
  relaymark explain RUN --budget 10 --cost answer=4 --cost rerank=1

With one task at a time predictions are Amdahl's law on the shares of the critical path; else the measured tasks are
replayed through queues. From the trace alone; writes explain.json and explain.html into the run's folder.
`relaymark explain --verify` checks the predictions by really speeding stages up, on emulated endpoints."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    """Adds the command to the parser."""
    parser = commands.add_parser(
        "explain",
        help="where a run's time goes, and what a change would buy",
        description=_ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run", metavar="RUN", nargs="?", type=Path, help="a run's folder")
    parser.add_argument("--level", metavar="N", type=int, help="load level, from 0 (default: the last)")
    parser.add_argument(
        "--faster",
        metavar="STAGE=X",
        action="append",
        default=[],
        help="a stage, or a kind (llm), X times faster",
    )
    parser.add_argument("--infinite", metavar="STAGE", action="append", default=[], help="a stage that takes no time")
    parser.add_argument("--balanced", metavar="X", type=float, help="every stage X times faster")
    parser.add_argument("--budget", metavar="B", type=float, help="the best way to spend so much on speed")
    parser.add_argument(
        "--cost", metavar="STAGE=C", action="append", default=[], help="what one more time the speed costs (default 1)"
    )
    parser.add_argument("--verify", action="store_true", help="predicted against measured, on emulated endpoints")
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else")
    parser.set_defaults(call=call)


def call(options: argparse.Namespace) -> int:
    """Explains; the exit code is 0 unless a verification failed."""
    if options.verify:
        from relaymark.cli.explain_verify import call_verify  # noqa: PLC0415 - lazy: start-up

        return call_verify(options)
    if options.run is None:
        raise ConfigError("no run was named", where="relaymark explain", mend="relaymark explain RUN")
    from relaymark.explain.explaining import EXPLAIN_FILE, Asked, explain_run  # noqa: PLC0415 - lazy: numpy
    from relaymark.relay import finish  # noqa: PLC0415 - lazy: start-up
    from relaymark.report.explain import (  # noqa: PLC0415 - lazy: start-up
        PAGE_FILE,
        explanation_json,
        print_explanation,
        write_explanation,
    )

    folder: Path = options.run
    finish(folder)
    asked = Asked(
        faster=tuple(options.faster),
        infinite=tuple(options.infinite),
        balanced=options.balanced,
        budget=options.budget,
        costs=_costs(options.cost),
    )
    one = explain_run(folder, asked, options.level)
    (folder / EXPLAIN_FILE).write_bytes(explanation_json(one))
    page = write_explanation(one, folder / PAGE_FILE)
    if options.json:
        sys.stdout.buffer.write(explanation_json(one))
    else:
        print_explanation(one)
        sys.stdout.write(f"  {page}\n")
    return int(ExitCode.GOOD)


def _costs(words: list[str]) -> dict[str, float]:
    costs: dict[str, float] = {}
    for word in words:
        name, _, told = word.partition("=")
        try:
            costs[name.strip()] = float(told)
        except ValueError:
            raise ConfigError(f"{word[:60]!r} is no stage and cost", where="--cost", mend="write answer=4") from None
    return costs
