"""Findings on a terminal: a mark, a topic and a sentence each. Used by ``probe`` and ``doctor``; and plain listings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from relaymark.report.clean import plain_line

Mark = Literal["good", "note", "bad"]
_SIGNS: dict[Mark, tuple[str, str]] = {"good": ("ok", "green"), "note": ("note", "yellow"), "bad": ("BAD", "bold red")}


def print_findings(title: str, rows: Sequence[tuple[Mark, str, str]], console: Console | None = None) -> None:
    """Prints findings under a title. Texts may quote an endpoint: they are cleaned and never read as markup."""
    out = console or Console()
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), expand=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for mark, topic, text in rows:
        sign, style = _SIGNS[mark]
        table.add_row(Text(sign, style=style), Text(plain_line(topic, 40)), Text(plain_line(text, 600)))
    out.print(Text(plain_line(title, 300), style="bold"))
    out.print(table)


def print_listing(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    console: Console | None = None,
    *,
    last_wraps: bool = True,
) -> None:
    """Prints rows of short words under headings; the last column takes the room that is left."""
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    for number, heading in enumerate(headings):
        narrowest = max((len(row[0]) for row in rows), default=0) if not number else None
        table.add_column(heading, no_wrap=number < len(headings) - last_wraps, overflow="fold", min_width=narrowest)
    for row in rows:
        table.add_row(*(Text(plain_line(cell, 300)) for cell in row))
    (console or Console()).print(table)
