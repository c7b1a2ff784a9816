"""Costs shown on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from relaymark.explain.cost import Cost
from relaymark.report.clean import plain_line
from relaymark.report.digits import ABSENT, count, number


def print_cost(costs: Sequence[Cost], console: Console | None = None) -> None:
    """Prints each load level's."""
    out = console or Console()
    for one in costs:
        out.print(plain_line(one.load, 60), style="bold", highlight=False, markup=False)
        for name, text in cost_lines(one):
            out.print(f"  {name:<34} {text}", highlight=False, markup=False)
        for source in one.sources:
            out.print(f"  source: {plain_line(source, 200)}", style="dim", highlight=False, markup=False)
        for note in one.notes:
            out.print(f"  {plain_line(note, 200)}", style="dim", highlight=False, markup=False)


def cost_lines(one: Cost) -> list[tuple[str, str]]:
    """Name and figure of everything that is known."""
    money = plain_line(one.currency, 8)
    bounds = ""
    if one.low is not None and one.high is not None:
        bounds = f" ({_money(one.low)} – {_money(one.high)}, 95 % interval of the rate)"
    lines = [
        ("tasks; those that count", f"{count(one.tasks)}; {count(one.counting)}"),
        (f"{money} in all", _money(one.total)),
        (f"{money} for a million output tokens", _money(one.per_million_output) + bounds),
        (f"{money} for a million tokens", _money(one.per_million_tokens)),
        (f"{money} a task", _money(one.per_task)),
        (f"{money} a task that counts", _money(one.per_counting_task)),
    ]
    lines = [line for line in lines if line[1] != ABSENT]
    for name, value in (
        ("joules in all", one.joules),
        ("joules an output token", one.joules_per_output_token),
        ("joules a task", one.joules_per_task),
        ("joules a task that counts", one.joules_per_counting_task),
    ):
        if value is not None:
            lines.append((name, number(value)))
    return lines


def _money(value: float | None) -> str:
    if value is None:
        return ABSENT
    return f"{value:,.2f}" if value >= 1 else f"{value:.3g}"
