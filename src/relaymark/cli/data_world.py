"""``relaymark data world``: a generated encyclopedia with multi-hop questions whose answers are known."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from relaymark.errors import ExitCode


def add(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    """Adds the subcommand to the parser of ``relaymark data``."""
    parser = kinds.add_parser(
        "world",
        help="a generated encyclopedia of any size, with questions whose answers are known",
        description="Writes N HTML pages in the style of a wiki (pages/), where each came from (url_mapping.json) and "
        "multi-hop questions with answer, gold pages and hop chain (questions.jsonl). The same seed gives the same "
        "bytes on every machine.",
    )
    parser.add_argument("--pages", type=int, required=True, metavar="N", help="how many pages: 30 to 100,000")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="which world (default 0)")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to write it to")
    parser.add_argument("--questions", type=int, default=50, metavar="M", help="how many questions (default 50)")
    parser.add_argument("--tsv", action="store_true", help="write the questions as questions.tsv (FRAMES columns), too")
    parser.set_defaults(call=call)


def call(options: argparse.Namespace) -> int:
    """Writes the world; says what it wrote."""
    from relaymark.data.world import write_world  # noqa: PLC0415 - lazy: start-up

    made = write_world(
        options.out, seed=options.seed, pages=options.pages, questions=options.questions, tsv=options.tsv
    )
    sys.stdout.write(f"{made}\n")
    return int(ExitCode.GOOD)
