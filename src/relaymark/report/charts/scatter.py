"""One mark a request over time; failures have no time of their own and stand as crosses in a lane above."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from markupsafe import Markup

from relaymark.measure.summary import Point
from relaymark.report.charts.frame import Panel, figure
from relaymark.report.charts.scale import elapsed, times
from relaymark.report.charts.svg import el, group, pct
from relaymark.report.digits import duration
from relaymark.report.labels import is_good, outcome_words

MOST_POINTS = 1000
_HEIGHT = 190
_LANE = 26


def scatter(title: str, points: Sequence[Point], metric: str, seconds: float) -> Markup:
    """The metric ("ttft" or "latency") of each request over the stage's time, failures in a lane of their own."""
    good = [(p, v) for p in points if is_good(p.outcome) and (v := _value(p, metric)) is not None]
    bad = [p for p in points if not is_good(p.outcome)]
    good = good[:: -(-len(good) // MOST_POINTS) or 1]
    if not good and not bad:
        return Markup("")
    x = elapsed(max([seconds, *(p.t for p in points)]))
    top = _LANE if bad else 0
    panel = Panel(x, times([v for _, v in good]), top, _HEIGHT)
    parts = [panel.axis_y(), panel.axis_x()] if good else [panel.axis_x()]
    parts.append(panel.stretched(panel.dots([(p.t, v) for p, v in good], "dots")))
    if bad:
        parts.append(el("text", "failed", x="-8", y="14", class_="ty bad"))
        # One cross per half percent of the width is as dense as crosses can be told apart.
        places = sorted({round(x.at(p.t) * 200) for p in bad})
        parts.append(group((_cross(place / 200) for place in places), class_="crosses"))
    marks = [[_thousandths(x.at(p.t)), round(panel.y_px(v)), duration(v), p.t, p.task_id] for p, v in good]
    marks += [[_thousandths(x.at(p.t)), 10, outcome_words(p.outcome), p.t, p.task_id] for p in bad[:MOST_POINTS]]
    drawing = figure(parts, height=top + _HEIGHT, title=title, class_="scatter")
    return el("div", drawing, class_="hits", data_hits=msgspec.json.encode([_seconds(m) for m in marks]).decode())


def _cross(at: float) -> Markup:
    # A nested viewport carries the percentage, so that the cross itself keeps its shape.
    return el("svg", el("path", d="M-3.5-3.5 3.5 3.5M-3.5 3.5 3.5-3.5"), x=pct(at), y="10")


def _seconds(mark: list[float | int | str]) -> list[float | int | str]:
    x, y, text, t, task = mark
    return [x, y, text, duration(float(t) * 1e9), task]


def _thousandths(share: float) -> int:
    return round(1000 * share)


def _value(point: Point, metric: str) -> float | None:
    return point.ttft if metric == "ttft" else point.latency
