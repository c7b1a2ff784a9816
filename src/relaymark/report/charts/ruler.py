"""The error bar next to what was measured, on one logarithmic ruler: is the instrument finer than the thing?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from relaymark.report.charts.frame import Panel, figure
from relaymark.report.charts.scale import Scale, log_times
from relaymark.report.charts.svg import el, group, pct
from relaymark.report.digits import duration

_ROW = 24
_FINEST = 1e3  # ns; below 1 µs nothing is worth the space


@dataclass(frozen=True)
class RulerRow:
    """A range of times: p50 to p99, with the largest value where it is known."""

    name: str
    p50: float
    p99: float
    largest: float | None = None
    client: bool = False


def ruler(rows: Sequence[RulerRow]) -> Markup:
    """A bar from p50 to p99 for each row, a tick at its largest value."""
    if not rows:
        return Markup("")
    values = [max(v, _FINEST) for r in rows for v in (r.p50, r.p99, r.largest or r.p99)]
    x = log_times(min(values), max(values))
    height = _ROW * len(rows)
    panel = Panel(x, Scale((), 0.0, 1.0, lambda v: v), 0, height)
    parts = [panel.axis_x()]
    for i, row in enumerate(rows):
        y = _ROW * i + _ROW // 2
        low, high = x.at(row.p50), x.at(row.p99)
        bar = [
            el("line", x1=pct(low), x2=pct(high), y1=y, y2=y, class_="range"),
            el("circle", cx=pct(low), cy=y, r="4"),
            el("line", x1=pct(high), x2=pct(high), y1=y - 5, y2=y + 5, class_="end"),
        ]
        if row.largest is not None and row.largest > row.p99:
            at = pct(x.at(row.largest))
            bar.append(el("line", x1=pct(high), x2=at, y1=y, y2=y, class_="whisker"))
            bar.append(el("line", x1=at, x2=at, y1=y - 3, y2=y + 3, class_="whisker"))
        parts.append(el("text", row.name, x="-10", y=y + 4, class_="ty name"))
        parts.append(group(bar, class_="client" if row.client else "measured"))
    said = "; ".join(f"{r.name}: p50 {duration(r.p50)}, p99 {duration(r.p99)}" for r in rows)
    return figure(parts, height=height, title=said, class_="ruler")
