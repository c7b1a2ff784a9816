"""``relaymark data world``: a generated encyclopedia with multi-hop questions whose answers are known."""

from __future__ import annotations

import argparse
import sys
import time
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
    parser.add_argument("--tsv", action="store_true", help="also write questions.tsv with the columns of FRAMES")
    parser.set_defaults(call=call)


def call(options: argparse.Namespace) -> int:
    """Writes the world; says what it wrote."""
    from relaymark.data.world import PAGES, QUESTIONS_FILE, write_world  # noqa: PLC0415 - lazy: start-up

    folder: Path = options.out
    teller = _Teller(options.pages)
    record = write_world(
        folder,
        seed=options.seed,
        pages=options.pages,
        questions=options.questions,
        tsv=options.tsv,
        progress=teller.tell if sys.stderr.isatty() else None,
    )
    teller.clear()
    sys.stdout.write(
        f"{record.pages:,} pages ({record.bytes / 1e6:,.1f} MB) in {folder / PAGES}\n"
        f"{record.questions:,} questions in {folder / QUESTIONS_FILE}\n"
    )
    return int(ExitCode.GOOD)


class _Teller:
    """One line on the terminal with the pages written and the time left."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._start = time.monotonic()
        self._told = 0.0

    def tell(self, done: int) -> None:
        """Shows progress, four times a second at most."""
        now = time.monotonic()
        if done and now - self._told > 0.25:
            self._told = now
            left = (now - self._start) / done * (self._total - done)
            sys.stderr.write(f"\r{done:,} of {self._total:,} pages, {left:.0f} s left \033[K")
            sys.stderr.flush()

    def clear(self) -> None:
        """Takes the line away."""
        if self._told:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
