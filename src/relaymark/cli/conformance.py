"""``relaymark conformance``: a client against every server fault in the book."""

from __future__ import annotations

import argparse
import sys

from relaymark.errors import ConfigError, ExitCode


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    """Adds the command to the parser."""
    parser = commands.add_parser(
        "conformance",
        help="run a client (ours, or yours) against every server fault and compare what it reports",
        description="Meets every fault of `relaymark emulate --list-faults` and prints what a right client reports "
        "beside what this one did. By default our own client is tested; --client drives another.",
    )
    parser.add_argument("--only", metavar="NAME", action="append", default=[], help="only this fault; may be repeated")
    parser.add_argument("--client", metavar="COMMAND", help="another client: 'tool --url {url} --model {model}'")
    parser.add_argument("--parse", metavar="REGEX", help="what to read in its output: 'succeeded: (?P<ok>\\d+)'")
    parser.set_defaults(call=call)


def call(options: argparse.Namespace) -> int:
    """Runs all cases and prints the table; 1 when one did not pass."""
    from relaymark.relay.conformance import external_cases, own_cases  # noqa: PLC0415 - lazy: start-up
    from relaymark.report.findings import print_listing  # noqa: PLC0415 - lazy: start-up

    only = frozenset(options.only)
    if (options.client is None) != (options.parse is None):
        raise ConfigError("--client and --parse go together.", where="relaymark conformance")
    given = options.client is not None
    cases = list(external_cases(options.client, options.parse, only)) if given else own_cases(only)
    if not cases:
        raise ConfigError(f"No fault is called {', '.join(options.only)}.", where="--only")
    rows = [("pass" if case.passed else "FAIL", case.name, case.expected, case.observed) for case in cases]
    print_listing(("", "case", "a right client reports", "observed"), rows, last_wraps=False)
    failed = sum(not case.passed for case in cases)
    sys.stdout.write(f"{len(cases) - failed} passed, {failed} failed\n")
    return int(ExitCode.GATE_FAILED if failed else ExitCode.GOOD)
