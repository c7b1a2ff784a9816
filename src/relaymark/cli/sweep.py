"""``relaymark sweep``: one run a load level, the curve they draw, and the highest load that meets its bounds."""

from __future__ import annotations

import argparse
from pathlib import Path

from relaymark.errors import ConfigError

_ABOUT = """\
Runs one load level after another and draws the curve: system tokens/s against tokens/s per user.

  relaymark sweep chat --url URL --concurrency 1,4,16,64
  relaymark sweep chat --url URL --concurrency auto
  relaymark sweep chat --url URL --slo ttft_p99=2s --slo tpot_p99=80ms
  relaymark sweep chat --url URL --rate auto --slo ttft_p99=2s
  relaymark sweep my-benchmark.yaml --concurrency 1,8,64 --repeats 3
  relaymark sweep --resume runs/20261201-093000-sweep

With --slo and no list of levels it searches the highest load at which every bound holds."""

_AUTO = "auto"
_KEPT = ("target", "url", "model", "dialect", "duration", "requests", "prompts", "max_tokens", "slo", "no_stream")
_ALSO_KEPT = ("seed", "workers", "set", "name", "concurrency", "rate", "start", "highest", "tolerance", "most_runs")
_AND = ("repeats", "precision", "warmup", "super_pass", "min_window", "all")
KEPT = (*_KEPT, *_ALSO_KEPT, *_AND)
"""Options that a sweep's record keeps, so that it can be taken up again."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    """Adds the command to the parser."""
    parser = commands.add_parser(
        "sweep",
        help="a curve over load levels, or the highest load that meets its SLOs",
        description=_ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("target", metavar="TARGET", nargs="?", help="chat, a YAML file, or a preset such as quick/chat")
    parser.add_argument("--concurrency", metavar="LEVELS", help="auto, or levels such as 1,4,16,64")
    parser.add_argument("--rate", metavar="LEVELS", help="auto, or rates of a Poisson load such as 1,2,4/s")
    parser.add_argument("--slo", metavar="BOUND", action="append", help="e.g. ttft_p99=2s; may be repeated")
    parser.add_argument("--resume", metavar="SWEEP", type=Path, help="take up a sweep that was interrupted")
    _add_run(parser)
    _add_levels(parser)
    parser.set_defaults(call=call)


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--url", help="base URL of the endpoint, e.g. http://127.0.0.1:8000")
    parser.add_argument("--model", help="model to ask for; may be left out where the endpoint serves just one")
    parser.add_argument("--dialect", help="openai-chat (default) | openai-completions | …")
    parser.add_argument("--duration", metavar="TIME", help="of each run (default 30s)")
    parser.add_argument("--requests", metavar="N", help="of each run")
    parser.add_argument("--prompts", metavar="SOURCE", help="FILE.jsonl or synthetic:isl=512±64,osl=128")
    parser.add_argument("--max-tokens", metavar="N", help="most tokens of an answer")
    parser.add_argument("--no-stream", action="store_true", help="ask for answers in one piece")
    parser.add_argument("--seed", metavar="N", help="of arrivals and generated prompts")
    parser.add_argument("--workers", metavar="N", help="worker processes: a number or auto")
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], help="any setting of the file")
    parser.add_argument("--name", help="name of the sweep")
    parser.add_argument("--out", metavar="FOLDER", type=Path, default=Path("runs"), help="default runs")
    parser.add_argument("--json", action="store_true", help="print the sweep as JSON and nothing else")


def _add_levels(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--start", metavar="LEVEL", help="first level of auto and of a search (default 1; search 4)")
    parser.add_argument("--highest", metavar="LEVEL", help="no level above this (default 1024)")
    parser.add_argument("--warmup", metavar="N", help="requests before each run (default: one for each slot; 0: none)")
    parser.add_argument("--repeats", type=int, default=1, metavar="N", help="most runs of a level (default 1)")
    parser.add_argument(
        "--precision", type=float, default=0.05, metavar="SHARE", help="repeat while throughput is wider (default 0.05)"
    )
    parser.add_argument("--tolerance", type=float, default=0.03, metavar="SHARE", help="of a search (default 0.03)")
    parser.add_argument("--most-runs", type=int, default=12, metavar="N", help="of a search (default 12)")
    parser.add_argument("--pass", dest="super_pass", type=int, metavar="N", help="samples of a pass of the data set")
    parser.add_argument("--min-window", metavar="TIME", help="shortest steady window that counts (default 10s)")
    parser.add_argument("--all", action="store_true", help="run every level, even where it can no longer matter")


def call(options: argparse.Namespace) -> int:
    """Sweeps; 0 when it came to its end, 1 when no load holds, 3 when no level gave a valid measurement."""
    from relaymark.cli.sweep_session import run_sweep  # noqa: PLC0415 - lazy: start-up

    if options.resume is None:
        _complete(options)
    return run_sweep(options)


def _complete(options: argparse.Namespace) -> None:
    if options.target is None:
        raise ConfigError("Nothing was named to run.", where="relaymark sweep", mend="relaymark sweep chat --url URL")
    if options.concurrency and options.rate:
        raise ConfigError("Levels are of one kind.", where="--concurrency, --rate", mend="Give one of them.")
    if not options.concurrency and not options.rate:
        options.concurrency = _AUTO
    if options.repeats < 1 or options.most_runs < 3:
        raise ConfigError("At least one run of a level, and three of a search.", where="--repeats, --most-runs")
    if not 0.001 <= options.tolerance <= 0.5 or not 0.001 <= options.precision <= 1:
        raise ConfigError("Shares are from 0.001 up: 0.03 is 3 %.", where="--tolerance, --precision")
