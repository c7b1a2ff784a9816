"""What happened over a stage: output rate, requests ending, and requests in flight, over one time axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from relaymark.measure.summary import Series
from relaymark.report.charts.frame import Panel, figure
from relaymark.report.charts.scale import elapsed, linear, show_number
from relaymark.report.charts.svg import Read, ReadSeries, el
from relaymark.report.digits import duration, number

_MOST_BINS = 240
_PANEL = 68
_GAP = 34
_HEAD = 16


@dataclass(frozen=True)
class _Row:
    title: str
    values: list[float]
    class_: str
    bad: list[float] | None = None


def over_time(title: str, series: Series, seconds: float, *, tokens: bool) -> Markup:
    """Stacked panels over the stage's time: tokens/s (when `tokens`), requests/s with failures, in flight."""
    bins = _thin(series)
    if not bins.t:
        return Markup("")
    width = bins.t[1] - bins.t[0] if len(bins.t) > 1 else max(seconds, 1e-9)
    x = elapsed(max(seconds, bins.t[-1] + width * 0.5))
    rows = [
        _Row("requests ended per second", bins.completed, "rate", bins.failed if any(bins.failed) else None),
        _Row("requests in flight", bins.in_flight, "flight"),
    ]
    if tokens:
        rows.insert(0, _Row("output tokens per second", bins.tokens, "tokens"))
    parts: list[Markup] = []
    top = _HEAD
    for i, row in enumerate(rows):
        tallest = max([*row.values, *(row.bad or [0.0])], default=0.0)
        panel = Panel(x, linear(tallest, 2, show_number), top, _PANEL)
        parts += [panel.axis_x(labels=i == len(rows) - 1), panel.axis_y()]
        parts.append(el("text", row.title, x="0", y=top - 6, class_="panel"))
        steps = _steps(bins.t, row.values, width, x.high)
        drawn = [panel.area(steps, f"fill {row.class_}"), panel.line(steps, f"step {row.class_}")]
        if row.bad is not None:
            drawn.append(panel.line(_steps(bins.t, row.bad, width, x.high), "step bad"))
            parts.append(el("text", "- - failed", x="100%", y=top - 6, class_="panel bad end"))
        parts.append(panel.stretched(*drawn))
        top += _PANEL + _GAP
    read = _read(rows, bins.t, width, x.high)
    return figure(parts, height=top - _GAP, title=title, read=read, class_="timeline")


def _read(rows: Sequence[_Row], t: list[float], width: float, end: float) -> Read:
    lines: list[ReadSeries] = []
    for row in rows:
        lines.append({"n": row.title, "c": row.class_, "v": [number(v) for v in row.values]})
        if row.bad is not None:
            lines.append({"n": "failed per second", "c": "bad", "v": [number(v) for v in row.bad]})
    middles = [min(s + width / 2, end) for s in t]
    return {"x": [round(m / end, 4) for m in middles], "t": [f"at {duration(m * 1e9)}" for m in middles], "s": lines}


def _steps(t: list[float], values: list[float], width: float, end: float) -> list[tuple[float, float]]:
    """Each bin as a level from its start to its end: a mean over a bin has no slope."""
    out: list[tuple[float, float]] = []
    for start, value in zip(t, values, strict=True):
        out += [(start, value), (min(start + width, end), value)]
    return out


def _thin(series: Series) -> Series:
    """At most 240 bins, neighbours averaged: more steps than pixels help nobody."""
    n = min(len(v) for v in (series.t, series.in_flight, series.completed, series.failed, series.tokens))
    by = -(-n // _MOST_BINS) if n else 1

    def mean(values: list[float]) -> list[float]:
        return [sum(chunk) / len(chunk) for i in range(0, n, by) if (chunk := values[i : min(i + by, n)])]

    return Series(
        t=series.t[:n:by],
        in_flight=mean(series.in_flight),
        completed=mean(series.completed),
        failed=mean(series.failed),
        tokens=mean(series.tokens),
    )
