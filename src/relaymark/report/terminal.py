"""The run on a terminal: verdict and error bar first, then the table. Nothing depends on colour."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from relaymark.measure.summary import Distribution, Stage, Summary
from relaymark.report import verdict
from relaymark.report.clean import plain_line
from relaymark.report.digits import (
    ABSENT,
    INFINITE,
    TimeUnit,
    count,
    number,
    percent,
    quantile_name,
    quantity,
    unit_for,
)
from relaymark.report.labels import is_good, ok_share, outcome_words, short_name, stage_label
from relaymark.report.tasks import HEADS, task_facts, task_rows
from relaymark.report.turns import HEADS as DEPTH_HEADS
from relaymark.report.turns import depth_head, depth_rows, reasoning_facts, turn_facts

_METRICS: tuple[tuple[str, tuple[float, ...]], ...] = (
    ("ttft", (0.5, 0.9, 0.99)),
    ("itl", (0.5, 0.99)),
    ("tpot", (0.5,)),
    ("latency", (0.5, 0.99)),
)
_NARROW = ("a task", "calls", "failed", "p50", "p99", "share of task")
# A terminal that cannot show these gets words it can.
_ASCII = str.maketrans(
    {"–": "-", "−": "-", "·": "|", "≤": "<=", "≥": ">=", "∞": "inf", "µ": "u", "×": "x", "…": "...", "“": '"', "”": '"'}
    | {"✓": "+", "✕": "x"}
)


@dataclass(frozen=True)
class _Column:
    """One column: two-line heading and how to fill it."""

    group: str
    head: str
    fill: Callable[[Stage], str]

    @property
    def title(self) -> str:
        return f"{self.group}\n{self.head}" if self.group else f"\n{self.head}"


def print_summary(summary: Summary, console: Console) -> None:
    """Print the run to `console`: verdict, error bar, headline table, failures, SLOs, warnings, notes.

    Text from files and servers is cleaned of control characters and never read as rich markup. All figures
    stand in one table where it fits the console's width, else in two, else in a block a stage.
    """
    _Printer(summary, console).print_all()


class _Printer:
    def __init__(self, summary: Summary, console: Console) -> None:
        self.summary = summary
        self.console = console
        self.ascii = console.options.ascii_only

    def text(self, text: str, style: str = "") -> Text:
        """Text that is never parsed as markup, in characters that the terminal has."""
        if self.ascii:
            text = text.translate(_ASCII).encode("ascii", "replace").decode()
        return Text(text, style=style)

    def line(self, text: str, style: str = "", indent: int = 0) -> None:
        self.console.print(Padding(self.text(text, style), (0, 0, 0, indent), expand=False), highlight=False)

    def item(self, mark: str, text: str, style: str = "") -> None:
        """A line whose continuation stands under its own text, not under its mark."""
        grid = Table.grid(padding=(0, 1))
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        grid.add_row(self.text(mark, style), self.text(text))
        self.console.print(Padding(grid, (0, 0, 0, 2), expand=False), highlight=False)

    def print_all(self) -> None:
        summary = self.summary
        self.console.print()
        self.verdict()
        self.console.print()
        for table in self.tables():
            self.console.print(table, highlight=False)
            self.console.print()
        if why := verdict.withheld(summary):
            self.line(why)
        self.turns()
        self.tasks()
        self.outcomes()
        self.slos()
        notes = [("warning", w) for w in summary.verdict.warnings] + [("note", n) for n in summary.notes]
        if notes:
            self.console.print()
        for mark, note in notes:
            self.item(mark, verdict.sentence(note), "bold" if mark == "warning" else "")

    def turns(self) -> None:
        """What the turns of conversations came to."""
        for stage in self.summary.stages:
            if stage.turns is None:
                continue
            self.line(f"Turns ({_load(stage)})", "bold")
            self.facts(turn_facts(stage.turns))
            if stage.turns.depth:
                self.console.print(self.grid(depth_head(stage.turns), DEPTH_HEADS, depth_rows(stage.turns)))
                self.console.print()

        for one in self.summary.reasoning:
            self.line("Reasoning, on against off", "bold")
            self.facts(reasoning_facts(one))

    def facts(self, rows: list[tuple[str, str]]) -> None:
        facts = Table.grid(padding=(0, 2))
        facts.add_column(no_wrap=True)
        facts.add_column(overflow="fold")
        for name, text in rows:
            facts.add_row(self.text(name), self.text(text))
        self.console.print(Padding(facts, (0, 0, 1, 2), expand=False), highlight=False)

    def grid(self, head: str, heads: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]]) -> Table:
        table = Table(box=box.ASCII2 if self.ascii else box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        table.add_column(self.text(head), no_wrap=True)
        for name in heads:
            table.add_column(self.text(name), justify="right", no_wrap=True)
        for name, cells in rows:
            table.add_row(self.text(name), *map(self.text, cells))
        return table

    def tasks(self) -> None:
        """What whole tasks came to, where a task is more than one request."""
        for stage in self.summary.stages:
            if stage.tasks is None:
                continue
            self.line(f"Tasks ({_load(stage)})", "bold")
            self.facts(task_facts(stage.tasks))
            kept = [place for place, head in enumerate(HEADS) if self.console.width >= 110 or head in _NARROW]
            rows = [(name, [cells[place] for place in kept]) for name, cells in task_rows(stage.tasks)]
            self.console.print(self.grid("leg", [HEADS[place] for place in kept], rows), highlight=False)
            self.console.print()

    def verdict(self) -> None:
        summary = self.summary
        valid = summary.verdict.valid
        head = self.text(verdict.headline(summary), "bold green" if valid else "bold red")
        head.append_text(self.text(f"  {plain_line(summary.name, 40)} · {plain_line(summary.model, 60)}"))
        self.console.print(head, highlight=False)
        if not valid:
            self.line(verdict.meaning(summary), indent=2)
        for reason in summary.verdict.reasons:
            self.item("✕", verdict.sentence(reason), "bold red")
        if status := verdict.status_line(summary):
            self.line(status, indent=2)
        self.line(verdict.error_bar_line(summary.error_bar))

    def tables(self) -> list[Table]:
        stages = self.summary.stages
        if not stages:
            return []
        rates, times = self.columns()
        one, two = [[*rates, *times]], [part for part in (rates, times) if part]
        for layout, name_width in ((one, 24), (two, 16)):
            tables = [self.table(columns, name_width) for columns in layout]
            if all(self.natural_width(table) <= self.console.width for table in tables):
                return tables
        return [self.block(stage, [*rates, *times]) for stage in stages]

    def columns(self) -> tuple[list[_Column], list[_Column]]:
        stages = self.summary.stages
        rates = [
            _Column("", "requests", lambda s: count(s.requests)),
            _Column("", "ok %", lambda s: percent(ok_share(s)).removesuffix(" %")),
            _Column("", "req/s", lambda s: number(s.request_rate)),
        ]
        if any(s.output_token_rate is not None for s in stages):
            rates.append(_Column("out", "tok/s", lambda s: number(s.output_token_rate)))
        if any(s.goodput is not None for s in stages):
            rates.append(_Column("goodput", "req/s", lambda s: number(s.goodput)))
        times: list[_Column] = []
        for metric, qs in _METRICS:
            having = [s.distributions[metric] for s in stages if metric in s.distributions]
            if not having:
                continue
            unit = unit_for(q.value for d in having for q in d.quantiles)
            for i, q in enumerate(qs):
                group = unit.head(short_name(metric)) if i == 0 else ""
                times.append(_Column(group, quantile_name(q), _filler(metric, q, unit)))
        return rates, times

    def table(self, columns: Sequence[_Column], name_width: int) -> Table:
        style = box.ASCII2 if self.ascii else box.SIMPLE_HEAD
        table = Table(box=style, pad_edge=False, show_edge=False, padding=(0, 0, 0, 1))
        table.add_column(self.text("\nload"), overflow="fold", max_width=name_width)
        for column in columns:
            table.add_column(self.text(column.title), justify="right", no_wrap=True)
        for stage in self.summary.stages:
            table.add_row(self.text(_load(stage)), *(self.text(c.fill(stage)) for c in columns))
        return table

    def natural_width(self, table: Table) -> int:
        return Measurement.get(self.console, self.console.options.update(max_width=10_000), table).maximum

    def block(self, stage: Stage, columns: Sequence[_Column]) -> Table:
        grid = Table.grid(padding=(0, 2))
        grid.add_column(no_wrap=True)
        grid.add_column(justify="right", overflow="fold")
        grid.add_row(self.text(_load(stage), "bold"), self.text(""))
        group = ""
        for c in columns:
            # A heading stands once over its percentiles in a table; in a list each line must say it.
            group = c.group or (group if c.head.startswith("p") else "")
            grid.add_row(self.text(f"{group} {c.head}".strip()), self.text(c.fill(stage)))
        return grid

    def outcomes(self) -> None:
        for stage in self.summary.stages:
            bad = sorted(((n, o) for o, n in stage.outcomes.items() if n and not is_good(o)), reverse=True)
            if not bad and not stage.in_flight_at_end:
                continue
            parts = [f"{count(n)} {outcome_words(o)}" for n, o in bad]
            if stage.in_flight_at_end:
                parts.append(f"{count(stage.in_flight_at_end)} still in flight at the end")
            self.line(f"{_load(stage)}: of {count(stage.requests)} requests {', '.join(parts)}")
            for message, n in stage.errors[:3]:
                self.item(f"{count(n)} ×", plain_line(message, 160))

    def slos(self) -> None:
        rows = [(stage, slo) for stage in self.summary.stages for slo in stage.slos]
        if rows:
            self.console.print()
        for stage, slo in rows:
            d = stage.distributions.get(slo.metric)
            measured = INFINITE if slo.measured is None else quantity(slo.measured, d.unit if d else "ns")
            where = f" ({_load(stage)})" if len(self.summary.stages) > 1 else ""
            word, style = ("PASS", "green") if slo.met else ("FAIL", "bold red")
            self.item(word, f"{plain_line(slo.text, 100)}: measured {measured}{where}", style)


def _load(stage: Stage) -> str:
    return plain_line(stage.load, 48) or stage_label(stage, 48)


def _filler(metric: str, q: float, unit: TimeUnit) -> Callable[[Stage], str]:
    return lambda stage: _value(stage.distributions.get(metric), q, unit)


def _value(distribution: Distribution | None, q: float, unit: TimeUnit) -> str:
    found = next((x for x in distribution.quantiles if x.q == q), None) if distribution else None
    return unit.show(found.value) if found else ABSENT
