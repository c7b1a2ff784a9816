"""What an index build took, on a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from relaymark.report.clean import plain_line


def print_build(summary: dict[str, Any], console: Console, path: Path) -> None:
    """Prints documents/s, where the time went, what was left out and the checks."""

    def say(text: str, style: str = "") -> None:
        console.print(text, style=style, highlight=False)

    manifest = summary["manifest"]
    met = all(check["met"] for check in summary["checks"])
    word = "[bold green]BUILT[/]" if met else "[bold red]REJECTED[/]"
    say(f"{word}  {_plain(summary['index'])}")
    say(
        f"{summary['documents']:,} documents in {summary['seconds']:.1f} s: "
        f"[bold]{summary['documents_per_second']:,.1f} documents/s[/], {summary['passages']:,} passages, "
        f"{summary['passages_per_second']:,.0f}/s"
    )
    if summary["resumed"]:
        say(f"  {summary['resumed']:,} of them had been done by a build that was interrupted", "dim")
    say(f"  {_plain(manifest['embedding_model'])}, {manifest['embedding_precision']} · {_plain(manifest['parser'])}")
    say(
        f"  index {summary['index_bytes'] / 1e6:.1f} MB on disk · peak memory of all processes "
        f"{summary['peak_bytes'] / 1e6:.0f} MB · texts {manifest['corpus_set_sha256'][:16]}…"
    )
    table = Table(box=None, pad_edge=False)
    for column in ("stage", "busy s", "processes", "utilisation"):
        table.add_column(column, justify="left" if column == "stage" else "right")
    for stage in summary["stages"]:
        busy, used = f"{stage['busy_seconds']:.2f}", f"{stage['utilisation']:.0%}"
        table.add_row(stage["name"], busy, str(stage["processes"]), used)
    console.print()
    console.print(table)
    console.print()
    for check in summary["checks"]:
        mark = "[green]ok[/]  " if check["met"] else "[red]no[/]  "
        unit = check["unit"]
        say(f"{mark}{check['what']}: {check['measured']:,.5g}{unit} (asked for {check['bound']:,.5g}{unit})")
    for what, counts in (("left out", summary["skipped"]), ("failed", summary["failures"])):
        for why, count in counts.items():
            say(f"  {count:,} {what}: {_plain(why)}", "yellow")
    for source, why in summary["first_failures"][:5]:
        say(f"    {_plain(source)}: {_plain(why)}", "dim")
    console.print(f"  {path}", style="dim", highlight=False, markup=False, soft_wrap=True)


def _plain(text: str) -> str:
    """Text from outside on one line, with nothing in it that a terminal or the markup would take for a command."""
    return escape(plain_line(text))
