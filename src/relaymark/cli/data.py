"""``relaymark data``: makes, fetches and looks at data sets. Each kind is a module of its own in ``_KINDS``."""

from __future__ import annotations

import argparse

from relaymark.cli import data_fetch, data_trajectories, data_world

# A module here has ``add(kinds)``, which adds its parser and sets ``call``, as the commands of `front` do.
_KINDS = (data_world, data_trajectories, data_fetch)


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    """Adds the command group to the parser."""
    parser = commands.add_parser(
        "data",
        help="make and look at data sets: a generated encyclopedia with questions, …",
        description="Makes, fetches and looks at data sets that benchmarks read.",
    )
    kinds = parser.add_subparsers(dest="data_command", metavar="KIND", required=True)
    for module in _KINDS:
        module.add(kinds)
