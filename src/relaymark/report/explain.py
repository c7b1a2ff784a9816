"""A run explained: its page, its tables on a terminal, and JSON."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from relaymark.explain.anatomy import Figure, StageShare
from relaymark.explain.explaining import Explanation
from relaymark.explain.path import OWN
from relaymark.explain.replay import Server
from relaymark.explain.whatif import Prediction
from relaymark.report.charts.waterfall import path_bar, waterfall
from relaymark.report.clean import plain_line
from relaymark.report.digits import ABSENT, count, duration, number, percent
from relaymark.report.findings import print_listing
from relaymark.report.pages import render_page

PAGE_FILE = "explain.html"
_FEWEST_EXPLAINED = 0.2
STAGE_HEADS = ("stage", "share of the path", "95 %", "a task", "waits", "legs", "busy", "in flight")


def write_explanation(one: Explanation, path: Path) -> Path:
    """Writes the page; it loads nothing and runs only its own script."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(render_explanation(one), encoding="utf-8", newline="\n")
    return partial.replace(path)


def render_explanation(one: Explanation) -> str:
    """The page as HTML text. Names and URLs count as untrusted."""
    anatomy = one.anatomy
    colour = {stage.name: place for place, stage in enumerate(anatomy.stages)}
    sliders = [
        {"n": plain_line(stage.name, 40), "s": stage.share, "c": colour[stage.name] % 8, "own": stage.name == OWN}
        for stage in anatomy.stages
    ]
    return render_page(
        "explain",
        styles=("report.css", "explain.css"),
        scripts=("report.js", "explain.js"),
        title=plain_line(one.name, 80) or "run",
        run_id=plain_line(one.run_id, 80),
        load=plain_line(one.load, 80),
        headline=headline(one),
        bar=path_bar([(plain_line(s.name, 40), s.share, colour[s.name]) for s in anatomy.stages]),
        heads=STAGE_HEADS[1:],
        stages=[(colour[s.name] % 8, plain_line(s.name, 40), stage_cells(s)[1:]) for s in anatomy.stages],
        predictions=[prediction_cells(p) for p in one.predictions],
        valuable=[prediction_cells(p) for p in one.valuable],
        how=how(one),
        split=split_line(one),
        tail=tail_lines(one),
        tail_rows=tail_rows(one),
        endpoints=endpoint_rows(one),
        turns=turn_lines(one),
        falls=[(w.which, duration(w.latency), waterfall(w, colour), w.left_out) for w in one.waterfalls],
        notes=[plain_line(note, 300) for note in (*anatomy.notes, *one.notes)],
        sliders=msgspec.json.encode(sliders).decode(),
    )


def print_explanation(one: Explanation, console: Console | None = None) -> None:
    """Prints it."""
    out = console or Console()
    out.print(f"{plain_line(one.name, 60)} · {plain_line(one.load, 60)}", style="bold", highlight=False, markup=False)
    for line in headline(one):
        out.print(f"  {line}", highlight=False, markup=False)
    out.print()
    print_listing(STAGE_HEADS, [stage_cells(stage) for stage in one.anatomy.stages], out, last_wraps=False)
    out.print()
    if one.predictions:
        out.print("What if", style="bold")
        rows = [prediction_cells(each) for each in one.predictions]
        print_listing(("change", "a task is", "95 %"), rows, out, last_wraps=False)
        out.print()
    out.print("The most valuable change: each stage alone twice as fast", style="bold")
    print_listing(
        ("change", "a task is", "95 %"), [prediction_cells(each) for each in one.valuable], out, last_wraps=False
    )
    out.print(f"  {how(one)}", style="dim", highlight=False, markup=False)
    for title, lines in (
        ("Best split of the budget", [split_line(one)] if one.split else []),
        ("The slowest hundredth", [*tail_lines(one), *(f"{a}: {b}" for a, b in tail_rows(one))]),
        ("Endpoints", [" · ".join(row) for row in endpoint_rows(one)] if len(one.anatomy.endpoints) > 1 else []),
        ("What a request's latency is made of", [f"{a}: {b}" for a, b in turn_lines(one)]),
        ("Notes", [plain_line(note, 300) for note in (*one.anatomy.notes, *one.notes)]),
    ):
        if lines:
            out.print()
            out.print(title, style="bold")
            for line in lines:
                out.print(f"  {line}", highlight=False, markup=False)


def headline(one: Explanation) -> list[str]:
    """What to know first."""
    anatomy = one.anatomy
    first = anatomy.stages[0]
    lines = [
        f"{count(anatomy.tasks)} tasks: mean {_figure(anatomy.mean)}, median {_figure(anatomy.median)}, "
        f"p99 {_figure(anatomy.p99)}.",
        f"{percent(first.share)} of a task's time is waiting for {_name(first.name)} "
        f"(95 % interval {percent(first.low)} to {percent(first.high)}).",
    ]
    if one.valuable:
        best = one.valuable[0]
        lines.append(
            f"The most valuable single change: {plain_line(best.what, 60)} makes tasks {_times(best.speedup)} faster "
            f"({_times(best.low)} to {_times(best.high)})."
        )
    return lines


def _figure(one: Figure) -> str:
    if one.low is None or one.high is None:
        return f"{duration(one.value)} (too few for an interval)"
    return f"{duration(one.value)} ({duration(one.low)} – {duration(one.high)})"


def _name(stage: str) -> str:
    return "the pipeline's own work" if stage == OWN else plain_line(stage, 40)


def stage_cells(stage: StageShare) -> list[str]:
    """The cells of ``STAGE_HEADS``."""
    return [
        plain_line(stage.name, 40),
        percent(stage.share),
        f"{percent(stage.low)}–{percent(stage.high)}",
        duration(stage.mean),
        ABSENT if stage.waiting is None else percent(stage.waiting),
        number(stage.legs),
        percent(stage.busy) if stage.name != OWN else ABSENT,
        number(stage.in_flight) if stage.name != OWN else ABSENT,
    ]


def prediction_cells(one: Prediction) -> list[str]:
    """Change, factor, interval."""
    return [plain_line(one.what, 80), f"{_times(one.speedup)} faster", f"{_times(one.low)}–{_times(one.high)}"]


def _times(value: float) -> str:
    return "∞ ×" if math.isinf(value) else f"{value:.2f} ×" if value < 100 else f"{value:,.0f} ×"


def how(one: Explanation) -> str:
    """How predictions were made, and how well that gives the measured run."""
    if not one.loaded:
        return "One task at a time: Amdahl's law on the shares of the critical path."
    servers = "; ".join(_server(server) for server in one.servers)
    words = "Tasks beside one another: the measured tasks replayed through queues"
    error = "" if one.replay_error is None else f" Replayed as it was, its mean is off by {one.replay_error:+.1%}."
    return f"{words}{': ' + servers if servers else ''}.{error}"


def _server(server: Server) -> str:
    name = plain_line(server.endpoint, 60)
    if server.servers is None:
        return f"{name} was never full (at most {server.most_in_flight} at once)"
    return f"{name} has {server.servers} servers, and {percent(server.waited)} of its time was waiting for one"


def split_line(one: Explanation) -> str:
    """The best split in words; empty without a budget."""
    if one.split is None:
        return ""
    parts = ", ".join(f"{name} {factor:.2f} ×" for name, factor in one.split.factors.items() if factor > 1.005)
    return f"{parts or 'nothing'}: tasks {_times(one.split.speedup)} faster for {one.split.budget:g}"


def tail_lines(one: Explanation) -> list[str]:
    """What the slowest tasks are."""
    tail = one.anatomy.tail
    if tail is None:
        return ["There are too few tasks for a hundredth of them to mean anything."]
    return [
        f"{count(tail.tasks)} tasks of {duration(tail.least)} and more: {duration(tail.mean)} ({duration(tail.low)} – "
        f"{duration(tail.high)}) on average, where the "
        f"others take {duration(tail.others)}."
    ]


def tail_rows(one: Explanation) -> list[tuple[str, str]]:
    """Stage → what it has to do with the slowest tasks."""
    tail = one.anatomy.tail
    rows: list[tuple[str, str]] = []
    for stage in tail.stages if tail else []:
        if stage.part < 0.02:
            continue
        parts = [f"{percent(stage.part)} of what they take more, {duration(stage.more)} a task"]
        if abs(stage.legs_more) >= 0.05:
            parts.append(f"{stage.legs_more:+.1f} legs")
        if stage.longer is not None and abs(stage.longer - 1) >= 0.05:
            parts.append(f"a leg takes {stage.longer:.2f} × as long")
        rows.append((_name(stage.name), ", ".join(parts)))
    return rows


def endpoint_rows(one: Explanation) -> list[list[str]]:
    """One row an endpoint."""
    rows: list[list[str]] = []
    for each in one.anatomy.endpoints:
        straggles = ""
        if each.slower is not None and each.slower_low is not None and each.slower_high is not None:
            straggles = f"straggles: {each.slower:.2f} × ({each.slower_low:.2f}–{each.slower_high:.2f})"
        rows.append(
            [
                plain_line(each.endpoint, 80),
                f"{count(each.legs)} legs",
                f"median {_figure(each.median)}",
                f"p99 {_figure(each.p99)}",
                f"busy {percent(each.busy)}",
                *([straggles] if straggles else []),
            ]
        )
    return rows


def turn_lines(one: Explanation) -> list[tuple[str, str]]:
    """The model of a request's latency in words."""
    turns = one.turns
    if turns is None:
        return []
    if turns.explained < _FEWEST_EXPLAINED:
        share = percent(max(0.0, turns.explained))
        return [("no model", f"tokens explain {share} of the variance of {count(turns.requests)} requests")]
    lines = [
        ("base", f"{duration(turns.base)} ({duration(turns.base_low)} – {duration(turns.base_high)})"),
        ("a token of the answer", f"{duration(turns.tpot)} ({duration(turns.tpot_low)} – {duration(turns.tpot_high)})"),
    ]
    if turns.prefill is not None and turns.prefill_low is not None and turns.prefill_high is not None:
        bounds = f"{duration(turns.prefill_low)} – {duration(turns.prefill_high)}"
        lines.append(("a new prompt token", f"{duration(turns.prefill)} ({bounds})"))
    lines.append(
        ("explained", f"{percent(max(0.0, turns.explained))} of the variance of {count(turns.requests)} requests")
    )
    five = f"{turns.five_times:.2f} × ({turns.five_low:.2f} – {turns.five_high:.2f})"
    lines.append(("five times the tokens", f"{five} the latency: what thinking costs"))
    if turns.saved is not None and turns.saved > 0:
        lines.append(("the prefix cache saves", f"{duration(turns.saved)} a request"))
    if turns.would_save is not None and turns.would_save > 0:
        lines.append(("a perfect cache would save", f"{duration(turns.would_save)} a request more"))
    return lines


def explanation_json(one: Explanation) -> bytes:
    """The same as JSON; an infinite factor is null there."""
    return msgspec.json.format(msgspec.json.encode(_finite(msgspec.to_builtins(one))), indent=1) + b"\n"


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list):
        return [_finite(each) for each in value]  # pyright: ignore[reportUnknownVariableType]
    return value
