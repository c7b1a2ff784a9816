"""What the HTML page shows, prepared: plain strings (escaped by the template) and drawings (already markup)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from relaymark.measure.summary import Distribution, Quantile, Stage, Summary
from relaymark.report import verdict
from relaymark.report.charts import Curve, RulerRow, outcome_bar, over_time, quantile_plot, ruler, scatter
from relaymark.report.charts.scatter import MOST_POINTS
from relaymark.report.clean import plain_block, plain_line
from relaymark.report.digits import (
    ABSENT,
    INFINITE,
    TimeUnit,
    count,
    duration,
    number,
    percent,
    quantile_name,
    quantity,
    unit_for,
)
from relaymark.report.labels import is_good, ok_share, short_name, stage_label, succeeded, title

COLOURS = 8
_PLOTS = ("ttft", "itl", "latency", "tpot", "ttfat", "send_lag")
_COLUMNS: tuple[tuple[str, tuple[float, ...]], ...] = (
    ("ttft", (0.5, 0.9, 0.99)),
    ("itl", (0.5, 0.99)),
    ("tpot", (0.5,)),
    ("latency", (0.5, 0.9, 0.99)),
)


@dataclass(frozen=True)
class Cell:
    """A table cell: the value, what stands small beneath it, and whether it marks something bad."""

    text: str
    below: str = ""
    bad: bool = False


@dataclass(frozen=True)
class Table:
    """A table whose columns may share a heading: groups are (heading, number of columns)."""

    groups: list[tuple[str, int]]
    heads: list[str]
    rows: list[tuple[str, str, list[Cell]]]  # (colour class, name, cells)


@dataclass(frozen=True)
class Plot:
    """A drawing with its title, what it says, and remarks on what it leaves out."""

    title: str
    drawing: Markup
    caption: str = ""
    remarks: list[str] = field(default_factory=list[str])


def stage_class(stage: Stage) -> str:
    """The colour class of a stage; the dash changes when the colours start over."""
    return f"c{stage.index % COLOURS} d{stage.index // COLOURS % 3}"


def names(summary: Summary) -> dict[int, str]:
    """Labels of the stages by index: the load alone where it tells the stages apart."""
    loads = [plain_line(s.load, 60) for s in summary.stages]
    if all(loads) and len(set(loads)) == len(loads):
        return {s.index: load for s, load in zip(summary.stages, loads, strict=True)}
    return {s.index: stage_label(s) for s in summary.stages}


def headline_table(summary: Summary) -> Table:
    """One row a stage: load, success, rates, and the percentiles with their 95 % intervals."""
    stages = summary.stages
    columns = [c for c in _COLUMNS if any(c[0] in s.distributions for s in stages)]
    units = {metric: _unit(stages, metric) for metric, _ in columns}
    tokens = any(s.output_token_rate is not None for s in stages)
    heads = ["requests", "ok", "ok req/s", *(["out tok/s"] if tokens else [])]
    groups = [("", len(heads))]
    for metric, qs in columns:
        groups.append((units[metric].head(short_name(metric)), len(qs)))
        heads += [quantile_name(q) for q in qs]
    rows: list[tuple[str, str, list[Cell]]] = []
    for stage in stages:
        share = ok_share(stage)
        cells = [Cell(count(stage.requests)), Cell(percent(share), bad=share is not None and share < 1)]
        cells.append(Cell(number(stage.request_rate), _rate_remarks(stage)))
        cells += [Cell(number(stage.output_token_rate))] if tokens else []
        failed = stage.requests > succeeded(stage)
        for metric, qs in columns:
            cells += [_cell(stage.distributions.get(metric), q, units[metric], failed=failed) for q in qs]
        rows.append((stage_class(stage), names(summary)[stage.index], cells))
    return Table(groups, heads, rows)


def headline_remark(table: Table) -> str:
    """What the small figures of the headline table are, as far as it has any."""
    small = "\n".join(cell.below for _, _, cells in table.rows for cell in cells[2:] if cell.below)
    parts = ["Small figures are the 95 % interval of the percentile."] if "–" in small else []
    if "✕" in small:
        parts.append("✕ is the same percentile with failed requests counted as infinitely slow.")
    return " ".join(parts)


def _rate_remarks(stage: Stage) -> str:
    remarks = [f"of {number(stage.offered_rate)} offered"] if stage.offered_rate is not None else []
    return "\n".join([*remarks, *([f"goodput {number(stage.goodput)}"] if stage.goodput is not None else [])])


def _unit(stages: Sequence[Stage], metric: str) -> TimeUnit:
    return unit_for(q.value for s in stages if metric in s.distributions for q in s.distributions[metric].quantiles)


def _quantile(distribution: Distribution | None, q: float) -> Quantile | None:
    return next((x for x in distribution.quantiles if x.q == q), None) if distribution else None


def _cell(distribution: Distribution | None, q: float, unit: TimeUnit, *, failed: bool) -> Cell:
    found = _quantile(distribution, q)
    if found is None or found.value is None:
        return Cell(ABSENT)
    below: list[str] = []
    if found.low is not None and found.high is not None:
        below.append(f"{unit.show(found.low)}–{unit.show(found.high)}")
    # Only where failures move the percentile is it worth a line: then the plain figure alone would flatter.
    if failed and found.with_failures != found.value:
        shown = INFINITE if found.with_failures is None else unit.show(found.with_failures)
        below.append(f"✕ {shown}")
    return Cell(unit.show(found.value), "\n".join(below))


def all_quantiles(summary: Summary) -> Table:
    """Every metric of every stage with every percentile: the table behind the drawings."""
    rows: list[tuple[str, str, list[Cell]]] = []
    wanted: list[float] = sorted({q.q for s in summary.stages for d in s.distributions.values() for q in d.quantiles})
    for stage in summary.stages:
        for metric, d in stage.distributions.items():
            values = [_quantile(d, q) for q in wanted]
            shown = [d.mean, d.minimum, *(v.value if v else None for v in values), d.maximum]
            cells = [Cell(short_name(metric)), Cell(count(d.count)), *(Cell(quantity(v, d.unit)) for v in shown)]
            rows.append((stage_class(stage), names(summary)[stage.index], cells))
    heads = ["metric", "values", "mean", "min", *(quantile_name(q) for q in wanted), "max"]
    return Table([], heads, rows)


def distribution_plots(summary: Summary) -> list[Plot]:
    """One quantile plot a metric, all stages in it."""
    label = names(summary)
    plots: list[Plot] = []
    for metric in _PLOTS:
        having = [s for s in summary.stages if metric in s.distributions]
        curves = [Curve(label[s.index], stage_class(s), s.distributions[metric]) for s in having]
        bounds = {(b.text, b.q, b.bound) for s in having for b in s.slos if b.metric == metric}
        name = title(metric)
        drawing = quantile_plot(f"{name}: value at each percentile, by stage", curves, sorted(bounds))
        few = [c for c in curves if not c.drawable]
        remarks = [
            f"{c.name}: {_values(c.distribution.count)}, too few for a curve; "
            f"largest {quantity(c.distribution.maximum, c.distribution.unit)}."
            for c in few
        ]
        if drawing or remarks:
            plots.append(Plot(name, drawing, remarks=remarks))
    return plots


def _values(n: int) -> str:
    return f"only {count(n)} {'value' if n == 1 else 'values'}"


def time_plots(summary: Summary) -> list[tuple[Stage, Plot]]:
    """Rates and in-flight over time, one figure a stage."""
    label = names(summary)
    out: list[tuple[Stage, Plot]] = []
    for stage in summary.stages:
        if stage.series is None or not stage.series.t:
            continue
        said = f"{label[stage.index]}: rates and requests in flight over time"
        drawing = over_time(said, stage.series, stage.duration / 1e9, tokens=any(stage.series.tokens))
        if drawing:
            out.append((stage, Plot(label[stage.index], drawing)))
    return out


def scatter_plots(summary: Summary) -> list[tuple[Stage, Plot]]:
    """Each request over time, one figure a stage."""
    label = names(summary)
    out: list[tuple[Stage, Plot]] = []
    for stage in summary.stages:
        if len(stage.points) < 2:
            continue
        metric = "ttft" if any(p.ttft is not None for p in stage.points) else "latency"
        said = f"{label[stage.index]}: {short_name(metric)} of each request over time"
        drawing = scatter(said, stage.points, metric, stage.duration / 1e9)
        shown = min(len(stage.points), MOST_POINTS + sum(not is_good(p.outcome) for p in stage.points))
        part = f", {count(shown)} of {count(stage.requests)} shown" if shown < stage.requests else ""
        if drawing:
            out.append((stage, Plot(label[stage.index], drawing, caption=f"{short_name(metric)}{part}")))
    return out


def outcome_rows(summary: Summary) -> list[tuple[Stage, str, Markup]]:
    """The outcome bar of each stage that sent anything."""
    label = names(summary)
    return [(s, label[s.index], bar) for s in summary.stages if (bar := outcome_bar(s))]


def error_bar_ruler(summary: Summary) -> Markup:
    """Client-added latency beside the first stage's times that it could distort."""
    bar = summary.error_bar
    if bar.source == "none" or bar.read_p50 is None or bar.read_p99 is None:
        return Markup("")
    rows = [RulerRow("client added", bar.read_p50, bar.read_p99, bar.read_max, client=True)]
    for metric in ("itl", "ttft", "latency"):
        found = [s.distributions[metric] for s in summary.stages if metric in s.distributions]
        medians = [q.value for d in found if (q := _quantile(d, 0.5)) and q.value is not None]
        tails = [q.value for d in found if (q := _quantile(d, 0.99)) and q.value is not None]
        if medians and tails:
            rows.append(RulerRow(short_name(metric), min(medians), max(tails)))
    return ruler(rows) if len(rows) > 1 else Markup("")


def server_table(summary: Summary) -> Table | None:
    """The server's own timings beside ours; None where it told none."""
    label = names(summary)
    rows: list[tuple[str, str, list[Cell]]] = []
    for stage in summary.stages:
        prefill, ttft = stage.server_prefill, stage.distributions.get("ttft")
        rate, tpot = stage.server_decode_rate, stage.distributions.get("tpot")
        if prefill is None and rate is None:
            continue
        cells: list[Cell] = []
        for q in (0.5, 0.99):
            theirs, ours = _quantile(prefill, q), _quantile(ttft, q)
            cells += [Cell(duration(x.value) if x else ABSENT) for x in (theirs, ours)]
        served, median = _quantile(rate, 0.5), _quantile(tpot, 0.5)
        ours_rate = 1e9 / median.value if median and median.value else None
        cells += [Cell(number(served.value) if served else ABSENT), Cell(number(ours_rate))]
        rows.append((stage_class(stage), label[stage.index], cells))
    if not rows:
        return None
    groups = [("prefill / TTFT p50", 2), ("prefill / TTFT p99", 2), ("decode tok/s p50", 2)]
    return Table(groups, ["server", "we saw"] * 3, rows)


def slo_rows(summary: Summary) -> list[tuple[str, str, str, str, bool]]:
    """(stage, bound, measured, unit-aware text, met) of every SLO."""
    label = names(summary)
    out: list[tuple[str, str, str, str, bool]] = []
    for stage in summary.stages:
        for slo in stage.slos:
            d = stage.distributions.get(slo.metric)
            unit = d.unit if d else "ns"
            measured = quantity(slo.measured, unit) if slo.measured is not None else INFINITE
            word = "met" if slo.met else "missed"
            out.append((label[stage.index], plain_line(slo.text, 120), measured, word, slo.met))
    return out


def facts(pairs: dict[str, str]) -> list[tuple[str, str]]:
    """Key/value pairs as they may be shown."""
    return [(plain_line(k, 80), plain_line(v, 400)) for k, v in pairs.items()]


def stage_facts(stage: Stage) -> list[tuple[str, str]]:
    """What else is known of a stage: tokens, prompts, how tokens were counted."""
    rows: list[tuple[str, str | None]] = [
        ("duration", duration(stage.duration)),
        ("prompt tokens", count(stage.prompt_tokens) if stage.prompt_tokens is not None else None),
        ("cached prompt tokens", count(stage.cached_tokens) if stage.cached_tokens is not None else None),
        ("output tokens", count(stage.completion_tokens) if stage.completion_tokens is not None else None),
        ("reasoning tokens", count(stage.reasoning_tokens) if stage.reasoning_tokens is not None else None),
        ("token events of failed requests", count(stage.partial_tokens) if stage.partial_tokens else None),
        ("distinct prompts", count(stage.unique_prompts) if stage.unique_prompts is not None else None),
        ("token counts from", plain_line(stage.token_source, 40)),
        ("ITL weights from", plain_line(stage.itl_weights, 40) if "itl" in stage.distributions else None),
        ("events sharing a read", percent(stage.coalesced_share) if stage.coalesced_share is not None else None),
        ("streams in one piece", percent(stage.one_piece_share) if stage.one_piece_share is not None else None),
        ("in flight at the end", count(stage.in_flight_at_end) if stage.in_flight_at_end else None),
    ]
    return [(name, value) for name, value in rows if value is not None]


def error_rows(stage: Stage) -> list[tuple[str, str]]:
    """The most frequent error messages, untrusted, one line each."""
    return [(plain_line(message, 300), count(n)) for message, n in stage.errors]


def config_text(summary: Summary) -> str:
    """The resolved benchmark file."""
    return plain_block(summary.config, 100_000)


def _upper_first(text: str) -> str:
    return text[:1].upper() + text[1:]


def verdict_parts(summary: Summary) -> dict[str, object]:
    """Everything the first block of the page says."""
    bar = summary.error_bar
    return {
        "word": verdict.headline(summary),
        "meaning": verdict.meaning(summary),
        "valid": summary.verdict.valid,
        "reasons": [verdict.sentence(r) for r in summary.verdict.reasons],
        "status": verdict.status_line(summary),
        "added": verdict.client_added(bar),
        "how": _upper_first(verdict.how_measured(bar)),
        "proportion": verdict.proportion(summary),
        "send": verdict.send_late(bar),
        "extras": _upper_first("; ".join(verdict.extras(bar))),
        "ruler": error_bar_ruler(summary),
    }
