"""Comparisons shown: on a terminal, and as Markdown for a pull request."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from relaymark.explain.compare import Change, Comparison
from relaymark.report.clean import plain_line
from relaymark.report.digits import ABSENT, duration, number, percent
from relaymark.report.findings import print_listing

HEADS = ("figure", "A", "B", "change", "95 %", "verdict")


def print_comparison(one: Comparison, console: Console | None = None) -> None:
    """Prints it."""
    out = console or Console()
    out.print(f"A  {plain_line(one.a, 100)}", highlight=False, markup=False)
    out.print(f"B  {plain_line(one.b, 100)}", highlight=False, markup=False)
    for line in one.unlike:
        out.print(f"  not alike: {plain_line(line, 300)}", style="yellow", highlight=False, markup=False)
    for level in one.levels:
        out.print()
        how = "request by request" if level.paired else "each run by itself"
        out.print(f"{plain_line(level.load, 60)} ({how})", style="bold", highlight=False, markup=False)
        print_listing(HEADS, [cells(change) for change in level.changes], out, last_wraps=False)


def cells(change: Change) -> list[str]:
    """The cells of ``HEADS``."""
    bounds = ABSENT
    if change.low is not None and change.high is not None:
        bounds = f"{change.low:+.1%} to {change.high:+.1%}"
    return [
        change.metric,
        _value(change.a, change.unit),
        _value(change.b, change.unit),
        ABSENT if change.change is None else f"{change.change:+.1%}",
        bounds,
        change.verdict,
    ]


def _value(value: float, unit: str) -> str:
    if unit == "ns":
        return duration(value)
    return percent(value) if unit == "share" else f"{number(value)}/s"


def comparison_markdown(comparisons: Sequence[Comparison], broken: Sequence[str]) -> str:
    """Markdown for a comment: what is worse first, then all of it folded away."""
    parts: list[str] = []
    for one in comparisons:
        parts.append(f"### {_text(one.b)} against {_text(one.a)}\n")
        parts += [f"> **Not alike:** {_text(line)}\n" for line in one.unlike]
        shown = [(level, c) for level in one.levels for c in level.changes if c.verdict != "no difference shown"]
        worse = sum(change.verdict == "worse" for _, change in shown)
        total = sum(len(level.changes) for level in one.levels)
        parts.append(f"{worse} worse, {len(shown) - worse} better, {total - len(shown)} with no difference shown.\n")
        if shown:
            parts.append(_table([[_text(level.load), *cells(change)] for level, change in shown]))
        every = [[_text(level.load), *cells(change)] for level in one.levels for change in level.changes]
        parts.append(f"<details><summary>All {total} figures</summary>\n\n{_table(every)}\n</details>\n")
    parts += [f"**Limit broken:** {_text(line)}\n" for line in broken]
    return "\n".join(parts)


def _table(rows: Sequence[Sequence[str]]) -> str:
    heads = ("load", *HEADS)
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines) + "\n"


def _text(text: str) -> str:
    """Untrusted text in Markdown: on one line, and nothing in it is markup."""
    cleaned = plain_line(text, 300)
    return "".join(f"\\{char}" if char in "\\`*_{}[]<>#|!" else char for char in cleaned)
