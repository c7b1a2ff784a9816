"""Distributions as quantile curves on a logit axis: the body and both tails of every stage in one picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from relaymark.measure.summary import Distribution
from relaymark.report.charts.frame import Panel, figure, spread_labels
from relaymark.report.charts.scale import from_logit, linear, logit, shares, show_number, times
from relaymark.report.charts.svg import Read, ReadSeries, el, group, pct
from relaymark.report.clean import plain_line
from relaymark.report.digits import quantity

FEWEST = 5  # below this many values a curve would be drawn from anecdotes
HEIGHT = 248
_LABEL_GAP = 15.0
_READ_STEPS = 72
_MOST_INTERVALS = 6
_MARKED = (0.5, 0.9, 0.99)


@dataclass(frozen=True)
class Curve:
    """One stage's distribution with its name and colour class."""

    name: str
    class_: str
    distribution: Distribution

    @property
    def drawable(self) -> bool:
        """Whether there are enough values for a curve."""
        return self.distribution.count >= FEWEST and len(self.points()) > 1

    def points(self) -> list[tuple[float, float]]:
        """(share, value) ascending, within the shares that this many values can tell apart."""
        d = self.distribution
        edge = 1 / max(d.count, 2)
        known = dict(d.curve) | {q.q: q.value for q in d.quantiles if q.value is not None}
        low, high = max(0.01, edge), min(0.999, 1 - edge)
        kept = [(s, v) for s, v in sorted(known.items()) if low <= s <= high * 1.0000001]
        # Rounded input must not make a quantile curve fall.
        rising: list[tuple[float, float]] = []
        for s, v in kept:
            rising.append((s, max(v, rising[-1][1] if rising else v)))
        return rising


def quantile_plot(title: str, curves: Sequence[Curve], bounds: Sequence[tuple[str, float, float]] = ()) -> Markup:
    """Quantile curves of the drawable stages, p50/p90/p99 marked, with their 95 % intervals.

    Args:
        title: The text alternative.
        curves: What to draw.
        bounds: (text, q, value) of SLOs on this metric, drawn as targets.
    """
    drawn = [(curve, curve.points()) for curve in curves if curve.drawable]
    if not drawn:
        return Markup("")
    lows, highs = zip(*((points[0][0], points[-1][0]) for _, points in drawn), strict=True)
    x = shares(min(lows), max(highs))
    values = [v for _, points in drawn for _, v in points]
    top = max(values)
    # A bound far above everything measured would squeeze the curves; it is in the table then.
    shown_bounds = [b for b in bounds if b[2] <= 3 * top and x.low <= b[1] <= x.high]
    values += [b[2] for b in shown_bounds]
    ns = drawn[0][0].distribution.unit == "ns"
    panel = Panel(x, times(values) if ns else linear(max(values), 5, show_number), 0, HEIGHT)
    parts = [panel.axis_y(), panel.axis_x()]
    parts.append(panel.stretched(*(panel.line(points, f"curve {curve.class_}") for curve, points in drawn)))
    # Intervals of several stages stand side by side at their percentile; too many would be a thicket.
    centre = (len(drawn) - 1) / 2
    for i, (curve, _) in enumerate(drawn):
        parts.append(_marks(panel, curve, 3.0 * (i - centre) if len(drawn) <= _MOST_INTERVALS else None))
    parts += [_bound(panel, *bound) for bound in shown_bounds]
    labels = _labels(panel, drawn) if len(drawn) > 1 else None
    parts += labels or []
    read = _read(panel, drawn)
    return figure(parts, height=HEIGHT, title=title, read=read, class_="labelled" if labels else "")


def _marks(panel: Panel, curve: Curve, aside: float | None) -> Markup:
    marks: list[Markup] = []
    ends = curve.points()
    for q in curve.distribution.quantiles:
        if q.q not in _MARKED or q.value is None or not ends[0][0] <= q.q <= ends[-1][0]:
            continue
        x = pct(panel.x.at(q.q))
        if aside is not None and q.low is not None and q.high is not None:
            y1, y2, move = panel.y_px(q.low), panel.y_px(q.high), f"translate({aside:g})"
            marks.append(el("line", x1=x, x2=x, y1=y1, y2=y2, transform=move, class_="interval"))
        marks.append(el("circle", cx=x, cy=panel.y_px(q.value), r="3.2"))
    return group(marks, class_=f"marks {curve.class_}")


def _bound(panel: Panel, text: str, q: float, value: float) -> Markup:
    x, y = panel.x.at(q), panel.y_px(value)
    # The target is a ceiling over its own percentile: a short bar there, not a line through all of them.
    return group(
        [
            el("line", x1=pct(max(0.0, x - 0.06)), x2=pct(min(1.0, x + 0.06)), y1=y, y2=y),
            el("text", plain_line(text, 28), x=pct(max(0.0, x - 0.07)), y=y + 4),
        ],
        class_="bound",
    )


def _labels(panel: Panel, drawn: Sequence[tuple[Curve, list[tuple[float, float]]]]) -> list[Markup] | None:
    ends = [(panel.y_px(points[-1][1]), panel.x.at(points[-1][0]), curve) for curve, points in drawn]
    ends.sort(key=lambda end: end[0])
    places = spread_labels([y for y, _, _ in ends], _LABEL_GAP, 4.0, panel.height - 4.0)
    if places is None:
        return None
    out: list[Markup] = []
    for (y, x, curve), at in zip(ends, places, strict=True):
        out.append(
            group(
                [
                    el("line", x1=pct(x), x2="100%", y1=y, y2=at, class_="lead"),
                    el("text", plain_line(curve.name, 19), x="100%", dx="6", y=at + 4),
                ],
                class_=f"direct {curve.class_}",
            )
        )
    return out


def _value_at(points: Sequence[tuple[float, float]], share: float) -> float | None:
    """The curve's value at a share, on the line that is drawn; None outside it."""
    if not points[0][0] <= share <= points[-1][0]:
        return None
    for (s1, v1), (s2, v2) in pairwise(points):
        if s1 <= share <= s2:
            a, b, c = logit(s1), logit(s2), logit(share)
            return v1 if b <= a else v1 + (v2 - v1) * (c - a) / (b - a)
    return None


def _read(panel: Panel, drawn: Sequence[tuple[Curve, list[tuple[float, float]]]]) -> Read:
    low, high = logit(panel.x.low), logit(panel.x.high)
    grid = {from_logit(low + (high - low) * i / _READ_STEPS) for i in range(_READ_STEPS + 1)}
    grid |= {tick.value for tick in panel.x.ticks}
    at = sorted(grid)
    series: list[ReadSeries] = []
    for curve, points in drawn:
        unit = curve.distribution.unit
        values = [_value_at(points, share) for share in at]
        shown = ["" if v is None else quantity(v, unit) for v in values]
        series.append({"n": plain_line(curve.name, 40), "c": curve.class_, "v": shown})
    return {
        "x": [round(panel.x.at(s), 4) for s in at],
        "t": [f"p{100 * s:.{3 if s < 0.99 else 4}g}" for s in at],
        "s": series,
    }
