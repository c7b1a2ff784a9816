"""``relaymark explain --verify``: predictions against what really making a stage faster gives."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from relaymark.errors import ExitCode

if TYPE_CHECKING:
    from relaymark.explain.verifying import Check


def call_verify(options: argparse.Namespace) -> int:
    """Runs every combination and prints them; 1 where an error is beyond its bound."""
    import msgspec  # noqa: PLC0415 - lazy: start-up

    from relaymark.explain.verifying import verify  # noqa: PLC0415 - lazy: numpy
    from relaymark.report.findings import print_listing  # noqa: PLC0415 - lazy: start-up

    def tell(number: int, total: int) -> None:
        sys.stderr.write(f"\r{number} of {total} combinations, {3.5 * (total - number):.0f} s left \033[K")
        sys.stderr.flush()

    checks = list(verify(progress=tell if sys.stderr.isatty() else None))
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K")
    if options.json:
        rows = [{**msgspec.to_builtins(one), "error": one.error, "met": one.met} for one in checks]
        sys.stdout.buffer.write(msgspec.json.encode(rows) + b"\n")
    else:
        heads = ("load", "on", "faster", "said", "95 %", "was", "error", "bound")
        print_listing(heads, [_cells(one) for one in checks], last_wraps=False)
        met = sum(one.met for one in checks)
        sys.stdout.write(f"  {met} of {len(checks)} within their bound\n")
    return int(ExitCode.GOOD if all(one.met for one in checks) else ExitCode.GATE_FAILED)


def _cells(one: Check) -> list[str]:
    return [
        one.load,
        str(one.servers),
        one.faster,
        f"{one.predicted:.2f} ×",
        f"{one.low:.2f}–{one.high:.2f}",
        f"{one.measured:.2f} ×",
        f"{one.error:+.1%}",
        f"{'' if one.met else 'BEYOND '}{one.bound:.0%}",
    ]
