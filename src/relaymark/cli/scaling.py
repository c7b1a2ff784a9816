"""``relaymark scaling``: how throughput grows with size or load, over several runs or the levels of one."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from relaymark.errors import ConfigError, ExitCode

_ABOUT = """\
Efficiency against linear growth, the knee, and the universal scalability law with its interval.

  relaymark scaling runs/one-gpu runs/four runs/eight --sizes 1,4,8
  relaymark scaling runs/20261201-101500-chat

With --sizes each run is one size: accelerators, nodes, replicas. Without, sizes are the concurrencies of the runs' load
levels. The rate is output tokens/s, or requests/s where the server counts no tokens."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    """Adds the command to the parser."""
    parser = commands.add_parser(
        "scaling",
        help="efficiency against linear, over sizes or concurrencies",
        description=_ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("runs", metavar="RUN", nargs="+", type=Path, help="runs' folders")
    parser.add_argument("--sizes", metavar="N,N,…", help="the size of each run, in their order")
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else")
    parser.set_defaults(call=call)


def call(options: argparse.Namespace) -> int:
    """Prints it."""
    import msgspec  # noqa: PLC0415 - lazy: start-up

    from relaymark.explain.scaling import scaling_of  # noqa: PLC0415 - lazy: numpy
    from relaymark.report.scaling import print_scaling  # noqa: PLC0415 - lazy: start-up

    points, unit = _points(options.runs, options.sizes)
    scaling = scaling_of(points, unit)
    if options.json:
        sys.stdout.buffer.write(msgspec.json.encode(scaling) + b"\n")
    else:
        print_scaling(scaling)
    return int(ExitCode.GOOD)


def _points(runs: list[Path], sizes: str | None) -> tuple[list[tuple[float, float]], str]:
    from relaymark.explain.compare import read_summary  # noqa: PLC0415 - lazy: numpy

    summaries = [read_summary(run) for run in runs]
    stages = [stage for summary in summaries for stage in summary.stages]
    counted = all(stage.output_token_rate is not None for stage in stages)
    unit = "tokens/s" if counted else "requests/s"
    if sizes is None:
        levels = [stage for stage in stages if stage.load.startswith(("concurrency", "single"))]
        found = [
            (1.0 if stage.load == "single" else float(stage.load.split()[1]), _rate(stage, counted)) for stage in levels
        ]
        if len(found) < 2:
            raise ConfigError(
                "the runs have no two concurrencies", where="relaymark scaling", mend="give the runs' --sizes"
            )
        return found, unit
    try:
        numbers = [float(word) for word in sizes.split(",")]
    except ValueError:
        raise ConfigError(f"{sizes[:60]!r} are no sizes", where="--sizes", mend="write 1,4,8") from None
    if len(numbers) != len(summaries):
        raise ConfigError(f"{len(numbers)} sizes for {len(summaries)} runs", where="--sizes")
    best = [max(_rate(stage, counted) for stage in summary.stages) for summary in summaries]
    return list(zip(numbers, best, strict=True)), unit


def _rate(stage: Any, counted: bool) -> float:
    return float(stage.output_token_rate if counted else stage.request_rate)
