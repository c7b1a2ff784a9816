"""A sweep shown: its page, its table on a terminal, and JSON."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from relaymark.measure.curve import CURVE_FILE, CurvePoint, Estimate, LevelRun, Sweep, curve_points
from relaymark.report.charts.pareto import Shade, over_level, pareto
from relaymark.report.clean import plain_line
from relaymark.report.digits import ABSENT, count, duration, number, percent
from relaymark.report.pages import render_page
from relaymark.trace.runfolder import REPORT_FILE


@dataclass(frozen=True)
class Answer:
    """What a search found, in a headline and sentences."""

    head: str
    lines: list[str]
    good: bool


def write_curve(sweep: Sweep, path: Path) -> Path:
    """Writes the page of a sweep; it loads nothing and runs only its own script."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(render_curve(sweep), encoding="utf-8", newline="\n")
    return partial.replace(path)


def render_curve(sweep: Sweep) -> str:
    """The page as HTML text. Names, URLs and messages count as untrusted, as in a run's report."""
    points = curve_points(sweep.runs)
    plots = [
        ("System tokens/s over the load", over_level("System tokens/s over the load", points, "system_tps")),
        ("TTFT p90 over the load", over_level("TTFT p90 over the load", points, "ttft_p90")),
    ]
    return render_page(
        "curve",
        styles=("report.css", "curve.css"),
        scripts=("report.js",),
        title=plain_line(sweep.name, 80) or "sweep",
        model=plain_line(sweep.model, 120),
        url=plain_line(sweep.url, 300),
        started=plain_line(sweep.started_at, 60),
        version=plain_line(sweep.version, 40),
        status={"interrupted": "Interrupted: `relaymark sweep --resume` takes it up again."}.get(sweep.status, ""),
        answer=answer_of(sweep),
        curve=pareto("System tokens/s over tokens/s per user", points, sweep.kind, holds_to(sweep, points)),
        legend=Shade(points).legend(),
        bounded=bool(sweep.slos),
        heads=_heads(sweep),
        rows=[(f"{point.level:.4g}", _cells(sweep, point)) for point in points],
        plots=[(name, plot) for name, plot in plots if plot],
        notes=[plain_line(note, 400) for note in sweep.notes],
        bound_names=[plain_line(bound.text, 60) for bound in sweep.runs[0].bounds] if sweep.runs else [],
        runs=[_run_row(sweep, run) for run in sweep.runs],
    )


def print_curve(sweep: Sweep, folder: Path, console: Console | None = None) -> None:
    """Prints the table, the answer of a search, and where the page is."""
    out = console or Console()
    points = curve_points(sweep.runs)
    answer = answer_of(sweep)
    if answer is not None:
        out.print(Text(answer.head, style="bold green" if answer.good else "bold red"))
        for line in answer.lines:
            out.print(Text(line))
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    repeated = any(point.runs > 1 or not point.valid for point in points)
    for heading in _heads(sweep):
        if heading != "runs" or repeated:
            short = {"tok/s a user": "/user", "req/s asked": "asked"}.get(heading, heading)
            table.add_column(short, justify="right", no_wrap=True)
    for point in points:
        cells = [Text(text, style="red" if bad else "") for text, _, bad in _cells(sweep, point)]
        table.add_row(f"{point.level:.4g}", *(cells if repeated else cells[1:]))
    out.print(table)
    for note in sweep.notes:
        out.print(Text(plain_line(note, 400), style="yellow"))
    out.print(f"  {folder / CURVE_FILE}", style="dim", highlight=False, markup=False, soft_wrap=True)


def sweep_json(sweep: Sweep) -> bytes:
    """The sweep with its points, as indented JSON."""
    told = {**msgspec.to_builtins(sweep), "points": msgspec.to_builtins(curve_points(sweep.runs))}
    return msgspec.json.format(msgspec.json.encode(told), indent=2) + b"\n"


def answer_of(sweep: Sweep) -> Answer | None:
    """What the search found; ``None`` where none was made."""
    found = sweep.found
    if found is None:
        return None
    bounds = [plain_line(bound.text, 80) for bound in sweep.runs[0].bounds] if sweep.runs else []
    asked = " and ".join(bounds)
    unit = "concurrency" if sweep.kind == "concurrency" else "requests/s"
    took = f"{found.runs} run{'s' if found.runs != 1 else ''}; {found.why}."
    if found.level is None:
        return Answer(f"No {unit} holds", [f"{asked}: not met even at the lowest load that was tried.", took], False)
    lines = [f"The highest {unit} at which {asked} held." if asked else "", took]
    if found.high is None:
        lines[1] += " Nothing higher was tried: raise --highest."
    elif found.low is not None:
        near, sure = percent(_tolerance(sweep)), percent(min(found.confidence, 0.999))
        lines.append(f"95 % interval {found.low:.4g} to {found.high:.4g}.")
        lines.append(f"It is within {near} of the true one with {sure} confidence.")
    head = f"Concurrency {found.level:.0f}" if sweep.kind == "concurrency" else f"{found.level:.4g} requests/s"
    return Answer(head, [line for line in lines if line], True)


def _tolerance(sweep: Sweep) -> float:
    asked = sweep.options.get("tolerance")
    return asked if isinstance(asked, float) else 0.03


def holds_to(sweep: Sweep, points: list[CurvePoint]) -> float | None:
    """The highest level up to which every bound holds: the search's, else that of the levels that were run."""
    if sweep.found is not None:
        return sweep.found.level
    highest = None
    for point in points:
        if point.holds is not True:
            break
        highest = point.level
    return highest


def _heads(sweep: Sweep) -> list[str]:
    bounds = ["bounds"] if sweep.slos else []
    level = "users" if sweep.kind == "concurrency" else "req/s asked"
    return [level, "runs", "tok/s", "tok/s a user", "TTFT p90", "TPOT p90", "ok req/s", "failed", *bounds]


def _cells(sweep: Sweep, point: CurvePoint) -> list[tuple[str, str, bool]]:
    """(text, what stands small beneath it, whether it is bad) of a level."""
    cells = [
        (f"{point.runs}" if point.valid else f"{point.runs} ✕", "", not point.valid),
        _estimate(point.system_tps),
        _estimate(point.tps_per_user),
        (_time(point.ttft_p90), "", False),
        (_time(point.tpot_p90), "", False),
        (number(point.request_rate), "", False),
        (percent(point.failed_share), "", point.failed_share > 0),
    ]
    if sweep.slos:
        word = {True: "hold", False: "missed", None: ABSENT}[point.holds]
        cells.append((word, "", point.holds is False))
    return cells


def _run_row(sweep: Sweep, run: LevelRun) -> dict[str, Any]:
    bounds = [(_time(bound.measured) if bound.measured is not None else "∞", not bound.met) for bound in run.bounds]
    return {
        "name": f"{run.level:.4g}",
        "href": f"{quote(run.folder)}/{REPORT_FILE}",
        "requests": count(run.requests),
        "failed": count(run.failed),
        "tps": ABSENT if run.system_tps is None else number(run.system_tps.value),
        "bounds": bounds,
        "basis": run.basis,
        "overhead": ABSENT if run.overhead is None else f"{run.overhead:.1f} s",
        "valid": run.valid,
        "verdict": "VALID" if run.valid else "INVALID: " + plain_line(" ".join(run.reasons), 160),
    }


def _estimate(estimate: Estimate | None) -> tuple[str, str, bool]:
    if estimate is None:
        return ABSENT, "", False
    around = "" if estimate.low is None or estimate.high is None else f"{number(estimate.low)}–{number(estimate.high)}"
    return number(estimate.value), around, False


def _time(ns: float | None) -> str:
    return ABSENT if ns is None else duration(ns)
