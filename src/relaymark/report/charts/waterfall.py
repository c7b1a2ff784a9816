"""One task leg by leg, and a critical path as one bar."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from relaymark.explain.waterfall import Waterfall
from relaymark.report.charts.scale import times
from relaymark.report.charts.svg import el, group, pct
from relaymark.report.digits import duration

_ROW = 15
_MOST_ROWS = 60
_GAP = 0.002


def waterfall(one: Waterfall, colour: dict[str, int]) -> Markup:
    """Bars over the task's time, a row a leg; those beside the critical path are pale."""
    bars = one.bars[:_MOST_ROWS]
    if not bars or not one.latency:
        return Markup("")
    scale = times([one.latency])
    height = _ROW * len(bars)
    parts: list[Markup] = []
    for tick in scale.ticks:
        at = pct(scale.at(tick.value))
        parts.append(el("line", x1=at, x2=at, y1=0, y2=height, class_="grid"))
        side = " last" if scale.at(tick.value) > 0.97 else " first" if scale.at(tick.value) < 0.03 else ""
        parts.append(el("text", tick.label, x=at, y=height + 18, class_="tx" + side))
    for row, bar in enumerate(bars):
        begin, end = scale.at(bar.began), scale.at(bar.ended)
        rect = el(
            "rect",
            el("title", f"{bar.name}: {duration(bar.ended - bar.began)}"),
            x=pct(begin),
            y=row * _ROW + 2,
            width=pct(max(_GAP, end - begin)),
            height=_ROW - 4,
            rx=2,
            class_=f"fall c{colour.get(bar.name, 7) % 8}" + ("" if bar.on_path else " beside"),
        )
        inside = end > 0.8
        label = el(
            "text",
            bar.name,
            x=pct(begin if inside else end),
            y=row * _ROW + 11,
            dx=-5 if inside else 5,
            class_="fl last" if inside else "fl",
        )
        parts.append(group([rect, label]))
    title = f"The {one.which} task, {duration(one.latency)}, leg by leg"
    drawing = el("svg", *parts, width="100%", height=height + 26, role="img", aria_label=title, class_="draw")
    return el("div", drawing, class_="plot falls")


def path_bar(rows: Sequence[tuple[str, float, int]]) -> Markup:
    """Shares of the critical path side by side: (name, share, colour)."""
    parts: list[Markup] = []
    at = 0.0
    for name, share, colour in rows:
        if share <= 0:
            continue
        parts.append(
            el(
                "rect",
                el("title", f"{name}: {100 * share:.1f} %"),
                x=pct(at),
                y=0,
                width=pct(max(0.0, share - _GAP)),
                height=34,
                class_=f"fall c{colour % 8}",
            )
        )
        if share > 0.07:
            parts.append(el("text", f"{name} {100 * share:.0f} %", x=pct(at), y=21, dx=8, class_="on"))
        at += share
    said = "Shares of the critical path: " + ", ".join(f"{name} {100 * share:.1f} %" for name, share, _ in rows)
    return el("svg", *parts, width="100%", height=34, role="img", aria_label=said, class_="draw pathbar")
