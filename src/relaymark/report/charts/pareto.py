"""The curve of a sweep: system tokens/s over tokens/s per user, a step function, coloured by TTFT."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
from markupsafe import Markup

from relaymark.measure.curve import CurvePoint, Estimate
from relaymark.report.charts.frame import Panel, figure
from relaymark.report.charts.scale import LOG_FROM, Scale, Tick, linear, log_times, logarithmic, nice_step, times
from relaymark.report.charts.svg import el, group, pct
from relaymark.report.digits import duration, number

CLASSES = 5
_HEIGHT = 380
_SMALL = 190


class Shade:
    """TTFT p90 in five classes of equal width on a logarithmic scale, the first the fastest."""

    def __init__(self, points: Sequence[CurvePoint]) -> None:
        known = [point.ttft_p90 for point in points if point.ttft_p90]
        self.low, self.high = (min(known), max(known)) if known else (1.0, 1.0)

    def of(self, ttft: float | None) -> str:
        """The colour class of a value."""
        if not ttft:
            return "tx"
        if self.high / self.low < 1.1:
            return "t0"
        share = math.log(ttft / self.low) / math.log(self.high / self.low)
        return f"t{min(CLASSES - 1, int(share * CLASSES))}"

    def legend(self) -> list[tuple[str, str]]:
        """(class, its range) of each class."""
        if self.high / self.low < 1.1:
            return [("t0", duration(self.low))]
        edges = [self.low * (self.high / self.low) ** (i / CLASSES) for i in range(CLASSES + 1)]
        return [(f"t{i}", f"{duration(edges[i])} – {duration(edges[i + 1])}") for i in range(CLASSES)]


def pareto(title: str, points: Sequence[CurvePoint], kind: str, holds_to: float | None) -> Markup:
    """The curve. ``holds_to``: the highest level at which every bound holds; the region right of it is shaded."""
    shown = [point for point in points if point.system_tps is not None and point.tps_per_user is not None]
    if not shown:
        return Markup("")
    panel = Panel(_users([p.tps_per_user for p in shown]), _rates([p.system_tps for p in shown]), 24, _HEIGHT)
    shade = Shade(points)
    parts = [*_region(panel, shown, holds_to), panel.axis_y(), panel.axis_x()]
    parts.append(panel.stretched(panel.line(steps(shown), "curve step")))
    hits: list[list[float | int | str]] = []
    labels: list[tuple[float, float]] = []
    for point in shown:
        x, y = _value(point.tps_per_user), _value(point.system_tps)
        parts.append(_bars(panel, point))
        kind_class = shade.of(point.ttft_p90) + ("" if point.valid else " invalid")
        kind_class += " missed" if point.holds is False else ""
        parts.append(el("circle", cx=pct(panel.x.at(x)), cy=panel.y_px(y), r="6", class_=f"mark {kind_class}"))
        parts.append(_label(panel, point, labels))
        told = f"{number(y)} tok/s, {number(x)} a user"
        ttft = "–" if point.ttft_p90 is None else duration(point.ttft_p90)
        hits.append([round(1000 * panel.x.at(x)), round(panel.y_px(y)), told, f"TTFT p90 {ttft}", f"{point.level:g}"])
    unit = "concurrency" if kind == "concurrency" else "requests/s"
    parts.append(el("text", f"labels: {unit}", x="100%", y="14", class_="tx last"))
    drawing = figure(parts, height=24 + _HEIGHT, title=title, class_="pareto")
    return el("div", drawing, class_="hits", data_hits=msgspec.json.encode(hits).decode())


def over_level(title: str, points: Sequence[CurvePoint], what: str) -> Markup:
    """One figure over the load: ``system_tps``, or a time in ns (``ttft_p90``, ``tpot_p90``)."""
    values = [(point, _of(point, what)) for point in points]
    known = [(point, value) for point, value in values if value is not None]
    if len(known) < 2:
        return Markup("")
    levels = [point.level for point, _ in known]
    x = logarithmic(min(levels), max(levels), lambda value: f"{value:g}")
    timed = what != "system_tps"
    y = times([value for _, value in known]) if timed else _rates([point.system_tps for point, _ in known])
    if timed and max(v for _, v in known) / min(v for _, v in known) >= LOG_FROM:
        y = log_times(min(v for _, v in known), max(v for _, v in known))
    panel = Panel(x, y, 6, _SMALL)
    parts = [panel.axis_y(), panel.axis_x()]
    parts.append(panel.stretched(panel.line([(point.level, value) for point, value in known], "curve c0")))
    for point, value in known:
        parts.append(el("circle", cx=pct(x.at(point.level)), cy=panel.y_px(value), r="4", class_="mark c0"))
    return figure(parts, height=6 + _SMALL, title=title)


def steps(points: Sequence[CurvePoint]) -> list[tuple[float, float]]:
    """The official curve (§4.2): each point holds until the next, nothing is interpolated; dominated ones left out."""
    best: list[tuple[float, float]] = []
    for point in sorted(points, key=lambda each: -_value(each.tps_per_user)):
        x, y = _value(point.tps_per_user), _value(point.system_tps)
        if not best or y > best[-1][1]:
            best.append((x, y))
    line: list[tuple[float, float]] = []
    for place, (x, y) in enumerate(best):
        line.append((x, y))
        if place + 1 < len(best):
            line.append((best[place + 1][0], y))
    return line


def _region(panel: Panel, points: Sequence[CurvePoint], holds_to: float | None) -> list[Markup]:
    """From the slowest user that is still served in time, up to the throughput that is reached with all of them."""
    held = [point for point in points if holds_to is not None and point.level <= holds_to]
    if not held:
        return []
    start = panel.x.at(min(_value(point.tps_per_user) for point in held))
    top = panel.y_px(max(_value(point.system_tps) for point in held))
    bottom = panel.top + panel.height
    return [el("rect", x=pct(start), y=top, width=pct(1 - start), height=bottom - top, class_="holds")]


def _bars(panel: Panel, point: CurvePoint) -> Markup:
    x, y = _value(point.tps_per_user), _value(point.system_tps)
    bars: list[Markup] = []
    across, up = point.tps_per_user, point.system_tps
    if across is not None and across.low is not None and across.high is not None:
        ends = (pct(panel.x.at(across.low)), pct(panel.x.at(across.high)))
        bars.append(el("line", x1=ends[0], x2=ends[1], y1=panel.y_px(y), y2=panel.y_px(y), class_="bar"))
    if up is not None and up.low is not None and up.high is not None:
        at = pct(panel.x.at(x))
        bars.append(el("line", x1=at, x2=at, y1=panel.y_px(up.low), y2=panel.y_px(up.high), class_="bar"))
    return group(bars)


def _label(panel: Panel, point: CurvePoint, taken: list[tuple[float, float]]) -> Markup:
    """The level beside its mark, above or below; left out where others stand there already."""
    at = panel.x.at(_value(point.tps_per_user))
    y = panel.y_px(_value(point.system_tps))
    for place in (y - 11, y + 20):
        inside = place < panel.top + panel.height - 4
        if inside and all(abs(at - x) > 0.035 or abs(place - other) > 14 for x, other in taken):
            taken.append((at, place))
            side = " last" if at > 0.94 else " first" if at < 0.04 else ""
            return el("text", f"{point.level:.4g}", x=pct(at), y=place, class_="tx lv" + side)
    return Markup("")


def _rates(estimates: Sequence[Estimate | None]) -> Scale:
    top = max(max(each.value, each.high or 0.0) for each in estimates if each is not None)
    return linear(top, 5, lambda value, _: number(value))


def _users(estimates: Sequence[Estimate | None]) -> Scale:
    """From zero, unless all lie close together: then only their own stretch, or they would be one heap."""
    values = [end for each in estimates if each is not None for end in (each.value, each.low, each.high) if end]
    low, high = min(values), max(values)
    if low < 0.6 * high or high <= low:
        return _rates(estimates)
    step = nice_step(1.2 * (high - low), 5)
    first, last = math.floor(low / step - 0.1), math.ceil(high / step + 0.1)
    ticks = tuple(Tick(i * step, number(i * step)) for i in range(first, last + 1))
    return Scale(ticks, first * step, last * step, float)


def _value(estimate: Estimate | None) -> float:
    return 0.0 if estimate is None else estimate.value


def _of(point: CurvePoint, what: str) -> float | None:
    if what == "system_tps":
        return None if point.system_tps is None else point.system_tps.value
    return point.ttft_p90 if what == "ttft_p90" else point.tpot_p90
