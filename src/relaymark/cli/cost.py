"""``relaymark cost``: money and energy of a run, for each token and each task that counts."""

from __future__ import annotations

import argparse
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from relaymark.errors import ConfigError, ExitCode

if TYPE_CHECKING:
    from relaymark.explain.cost import Power
    from relaymark.measure.summary import Summary

_ABOUT = """\
What a run cost: for a million tokens, a task, and a task that met every objective in a run that passed its gate.

  relaymark cost RUN --prices prices.yaml --watts 700
  relaymark cost RUN --prices prices.yaml --power samples.csv

The price file (YAML) has any of:
  currency: USD
  source: our cloud's list, 2026-11
  per_hour: {H200: 3.20}          # and how many the run used:
  machines: {H200: 8}
  input_per_million: 0.50         # an API's tokens
  cached_per_million: 0.05
  output_per_million: 1.50
  per_kwh: 0.12                   # electricity

Samples are a CSV with the columns time (seconds since 1970, UTC) and watts: of a meter, or from `relaymark power`.
What was not given is in no figure."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    """Adds the command to the parser."""
    parser = commands.add_parser(
        "cost",
        help="money and energy, for each token and each task that counts",
        description=_ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run", metavar="RUN", type=Path, help="a run's folder")
    parser.add_argument("--prices", metavar="FILE", type=Path, help="a price file")
    power = parser.add_mutually_exclusive_group()
    power.add_argument("--power", metavar="CSV", type=Path, help="samples of power")
    power.add_argument("--watts", metavar="W", type=float, help="a constant power, of all that the run used")
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else")
    parser.set_defaults(call=call)


def call(options: argparse.Namespace) -> int:
    """Prints it."""
    import msgspec  # noqa: PLC0415 - lazy: start-up

    from relaymark.explain.compare import read_summary  # noqa: PLC0415 - lazy: numpy
    from relaymark.explain.cost import cost_of, read_prices  # noqa: PLC0415 - lazy: numpy
    from relaymark.report.cost import print_cost  # noqa: PLC0415 - lazy: start-up

    if options.prices is None and options.power is None and options.watts is None:
        raise ConfigError("nothing to reckon with", where="relaymark cost", mend="add --prices FILE or --watts W")
    summary = read_summary(options.run)
    prices = None if options.prices is None else read_prices(options.prices)
    gate = _gate(options.run)
    costs = [cost_of(stage, prices, _power(options, summary), gate=gate) for stage in summary.stages]
    if options.json:
        sys.stdout.buffer.write(msgspec.json.encode(costs) + b"\n")
    else:
        print_cost(costs)
    return int(ExitCode.GOOD)


def _power(options: argparse.Namespace, summary: Summary) -> Power | None:
    from relaymark.explain.cost import Power, read_power  # noqa: PLC0415 - lazy: numpy

    if options.watts is not None:
        if not 0 < options.watts < 1e9:
            raise ConfigError("must be above 0", where="--watts")
        return Power(watts=options.watts, source=f"a constant {options.watts:g} W, as given", samples=0)
    if options.power is None:
        return None
    began = datetime.fromisoformat(summary.started_at).timestamp()
    seconds = sum(stage.duration for stage in summary.stages) / 1e9
    return read_power(options.power, began, began + seconds + 5)


def _gate(folder: Path) -> bool | None:
    from relaymark.score.result import Score, read_score  # noqa: PLC0415 - lazy: start-up

    score = read_score(folder)
    return score.gate.passed if isinstance(score, Score) and score.gate is not None else None
