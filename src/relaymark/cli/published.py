"""``relaymark published``: rounds of published results, read, compared like for like, and one's own run among them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from relaymark.errors import ConfigError, ExitCode

if TYPE_CHECKING:
    from relaymark.published import Row

_ABOUT = """\
Published rounds, like for like. A headline says little until it is compared at the same scale, model,
scenario, availability and precision: every comparison names what is not equal, and there is no ratio
where scenario, model or division differ, unless you say --anyway.

  relaymark published import summary_results.json
  relaymark published table --benchmark deepseek-r1 --scenario server --per accelerator
  relaymark published scaling --family GB300
  relaymark published place runs/20261201-101500-chat --accelerator H200 --count 8"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    """Adds the command to the parser."""
    parser = commands.add_parser(
        "published",
        help="published MLPerf rounds, compared like for like",
        description=_ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    inner = parser.add_subparsers(dest="what", metavar="WHAT", required=True)
    brought = inner.add_parser("import", help="read a round's table into the store")
    brought.add_argument("file", nargs="?", type=Path, metavar="FILE", help="summary.csv, summary_results.json or .tsv")
    brought.add_argument("--round", metavar="NAME", help="such as v6.1, where the file does not say")
    brought.add_argument("--sample", action="store_true", help="read a small round that we made up")
    brought.set_defaults(call=call_import)
    _store(brought)

    table = inner.add_parser("table", help="rows ranked, one table for each benchmark and scenario")
    table.set_defaults(call=call_table)
    _per(table, "system")
    _common(table, limit=20)

    compare = inner.add_parser("compare", help="two rows or systems, and what is not equal")
    compare.add_argument("a", metavar="A", help="a row such as v6.1:309, or a system as v6.1:NVIDIA/PLATFORM")
    compare.add_argument("b", metavar="B", help="the same; the ratio is that of B over A")
    compare.set_defaults(call=call_compare)
    _per(compare, "system")
    _anyway(compare)
    _common(compare, filters=False)

    scaling = inner.add_parser("scaling", help="what an accelerator still gives when there are more of them")
    scaling.add_argument("--family", default="", metavar="NAME", help="of accelerators, such as GB300")
    scaling.set_defaults(call=call_scaling)
    _common(scaling)

    rounds = inner.add_parser("rounds", help="round over round: the same hardware, or the best of each")
    rounds.add_argument("--system", default="", metavar="WORDS", help="such as 'NVIDIA GB300-NVL72'; without: the best")
    rounds.add_argument("--division", choices=("closed", "open"), default="closed", help="of the best (default closed)")
    rounds.set_defaults(call=call_rounds)
    _per(rounds, None)
    _anyway(rounds)
    _common(rounds)

    partners = inner.add_parser("partners", help="spread between submitters of one configuration")
    partners.add_argument("--accelerator", required=True, metavar="NAME", help="such as MI355X")
    partners.add_argument("--count", required=True, type=_positive, metavar="N", help="in the whole system")
    partners.set_defaults(call=call_partners)
    _common(partners)

    anomalies = inner.add_parser("anomalies", help="what a reader should know before comparing")
    anomalies.add_argument("--kind", action="append", default=[], metavar="KIND", help="only this one; can be repeated")
    anomalies.set_defaults(call=call_anomalies)
    _common(anomalies, limit=10)

    place = inner.add_parser("place", help="your own run among published rows, where it can be compared")
    place.add_argument("run", type=Path, metavar="RUN", help="a run's folder")
    place.add_argument("--benchmark", default="", metavar="NAME", help="where the model's name does not say it")
    place.add_argument("--scenario", default="", metavar="NAME", help="interactive, for a Poisson load")
    place.add_argument("--round", default="", metavar="NAME", help="default the latest that has it")
    place.add_argument("--division", choices=("closed", "open"), default="closed", help="default closed")
    place.add_argument("--stage", type=int, default=0, metavar="N", help="of the run (default 0)")
    place.add_argument("--accelerator", default="", metavar="NAME", help="what the endpoint runs on")
    place.add_argument("--count", type=_positive, metavar="N", help="how many of them")
    place.add_argument("--nodes", type=_positive, metavar="N", help="how many nodes")
    place.add_argument("--precision", default="", metavar="NAME", help="of the weights, such as fp8")
    place.set_defaults(call=call_place)
    _anyway(place)
    _common(place, filters=False, limit=9)

    page = inner.add_parser("page", help="one HTML file to filter, sort and plot, that loads nothing")
    page.add_argument("--out", type=Path, default=Path("published.html"), metavar="FILE", help="default published.html")
    page.set_defaults(call=call_page)
    _common(page)


def call_import(options: argparse.Namespace) -> int:
    """Reads a file into the store."""
    from relaymark.published import add_source, read_published  # noqa: PLC0415 - lazy: start-up
    from relaymark.published.sample import sample_file  # noqa: PLC0415 - lazy: start-up
    from relaymark.report.published.terminal import print_import  # noqa: PLC0415 - lazy: start-up

    if (options.file is None) != options.sample:
        raise ConfigError("Name one file, or --sample.", where="relaymark published import", mend="import summary.csv")
    with sample_file(options.file) as file:
        source = read_published(file, options.round)
    print_import(source, add_source(options.store, source), options.store)
    return int(ExitCode.GOOD)


def call_table(options: argparse.Namespace) -> int:
    """Prints rankings."""
    from relaymark.published import select  # noqa: PLC0415 - lazy: start-up
    from relaymark.report.published.terminal import print_tables  # noqa: PLC0415 - lazy: start-up
    from relaymark.report.published.told import tables_json  # noqa: PLC0415 - lazy: start-up

    tables = select(_rows(options), options.per)
    if options.json:
        sys.stdout.buffer.write(tables_json(tables, options.per))
    else:
        print_tables(tables, options.per, options.limit)
    return int(ExitCode.GOOD)


def call_compare(options: argparse.Namespace) -> int:
    """Compares; exits with 1 when every ratio was refused."""
    from relaymark.published import pair  # noqa: PLC0415 - lazy: start-up
    from relaymark.report.published.terminal import print_comparisons  # noqa: PLC0415 - lazy: start-up
    from relaymark.report.published.told import comparisons_json  # noqa: PLC0415 - lazy: start-up

    found = pair(_rows(options), options.a, options.b, options.per, anyway=options.anyway)
    if options.json:
        sys.stdout.buffer.write(comparisons_json(found))
    else:
        print_comparisons(found)
    return int(ExitCode.GOOD if any(each.ratio is not None for each in found) else ExitCode.GATE_FAILED)


def call_scaling(options: argparse.Namespace) -> int:
    """Prints chains of sizes."""
    from relaymark.published import chains  # noqa: PLC0415 - lazy: start-up
    from relaymark.report.published.terminal import print_chains  # noqa: PLC0415 - lazy: start-up
    from relaymark.report.published.told import chains_json  # noqa: PLC0415 - lazy: start-up

    found = chains(_rows(options), options.family)
    if options.json:
        sys.stdout.buffer.write(chains_json(found))
    else:
        print_chains(found)
    return int(ExitCode.GOOD)


def call_rounds(options: argparse.Namespace) -> int:
    """Prints steps from round to round."""
    from relaymark.published import best_by_round, same_hardware  # noqa: PLC0415 - lazy: start-up
    from relaymark.report.published.terminal import print_steps  # noqa: PLC0415 - lazy: start-up
    from relaymark.report.published.told import steps_json  # noqa: PLC0415 - lazy: start-up

    rows = _rows(options)
    if options.system:
        steps = same_hardware(rows, options.system, options.per or "system", anyway=options.anyway)
    else:
        steps = best_by_round(rows, options.per or "accelerator", options.division, anyway=options.anyway)
    if options.json:
        sys.stdout.buffer.write(steps_json(steps))
    else:
        print_steps(steps)
    return int(ExitCode.GOOD)


def call_partners(options: argparse.Namespace) -> int:
    """Prints spreads between submitters."""
    from relaymark.published import partners  # noqa: PLC0415 - lazy: start-up
    from relaymark.report.published.terminal import print_spreads  # noqa: PLC0415 - lazy: start-up
    from relaymark.report.published.told import spreads_json  # noqa: PLC0415 - lazy: start-up

    found = partners(_rows(options), options.accelerator, options.count)
    if options.json:
        sys.stdout.buffer.write(spreads_json(found))
    else:
        print_spreads(found)
    return int(ExitCode.GOOD)


def call_anomalies(options: argparse.Namespace) -> int:
    """Prints findings."""
    from relaymark.published import KINDS, find_anomalies  # noqa: PLC0415 - lazy: start-up
    from relaymark.report.published.terminal import print_findings  # noqa: PLC0415 - lazy: start-up
    from relaymark.report.published.told import findings_json  # noqa: PLC0415 - lazy: start-up

    for kind in options.kind:
        if kind not in KINDS:
            raise ConfigError(f"There is no kind {kind!r}.", where="--kind", mend=f"Known: {', '.join(KINDS)}.")
    findings = find_anomalies(_rows(options), options.kind)
    if options.json:
        sys.stdout.buffer.write(findings_json(findings))
    else:
        print_findings(findings, options.limit if options.limit > 0 else len(findings))
    return int(ExitCode.GOOD)


def call_place(options: argparse.Namespace) -> int:
    """Places a run; exits with 3 when it is invalid and with 1 when it cannot be compared."""
    from relaymark.published import place, read_own, read_rows, rounds_of  # noqa: PLC0415 - lazy: start-up
    from relaymark.relay import finish  # noqa: PLC0415 - lazy: start-up
    from relaymark.report.published.terminal import print_placement  # noqa: PLC0415 - lazy: start-up
    from relaymark.report.published.told import placement_json  # noqa: PLC0415 - lazy: start-up

    rows = read_rows(options.store)
    finish(options.run)
    run = read_own(
        options.run,
        stage=options.stage,
        benchmark=options.benchmark,
        scenario=options.scenario,
        rounds=[options.round] if options.round else rounds_of(rows),
        accelerators=options.count,
        accelerator=options.accelerator,
        nodes=options.nodes,
        precision=options.precision,
    )
    placed = place(run, rows, round_name=options.round, division=options.division, anyway=options.anyway)
    if options.json:
        sys.stdout.buffer.write(placement_json(placed))
    else:
        print_placement(placed, options.limit)
    if placed.rankings:
        return int(ExitCode.GOOD)
    return int(ExitCode.GATE_FAILED if run.valid else ExitCode.INVALID_MEASUREMENT)


def call_page(options: argparse.Namespace) -> int:
    """Writes the explorer."""
    from relaymark.report.published.explorer import write_explorer  # noqa: PLC0415 - lazy: start-up

    path = write_explorer(_rows(options), options.out)
    sys.stdout.write(f"{path}\n")
    return int(ExitCode.GOOD)


def _rows(options: argparse.Namespace) -> list[Row]:
    from relaymark.published import parse_condition, read_rows  # noqa: PLC0415 - lazy: start-up
    from relaymark.published.where import checked_benchmark, checked_scenario  # noqa: PLC0415 - lazy: start-up

    conditions = [parse_condition(text) for text in getattr(options, "where", ())]
    if getattr(options, "benchmark", ""):
        conditions.append(checked_benchmark(options.benchmark))
    if getattr(options, "scenario", ""):
        conditions.append(checked_scenario(options.scenario))
    if getattr(options, "round", ""):
        conditions.append(parse_condition(f"round={options.round}"))
    return read_rows(options.store, conditions)


def _store(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--store", type=Path, default=Path("published.duckdb"), metavar="FILE", help="default published.duckdb"
    )


def _common(parser: argparse.ArgumentParser, *, filters: bool = True, limit: int | None = None) -> None:
    if filters:
        parser.add_argument("--benchmark", default="", metavar="NAME", help="such as deepseek-r1 or edge-agentic")
        parser.add_argument("--scenario", default="", metavar="NAME", help="offline, server, interactive, …")
        parser.add_argument("--round", default="", metavar="NAME", help="such as v6.1")
        parser.add_argument(
            "--where",
            action="append",
            default=[],
            metavar="FIELD=VALUE",
            help="also !=, ~ (holds), >=, <=; can be repeated: availability=available, accelerators>=72",
        )
    if limit is not None:
        parser.add_argument("--limit", type=int, default=limit, metavar="N", help=f"default {limit}; 0: all")
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else")
    _store(parser)


def _per(parser: argparse.ArgumentParser, default: str | None) -> None:
    told = f" (default {default})" if default else " (default: system with --system, else accelerator)"
    parser.add_argument(
        "--per", choices=("system", "accelerator", "node"), default=default, help=f"what results are counted per{told}"
    )


def _anyway(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--anyway", action="store_true", help="give the figure although something forbids it")


def _positive(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or not 0 < int(text) <= 10**7:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above 0")
    return int(text)
