"""``relaymark score``: how good a run's answers are, judged afterwards from what the run left."""

from __future__ import annotations

import argparse
from pathlib import Path

from relaymark.cli import score_answers, score_bfcl, score_turns
from relaymark.errors import TraceError

# A module here has ``FILE``, whose presence in a run's folder says that it is the one to score it, ``add_options`` and
# ``call``. The first that fits is taken.
_SCORERS = (score_answers, score_turns)


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    """Adds the command to the parser."""
    parser = commands.add_parser(
        "score",
        help="judge a run's answers and apply its accuracy gate",
        description="Judges what a run answered, untimed and as often as you like, and writes score.json into the "
        "run's folder. Exits with 1 when a gate fails and with 3 when it cannot be decided.",
    )
    parser.add_argument("run", metavar="RUN", type=Path, help="a run's folder, e.g. runs/20261201-093000-rag")
    parser.add_argument("--json", action="store_true", help="print the score as JSON and nothing else")
    for scorer in _SCORERS:
        scorer.add_options(parser)
    score_bfcl.add_options(parser)
    parser.set_defaults(call=call)


def call(options: argparse.Namespace) -> int:
    """Scores; the exit code says whether the gate was passed."""
    folder: Path = options.run
    if options.quiz is not None:
        return score_bfcl.call(options)
    for scorer in _SCORERS:
        if (folder / scorer.FILE).exists():
            return scorer.call(options)
    wanted = ", ".join(scorer.FILE for scorer in _SCORERS)
    raise TraceError(
        "The run left nothing that could be scored.",
        where=str(folder),
        mend=f"Give the folder of a run whose tasks have right answers: it holds {wanted}.",
    )
