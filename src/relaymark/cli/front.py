"""The command line's parser, and the one place where errors become words and exit codes.

argparse, because it is there in 20 ms: `relaymark --help` must answer in 0.3 s, and a typed command framework with
its console library took 0.5 s of it on the reference machine (ARCHITECTURE.md, dependencies).
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Sequence

from relaymark import __version__
from relaymark.cli import (
    compare,
    conformance,
    cost,
    data,
    doctor,
    emulate,
    explain,
    power,
    probe,
    published,
    quickstart,
    report,
    rules,
    run,
    scaling,
    score,
    sweep,
)
from relaymark.errors import ExitCode, RelaymarkError

_ABOUT = """\
Relaymark benchmarks LLM endpoints over their public APIs. Every number comes with a measured error bar
and a verdict: VALID, or INVALID with the reasons."""

_EXITS = """\
exit codes: 0 good · 1 a gate or SLO failed · 2 bad usage or configuration · 3 invalid measurement ·
4 endpoint unreachable · 130 interrupted (the partial run is saved and readable)"""


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    top = argparse.ArgumentParser(
        prog="relaymark", description=_ABOUT, epilog=_EXITS, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    top.add_argument("--version", action="version", version=f"relaymark {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    first = (quickstart, run, sweep, score, report, explain, compare, scaling, cost, power, probe, doctor)
    for module in (*first, emulate, data, rules, published, conformance):
        module.add(commands)
    return top


def enter(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns its exit code."""
    options = parser().parse_args(arguments)
    try:
        code: int = options.call(options)
        sys.stdout.flush()
    except RelaymarkError as error:
        print(f"relaymark: {error}", file=sys.stderr)  # noqa: T201 - this is the program's mouth
        return int(error.exit_code)
    except KeyboardInterrupt:
        return int(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # The reader of a pipe (head, less) left: no fault of anybody's. Keep Python from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(ExitCode.GOOD)
    except OSError as error:
        if error.errno is None:
            raise
        # A full disk in the middle of a run, a file that may not be written: the machine's words say it best.
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
        mend = "Make room; what the run had written can be read with `relaymark report`." if full else ""
        where = "" if error.filename is None else str(error.filename)
        told = RelaymarkError(f"{os.strerror(error.errno)}.", where=where, mend=mend)
        print(f"relaymark: {told}", file=sys.stderr)  # noqa: T201 - as above
        return int(ExitCode.INVALID_MEASUREMENT if full else ExitCode.USAGE)
    return code
