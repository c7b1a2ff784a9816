"""How a turn's latency grows with its context: median and p90 over the length of the prompt."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from relaymark.measure.summary import DepthBin
from relaymark.report.charts.frame import Panel, figure
from relaymark.report.charts.scale import linear, show_number, times

_HEIGHT = 220


def over_depth(title: str, bins: Sequence[DepthBin], what: str) -> Markup:
    """``what``: ``latency`` or ``ttft``. The line is the median, the band goes up to p90."""
    rows: list[tuple[float, float, float]] = []
    for one in bins:
        p50, p90 = (one.latency_p50, one.latency_p90) if what == "latency" else (one.ttft_p50, one.ttft_p90)
        if p50 is not None and p90 is not None:
            rows.append(((one.low + one.high) / 2, p50, p90))
    if len(rows) < 2:
        return Markup("")
    x = linear(max(one.high for one in bins), 5, show_number)
    panel = Panel(x, times([p90 for _, _, p90 in rows]), 6, _HEIGHT)
    middle = [(at, p50) for at, p50, _ in rows]
    band = [*middle, *((at, p90) for at, _, p90 in reversed(rows))]
    parts = [panel.axis_y(), panel.axis_x()]
    parts.append(
        panel.stretched(
            panel.line([*band, band[0]], "fill c0"), panel.line(middle, "curve c0"), panel.dots(middle, "dots all c0")
        )
    )
    return figure(parts, height=6 + _HEIGHT, title=title)
