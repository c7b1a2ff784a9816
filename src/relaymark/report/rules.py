"""Plans and findings of the rules: on a terminal, and as JSON."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from relaymark.report.clean import plain_line
from relaymark.report.digits import number
from relaymark.rules import CurvePlan, Finding, Findings, Severity
from relaymark.rules.limits import Model, SeedSet
from relaymark.rules.regions import BANDS
from relaymark.rules.scenario import Judgement

_SHOWN = 40  # findings on a terminal; JSON has them all
_REGIONS = ("low_latency", "low_concurrency", "med_concurrency", "high_concurrency", "margin")


def print_findings(findings: Findings, bundle: Path, console: Console | None = None) -> None:
    """Prints the verdict, then each finding with rule, place and mend. File names and values count as untrusted."""
    out = console or Console()
    errors, warnings = len(findings.errors), len(findings.warnings)
    word, style = ("REFUSED", "bold red") if errors else ("PASSED", "bold green")
    counts = f"  {_many(errors, 'error')}, {_many(warnings, 'warning')}  "
    out.print(Text.assemble((word, style), counts, (plain_line(str(bundle), 200), "dim")), soft_wrap=True)
    shown = [*findings.errors, *findings.warnings][:_SHOWN]
    for finding in shown:
        _print_finding(finding, out)
    left = errors + warnings - len(shown)
    if left:
        out.print(Text(f"… and {left} more; --json has them all.", style="dim"))
    ours = sum(finding.ours for finding in findings.errors)
    if ours:
        rules = f"{_many(ours, 'error')} of these {'is' if ours == 1 else 'are'} not among the official checker's"
        out.print(Text(f"\n{rules} (1.5.3.0): the written rules ask for it all the same.", style="dim"))


def findings_json(findings: Findings, bundle: Path) -> bytes:
    """The findings as indented JSON."""
    rows = [
        {
            "rule": finding.rule,
            "severity": finding.severity,
            "section": finding.section,
            "official": not finding.ours,
            "place": finding.place,
            "says": finding.says,
            "mend": finding.mend,
        }
        for finding in findings.found
    ]
    told = {"bundle": str(bundle), "passed": not findings.errors, "findings": rows}
    return msgspec.json.format(msgspec.json.encode(told), indent=2) + b"\n"


def print_plan(plan: CurvePlan, model: Model, seeds: Sequence[SeedSet], console: Console | None = None) -> None:
    """Prints the points to run, the regions, the seeds, and how long it takes."""
    out = console or Console()
    regions = plan.regions
    title = f"{model.name}, C_max {regions.c_max:,}: {len(plan.points)} points"
    out.print(Text(title, style="bold"))
    spans = [f"{_short(name)} {regions.spans[name]}" for name in _REGIONS if not regions.spans[name].empty]
    out.print(Text(" · ".join(spans), style="dim"))
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for heading in ("concurrency", "region", "passes", "takes", "accuracy"):
        right = heading in ("concurrency", "passes", "takes")
        table.add_column(heading, justify="right" if right else "left", no_wrap=True)
    for point in plan.points:
        accuracy = _short(point.accuracy)
        took = f" ({_time(point.accuracy_seconds)})" if accuracy and point.accuracy_seconds else ""
        steady = "" if point.official or point.seconds is None or point.offline == "dedicated" else " ‡"
        takes = f"≥ {_time(point.least_seconds)}" if point.seconds is None else f"{_time(point.seconds)}{steady}"
        name = {"dedicated": "Offline", "elected": "high, Offline"}.get(point.offline, _short(point.region))
        passes = "≥ 1" if point.seconds is None else f"{point.passes}"
        table.add_row(f"{point.concurrency:,}", name, passes, takes, f"{accuracy}{took}")
    out.print(table)
    if plan.seconds is not None:
        out.print(Text(f"In all {_time(plan.seconds)}, warm-ups left out.", style="bold"))
    wanted = ", ".join(_short(band) for band in BANDS)
    out.print(Text(f"Accuracy: exactly one result each for {wanted}{_offline(plan)}", style="dim"))
    for seed_set in seeds:
        values = ", ".join(f"{name} {value}" for name, value in seed_set.seeds.items())
        out.print(Text(f"Seed set {seed_set.id} ({', '.join(seed_set.adoptable)}): {values}", style="dim"))
    for note in plan.notes:
        out.print(Text(f"‡ {note}" if note.startswith("Too slow") else f"· {note}", style="yellow"))


def plan_json(plan: CurvePlan) -> bytes:
    """The plan as indented JSON; seconds are null where no speed is known."""
    regions = {name: [span.start, span.end] for name, span in plan.regions.spans.items()}
    told = {
        "c_max": plan.regions.c_max,
        "c_min": plan.regions.c_min,
        "regions": regions,
        "points": [msgspec.to_builtins(point) for point in plan.points],
        "seconds": plan.seconds,
        "notes": plan.notes,
    }
    return msgspec.json.format(msgspec.json.encode(told), indent=2) + b"\n"


def print_judgement(judged: Judgement, benchmark: str, round_name: str, console: Console | None = None) -> None:
    """Prints a scenario's result and each thing that it asks for."""
    out = console or Console()
    word, style = ("MET", "bold green") if judged.valid else ("NOT MET", "bold red")
    value = "too few samples for the estimate" if judged.result is None else f"{number(judged.result)} {judged.unit}"
    out.print(Text.assemble((word, style), f"  {benchmark}, {judged.scenario}, {round_name}: {value}"))
    for condition in judged.conditions:
        mark = ("ok", "green") if condition.met else ("no", "red")
        out.print(Text.assemble(mark, f"  {condition.what}: {condition.told}"))


def count_on_stderr(what: str) -> Callable[[int, int], None]:
    """Something to call with (done, all) that keeps one line of progress on a terminal, and says nothing elsewhere."""

    def tell(done: int, whole: int) -> None:
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{done}/{whole} {what}" + ("\n" if done == whole else ""))
            sys.stderr.flush()

    return tell


def _print_finding(finding: Finding, out: Console) -> None:
    error = finding.severity is Severity.ERROR
    section = f" §{finding.section}" if finding.section else ""
    head = Text.assemble(
        ("error  " if error else "warning", "bold red" if error else "yellow"),
        "  ",
        (finding.rule, "bold"),
        (section, "dim"),
        "  ",
        plain_line(finding.says, 400),
    )
    out.print(head, soft_wrap=True)
    out.print(Text(f"         at {plain_line(finding.place, 300)}", style="dim"), soft_wrap=True)
    if error and finding.mend:
        out.print(Text(f"         try: {plain_line(finding.mend, 300)}"), soft_wrap=True)


def _offline(plan: CurvePlan) -> str:
    if any(point.offline == "dedicated" for point in plan.points):
        return ", and one for Offline."
    return ", and the elected point's counts for Offline." if any(point.offline for point in plan.points) else "."


def _short(region: str) -> str:
    return region.replace("_concurrency", "").replace("_", " ").replace("med", "medium")


def _many(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 1:
        return f"{rest} s"
    hours, minutes = divmod(minutes, 60)
    if hours or minutes >= 10:
        return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min"
    return f"{minutes} min" + (f" {rest:02d} s" if rest else "")
