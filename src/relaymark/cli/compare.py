"""``relaymark compare``: runs side by side, with intervals, a verdict for each figure, and limits to fail on."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from relaymark.errors import ConfigError, ExitCode

_ABOUT = """\
Compares runs with the first one: every headline with its change and that change's 95 % interval, and whether a
difference is shown at all. Where both sent the same requests by the same schedule they are compared request by request.

  relaymark compare runs/before runs/after --fail-if 'ttft_p99 > +5%' --fail-if 'output_token_rate < -3%'
  relaymark compare before after --markdown > comment.md

Refuses runs of different models, prompts or APIs unless --anyway is given; names whatever else is not alike. Exits with
1 where a limit is broken: the change is beyond it, and its interval does not hold 0."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    """Adds the command to the parser."""
    parser = commands.add_parser(
        "compare",
        help="runs side by side: what is better, what is worse, what is noise",
        description=_ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("runs", metavar="RUN", nargs="+", type=Path, help="runs' folders; the first is compared with")
    parser.add_argument("--fail-if", metavar="LIMIT", action="append", default=[], help="e.g. 'ttft_p99 > +5%%'")
    parser.add_argument("--anyway", action="store_true", help="compare although they are not like for like")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--markdown", action="store_true", help="print Markdown and nothing else")
    shape.add_argument("--json", action="store_true", help="print JSON and nothing else")
    parser.set_defaults(call=call)


def call(options: argparse.Namespace) -> int:
    """Compares; 1 where a limit is broken."""
    import msgspec  # noqa: PLC0415 - lazy: start-up

    from relaymark.explain.compare import broken, compare_all, parse_limit  # noqa: PLC0415 - lazy: numpy
    from relaymark.report.compare import comparison_markdown, print_comparison  # noqa: PLC0415 - lazy: start-up

    if len(options.runs) < 2:
        raise ConfigError("one run alone can't be compared", where="relaymark compare", mend="name two or more")
    limits = [parse_limit(text) for text in options.fail_if]
    comparisons = compare_all(options.runs)
    for one in comparisons:
        if one.forbidden and not options.anyway:
            raise ConfigError(
                f"{one.b} and {one.a} are not like for like: {'; '.join(one.unlike)}"[:600],
                where="relaymark compare",
                mend="compare runs of the same model and prompts, or add --anyway",
            )
    failures = [line for limit in limits for one in comparisons for line in broken(limit, one)]
    if options.json:
        sys.stdout.buffer.write(msgspec.json.encode({"comparisons": comparisons, "broken": failures}) + b"\n")
    elif options.markdown:
        sys.stdout.write(comparison_markdown(comparisons, failures))
    else:
        for one in comparisons:
            print_comparison(one)
        for line in failures:
            sys.stdout.write(f"LIMIT BROKEN  {line}\n")
    return int(ExitCode.GATE_FAILED if failures else ExitCode.GOOD)
