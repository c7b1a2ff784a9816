"""Published results on a terminal. Whatever stands in a file counts as untrusted and is cleaned."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from relaymark.published import FLAGS, KINDS, Chain, Comparison, Finding, Imported, Placement, Source, Spread, Step
from relaymark.published import Table as Ranked
from relaymark.published.row import Row
from relaymark.report.clean import plain_line
from relaymark.report.digits import ABSENT
from relaymark.report.published.figures import figure, scale_of, side, system_of, times, verb

# Flags that change what a row may be compared with; the others concern spelling.
_TELLING = ("model-other", "model-untold", "accelerators-unused", "accelerator-mix-untold", "duplicate")
_VALUES = 6  # of a thing that is not equal; JSON has them all


def print_import(source: Source, done: Imported, store: Path, console: Console | None = None) -> None:
    """What came in, what it replaced, and which rows are odd."""
    out = console or Console()
    for name, count in done.rows.items():
        had = f", in place of {done.replaced[name]} that were there" if name in done.replaced else ""
        out.print(Text.assemble((f"{plain_line(name, 40)}", "bold"), f"  {count:,} rows from {source.kind}{had}"))
    if source.round_from == "file name":
        out.print(Text("The round is taken from the file's name; --round says otherwise.", style="yellow"))
    tally: dict[str, int] = {}
    for row in source.rows:
        for flag in row.flags:
            tally[flag] = tally.get(flag, 0) + 1
    for flag, count in sorted(tally.items(), key=lambda each: -each[1]):
        _say(out, f"{count:,} × {flag}: {FLAGS.get(flag, '')}", "dim")
    out.print(Text(f"  {store}", style="dim"), soft_wrap=True)


def print_tables(tables: Sequence[Ranked], per: str, limit: int, console: Console | None = None) -> None:
    """Rankings, one for each benchmark, scenario, division and unit, and beneath each what is not equal in it."""
    out = console or Console()
    if not tables:
        out.print("No row meets this.")
    for table in tables:
        named = (table.benchmark, table.scenario + ",", table.division + ",", table.unit)
        head = " ".join(plain_line(each, 40) for each in named)
        out.print(Text(f"{head}: {len(table.rows)} row{'s' * (len(table.rows) != 1)}", style="bold"))
        _ranking(table, per, limit, out)
        for what, values in table.unlike:
            _unlike(what, values, out)
        for row in table.rows:
            for flag in (each for each in row.flags if each in _TELLING):
                model = f" ({row.model})" if flag == "model-other" else ""
                _say(out, f"{row.id}: {FLAGS[flag]}{model}", "yellow")
        out.print()


def print_comparisons(found: Sequence[Comparison], console: Console | None = None) -> None:
    """Both sides, the ratio or why there is none, and everything that is not equal."""
    out = console or Console()
    for comparison in found:
        _comparison(comparison, out)
        out.print()


def print_steps(steps: Sequence[Step], console: Console | None = None) -> None:
    """Round over round: what each side was the best of, the ratio, and what is not equal beside it."""
    out = console or Console()
    if not steps:
        out.print("Nothing of this is in two rounds of the store.")
    for step in steps:
        comparison = step.comparison
        _comparison(comparison, out)
        if max(step.of) > 1:
            out.print(Text(f"  each the best of {step.of[0]} and {step.of[1]} rows", style="dim"))
        out.print()


def print_chains(chains: Sequence[Chain], console: Console | None = None) -> None:
    """Efficiency over the smallest size and over the size before, with what is not equal."""
    out = console or Console()
    if not chains:
        out.print("No family of these has two sizes.")
    for chain in chains:
        who = plain_line(chain.submitter, 40) or "different submitters"
        name = f"{chain.family}, {chain.benchmark} {chain.scenario}, {chain.round} {chain.division}"
        out.print(Text.assemble((plain_line(name, 120), "bold"), f": {who}"))
        rights = [(head, True) for head in ("count", "result", "each", "of first", "of step")]
        grid = _Columns(*rights, ("", False), names=[5])
        for point in chain.points:
            step = ABSENT if point.step is None else f"{100 * point.step:.1f} %"
            who = system_of(point.row, 44)
            best = f" (best of {point.of})" if point.of > 1 else ""
            cells = [
                f"{point.size}",
                figure(point.row.value),
                figure(point.rate),
                f"{100 * point.efficiency:.1f} %",
                step,
            ]
            grid.add(*cells, who + best, name_style="yellow" if point.foreign else "")
        grid.print(out)
        for point in chain.points:
            if point.unlike:
                told = "; ".join(f"{each.what} {each.a} / {each.b}" for each in point.unlike)
                warning = "not one experiment: " if point.foreign else "not equal: "
                style = "yellow" if point.foreign else "dim"
                _say(out, f"{point.size}: {warning}{told}", style)
        out.print()


def print_spreads(spreads: Sequence[Spread], console: Console | None = None) -> None:
    """How far submitters of one configuration lie apart."""
    out = console or Console()
    if not spreads:
        out.print("No two submitters have this configuration.")
    for spread in spreads:
        name = f"{spread.benchmark} {spread.scenario}, {spread.round} {spread.division}"
        best, worst = spread.rows[0], spread.rows[-1]
        out.print(Text(plain_line(name, 120), style="bold"))
        counts = f"{len(spread.rows)} rows of {spread.submitters} submitters"
        ends = f"best {figure(best.value)}, median {figure(spread.median)}, last {figure(worst.value)} {best.unit}"
        out.print(Text(f"  {counts}: {ends}; best over last {times(spread.spread)}"))
        grid = _Columns(("", True), ("of median", True), ("", False), ("precision", False), ("row", False), names=[2])
        for row in spread.rows:
            share = 0.0 if row.value is None else 100 * row.value / spread.median
            grid.add(figure(row.value), f"{share:.1f} %", system_of(row), plain_line(row.precision, 24), row.id)
        grid.print(out)
        for what, values in spread.unlike:
            _unlike(what, values, out)
        out.print()


def print_findings(findings: Sequence[Finding], limit: int, console: Console | None = None) -> None:
    """Findings by kind, each with its rows and the arithmetic; no more than ``limit`` of a kind."""
    out = console or Console()
    if not findings:
        out.print("Nothing odd was found.")
    for kind, meaning in KINDS.items():
        found = [finding for finding in findings if finding.kind == kind]
        if not found:
            continue
        out.print(Text.assemble((kind, "bold"), f"  {meaning}: {len(found)}"))
        for finding in found[:limit]:
            _say(out, finding.says)
            _say(out, finding.arithmetic, "dim", 4)
            ids = [row.id for row in finding.rows]
            more = f" and {len(ids) - 8} more" if len(ids) > 8 else ""
            out.print(Text(f"    rows {', '.join(ids[:8])}{more}", style="dim"))
        if len(found) > limit:
            out.print(Text(f"  … and {len(found) - limit} more; --limit 0 or --json has them all.", style="dim"))
        out.print()


def print_placement(placed: Placement, limit: int, console: Console | None = None) -> None:
    """Where a run stands, or why it stands nowhere, and what is not equal."""
    out = console or Console()
    run = placed.run
    name = f"{plain_line(run.name, 60)} ({plain_line(run.model, 80)}), {run.scenario}"
    word, style = ("PLACED", "bold green") if not placed.refused else ("PLACED ANYWAY", "bold yellow")
    if not placed.rankings:
        word, style = "NOT PLACED", "bold red"
    against = f" among {len(placed.rows)} rows of {placed.benchmark}, {placed.round}" if placed.rankings else ""
    out.print(Text.assemble((word, style), f"  {name}{against}"))
    for reason in placed.refused:
        _say(out, f"✕ {reason}", "red")
    for ranking in placed.rankings:
        whole = len(ranking.rows) + 1
        head = f"  {figure(ranking.value)} {ranking.unit}: place {ranking.place} of {whole}"
        out.print(Text(head, style="bold"))
        _neighbours(ranking.rows, ranking.per, ranking.place - 1, ranking.value, limit, out)
    if placed.alike:
        out.print(
            Text(
                f"  of the same accelerators, as many: {len(placed.alike)} row{'s' * (len(placed.alike) != 1)}",
                style="bold",
            )
        )
        for row in placed.alike[:limit]:
            share = run.results[row.unit] / row.value if row.value else 0.0
            share = share if row.higher_is_better else 1 / share
            out.print(Text(f"    {side(row, 'system')}: yours is {times(share)}"), soft_wrap=True)
    out.print(Text("  not equal, or not known to be:", style="dim"))
    for each in placed.unlike:
        _say(out, each, "dim", 4)


def _neighbours(rows: Sequence[Row], per: str, index: int, value: float, limit: int, out: Console) -> None:
    grid = _Columns(("", True), ("", True), ("", False), ("", False), ("", False), names=[2])
    first = max(0, index - limit // 2)
    shown = list(enumerate(rows))[first : first + limit]
    mine = ["→", figure(value), "your run", "", ""]
    for place, row in shown:
        if place == index:
            grid.add(*mine, style="bold")
        number = f"{place + 1 + (place >= index)}"
        grid.add(number, figure(row.per(per)), system_of(row), scale_of(row, 24), row.id)
    if index >= first + len(shown):
        grid.add(*mine, style="bold")
    grid.print(out)


class _Columns:
    """A table in which names give way, and figures never do.

    Heads: (text, whether it stands to the right). ``names`` are the columns that are shortened on a narrow terminal.
    """

    def __init__(self, *heads: tuple[str, bool], names: Sequence[int]) -> None:
        self.heads = heads
        self.names = names
        self.rows: list[tuple[list[str], str, str]] = []

    def add(self, *cells: str, style: str = "", name_style: str = "") -> None:
        """A row of plain texts."""
        self.rows.append((list(cells), style, name_style))

    def print(self, out: Console) -> None:
        """Prints it, no wider than the console unless the figures alone are."""
        told = [[head for head, _ in self.heads], *(cells for cells, _, _ in self.rows)]
        widths = [max(cell_len(cells[place]) for cells in told) for place in range(len(self.heads))]
        over = sum(widths) + 2 * len(widths) - out.width
        for place in self.names:
            widths[place] = max(10, widths[place] - max(0, over))
        grid = Grid(box=None, padding=(0, 2, 0, 0), header_style="dim", show_header=any(head for head, _ in self.heads))
        for place, (head, right) in enumerate(self.heads):
            grid.add_column(Text(head), justify="right" if right else "left", no_wrap=True, min_width=widths[place])
        for cells, style, name_style in self.rows:
            styles = [name_style if place in self.names else "" for place in range(len(cells))]
            grid.add_row(*map(Text, map(plain_line, cells, widths), styles), style=style)
        # Where even the figures are wider than the terminal, its own wrapping loses less than cutting them.
        out.print(grid, width=max(out.width, sum(widths) + 2 * len(widths)), crop=False, no_wrap=True)


def _ranking(table: Ranked, per: str, limit: int, out: Console) -> None:
    heads = (
        [("", True)] + [(f"a{'n' * (per == 'accelerator')} {per}", True)] * (per != "system") + [("the system", True)]
    )
    name = len(heads)
    mixed = len({row.availability for row in table.rows}) > 1
    heads += [("system", False), ("accelerators", False)] + [("", False)] * mixed
    wide = out.width >= 110
    heads += [("precision", False), ("row", False)] if wide else [("row", False)]
    grid = _Columns(*heads, names=[name])
    shown = table.rows if limit <= 0 else table.rows[:limit]
    for place, row in enumerate(shown, 1):
        cells = [f"{place}" if row.per(per) is not None else ABSENT]
        cells += [figure(row.per(per))] if per != "system" else []
        cells += [figure(row.value), system_of(row), scale_of(row, 30)]
        cells += [plain_line(row.availability, 12)] if mixed else []
        cells += [plain_line(row.precision or row.precision_raw, 24), row.id] if wide else [row.id]
        grid.add(*cells)
    grid.print(out)
    if len(shown) < len(table.rows):
        out.print(Text(f"… and {len(table.rows) - len(shown)} more; --limit 0 shows them.", style="dim"))


def _comparison(comparison: Comparison, out: Console) -> None:
    a, b = comparison.a, comparison.b
    name = (
        f"{a.benchmark} {a.scenario}" if a.key == b.key else f"{a.benchmark} {a.scenario} / {b.benchmark} {b.scenario}"
    )
    ratio = times(comparison.ratio)
    told = ratio if comparison.ratio is None else f"{ratio} ({verb(comparison)})"
    out.print(
        Text.assemble((plain_line(name, 120), "bold"), "  ", (told, "bold red" if comparison.ratio is None else "bold"))
    )
    out.print(Text(f"  A {side(a, comparison.per)}  {a.id}"), soft_wrap=True)
    out.print(Text(f"  B {side(b, comparison.per)}  {b.id}"), soft_wrap=True)
    for reason in comparison.refused:
        _say(out, f"✕ {reason}", "red")
    if comparison.refused and comparison.ratio is None and a.unit == b.unit:
        out.print(Text("  --anyway gives the ratio all the same, where there is one.", style="dim"))
    for each in comparison.differences:
        style = "yellow" if each.what in ("availability", "scale", "accelerator", "division", "precision") else "dim"
        _say(out, f"not equal  {each}", style)
    if not comparison.differences:
        out.print(Text("  equal in all that the tables tell", style="green"))


def _unlike(what: str, values: Sequence[str], out: Console) -> None:
    # Long names that only differ in their tails would all read the same.
    short = list(dict.fromkeys(plain_line(value, 40) for value in values))
    shown = "; ".join(short[:_VALUES])
    more = f" and {len(values) - _VALUES} more" if len(values) > _VALUES else ""
    kinds = f"{len(values)} kinds, " if len(short) < len(values) else ""
    _say(out, f"not equal  {what}: {kinds}{shown}{more}", "dim")


def _say(out: Console, text: str, style: str = "", indent: int = 2) -> None:
    """A line whose wrapped rest stays under its start. File text counts as untrusted."""
    out.print(Padding(Text(plain_line(text, 800), style=style), (0, 0, 0, indent), expand=False))
