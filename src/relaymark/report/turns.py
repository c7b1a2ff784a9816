"""The turns of conversations in words and cells, for the terminal and the page alike."""

from __future__ import annotations

from relaymark.measure.summary import DepthBin, Reasoning, Stage, Turns
from relaymark.report.charts.depth import over_depth
from relaymark.report.digits import ABSENT, count, duration, number, percent
from relaymark.report.page import Cell, Plot, Table, stage_class

HEADS = ("turns", "latency p50", "p90", "TTFT p50", "p90", "new")


def turn_facts(turns: Turns) -> list[tuple[str, str]]:
    """What came of the turns, a line each: (name, figures)."""
    answered = f"{count(turns.answered)} of {count(turns.turns)} in {count(turns.conversations)} conversations"
    if turns.failed or turns.abandoned:
        answered += f"; {count(turns.failed)} failed, {count(turns.abandoned)} given up with their conversation"
    mean = duration(turns.latency_mean)
    if turns.latency_low is not None and turns.latency_high is not None:
        mean += f" ({duration(turns.latency_low)} – {duration(turns.latency_high)}, 95 % interval over conversations)"
    facts = [("turns answered", answered), ("mean latency of a turn", mean)]
    parts = [f"TTFT {duration(turns.ttft_mean)}"] if turns.ttft_mean is not None else []
    parts += [f"TPOT {duration(turns.tpot_mean)}"] if turns.tpot_mean is not None else []
    parts += [f"{number(turns.completion_tokens)} tokens"] if turns.completion_tokens is not None else []
    if parts:
        facts.append(("mean of a turn", ", ".join(parts)))
    stopping = [f"{name} {duration(value)}" for name, value in turns.early_stopping.get("latency", {}).items() if value]
    if stopping:
        facts.append(("latency at most, 99 % sure", f"{' · '.join(stopping)} (MLPerf's early stopping)"))
    if turns.cached_share is not None:
        ideal = ""
        if turns.ideal_share is not None:
            ideal = f"; {percent(turns.ideal_share)} if each turn kept the prompt before it"
        facts.append(("prompt from the cache", f"{percent(turns.cached_share)}{ideal}"))
        told = f"{number(turns.new_tokens)} new, {number(turns.cached_tokens)} cached a turn"
        facts.append(("prompt tokens", told))
    if turns.reprocessed is not None:
        facts.append(("whole prompt again", f"on {count(turns.reprocessed)} of {count(turns.comparable)} turns"))
    if turns.ttft_per_1k is not None:
        facts.append(("TTFT by context", f"{_signed(turns.ttft_per_1k)} for each 1,000 tokens of prompt"))
    return facts


def reasoning_facts(one: Reasoning) -> list[tuple[str, str]]:
    """What reasoning cost on the same turns."""
    bounds = ""
    if one.ratio_low is not None and one.ratio_high is not None:
        bounds = f" ({one.ratio_low:.2f} – {one.ratio_high:.2f}, 95 % interval over conversations)"
    facts = [
        ("latency with reasoning", f"{one.ratio:.2f} × that without{bounds}"),
        (
            "mean latency",
            f"{duration(one.latency_off)} without, {duration(one.latency_on)} with, {count(one.turns)} turns",
        ),
    ]
    if one.tokens_ratio is not None:
        told = f"{number(one.tokens_off)} without, {number(one.tokens_on)} with: {one.tokens_ratio:.2f} ×"
        facts.append(("tokens of an answer", told))
    if one.modelled_ratio is not None:
        off = one.ratio / one.modelled_ratio - 1
        facts.append(("TTFT + tokens × TPOT", f"{one.modelled_ratio:.2f} × ({off:+.0%} is not explained by it)"))
    return facts


def depth_rows(turns: Turns) -> list[tuple[str, list[str]]]:
    """A row for each range of context lengths; the cells are those of ``HEADS``."""
    return [(_range(one), _cells(one)) for one in turns.depth]


def depth_head(turns: Turns) -> str:
    """What the ranges are of."""
    return "prompt tokens" if turns.depth and turns.depth[0].tokens else "turn"


def depth_table(stage: Stage) -> Table | None:
    """The same as a table of the page."""
    if stage.turns is None or not stage.turns.depth:
        return None
    rows = [(stage_class(stage), name, [Cell(text) for text in cells]) for name, cells in depth_rows(stage.turns)]
    return Table([], list(HEADS), rows)


def depth_plots(stage: Stage) -> list[Plot]:
    """Latency and TTFT over the context."""
    if stage.turns is None:
        return []
    across = depth_head(stage.turns)
    plots: list[Plot] = []
    for what, name in (("latency", "Latency"), ("ttft", "TTFT")):
        drawing = over_depth(f"{name} over {across}: median, and up to p90", stage.turns.depth, what)
        if drawing:
            plots.append(Plot(f"{name} over {across}", drawing))
    return plots


def _range(one: DepthBin) -> str:
    return count(int(one.low)) if one.low == one.high else f"{count(int(one.low))}–{count(int(one.high))}"


def _cells(one: DepthBin) -> list[str]:
    return [
        count(one.turns),
        duration(one.latency_p50),
        duration(one.latency_p90),
        duration(one.ttft_p50),
        duration(one.ttft_p90),
        ABSENT if one.new_tokens is None else number(one.new_tokens),
    ]


def _signed(ns: float) -> str:
    return f"−{duration(-ns)}" if ns < 0 else f"+{duration(ns)}"
