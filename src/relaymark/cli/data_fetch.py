"""``relaymark data fetch``: data sets that come inside a package of the registry."""

from __future__ import annotations

import argparse
import sys

from relaymark.errors import ExitCode


def add(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    """Adds the subcommand to the parser of ``relaymark data``."""
    parser = kinds.add_parser(
        "fetch",
        help="download a data set through pip into a cache: bfcl",
        description="Downloads a data set that comes inside a package of the registry, without what that package "
        "depends on, and unpacks it into a cache. bfcl: BFCL v4, 2 MB, for `relaymark score RUN --with bfcl`.",
    )
    parser.add_argument("what", choices=("bfcl",), help="which data set")
    parser.set_defaults(call=call)


def call(options: argparse.Namespace) -> int:
    """Fetches it; says where it is."""
    from relaymark.data.fetching import fetch_bfcl  # noqa: PLC0415 - lazy: start-up

    del options
    sys.stdout.write(f"BFCL v4 is in {fetch_bfcl()}\n")
    return int(ExitCode.GOOD)
