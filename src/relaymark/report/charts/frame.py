"""A plot's frame: axes, grid, and curves inside one panel of a figure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from relaymark.report.charts.scale import Scale
from relaymark.report.charts.svg import Read, el, group, pct, read_data, short

WIDE = 1000  # units of the stretched viewport across the plot


@dataclass(frozen=True)
class Panel:
    """One pair of axes. `top` and `height` are pixels inside the figure; x is stretched to the figure's width."""

    x: Scale
    y: Scale
    top: int
    height: int

    def y_px(self, value: float) -> float:
        """Pixels from the figure's top."""
        return self.top + self.height * (1 - self.y.at(value))

    def axis_y(self) -> Markup:
        """Horizontal grid lines with their values at the left."""
        marks: list[Markup] = []
        for tick in self.y.ticks:
            y = self.y_px(tick.value)
            base = tick is self.y.ticks[0]
            marks.append(el("line", x1="0", x2="100%", y1=y, y2=y, class_="base" if base else "grid"))
            marks.append(el("text", tick.label, x="-8", y=y + 4, class_="ty"))
        return group(marks)

    def axis_x(self, *, labels: bool = True) -> Markup:
        """Vertical grid lines, with their values below the panel when asked for."""
        marks: list[Markup] = []
        bottom = self.top + self.height
        for tick in self.x.ticks:
            at = self.x.at(tick.value)
            kind = " minor" if tick.minor else ""
            marks.append(el("line", x1=pct(at), x2=pct(at), y1=self.top, y2=bottom, class_="grid"))
            if labels:
                # A label centred on the last percent of the axis would stick out of a narrow figure.
                side = " first" if at < 0.02 else " last" if at > 0.98 else ""
                marks.append(el("text", tick.label, x=pct(at), y=bottom + 18, class_="tx" + side + kind))
        return group(marks)

    def stretched(self, *paths: Markup) -> Markup:
        """Paths in stretched coordinates (0…1000 across, pixels down)."""
        return el(
            "svg",
            *paths,
            x="0",
            y=self.top,
            width="100%",
            height=self.height,
            viewBox=f"0 {self.top} {WIDE} {self.height}",
            preserveAspectRatio="none",
        )

    def line(self, points: Iterable[tuple[float, float]], class_: str) -> Markup:
        """A polyline through (x, y) values."""
        return el("path", d=self._trace(points), class_=class_)

    def area(self, points: Sequence[tuple[float, float]], class_: str) -> Markup:
        """The surface between a polyline and the panel's floor."""
        if not points:
            return Markup("")
        floor = self.top + self.height
        first, last = (short(WIDE * self.x.at(points[i][0])) for i in (0, -1))
        return el("path", d=f"{self._trace(points)}L{last} {floor}L{first} {floor}Z", class_=class_)

    def dots(self, points: Iterable[tuple[float, float]], class_: str) -> Markup:
        """Points as zero-length strokes: round whatever the stretch, and only a few bytes each."""
        places = dict.fromkeys(self._place(x, y) for x, y in points)
        return el("path", d="".join(f"M{place}h0" for place in places), class_=class_)

    def _trace(self, points: Iterable[tuple[float, float]]) -> str:
        places = [self._place(x, y) for x, y in points]
        return "M" + "L".join(places) if places else ""

    def _place(self, x: float, y: float) -> str:
        return f"{short(WIDE * self.x.at(x))} {short(self.y_px(y))}"


def figure(parts: Iterable[Markup], *, height: int, title: str, read: Read | None = None, class_: str = "") -> Markup:
    """The drawing in its padded box, with a text alternative and the values for the hover read-out."""
    drawing = el(
        "svg", *parts, width="100%", height=height, role="img", aria_label=title, class_="draw", focusable="false"
    )
    return el("div", drawing, class_=f"plot {class_}".strip(), data_read=read_data(read) if read else None)


def spread_labels(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float] | None:
    """Heights near the wanted ones (ascending) at least `gap` apart inside low…high; None when they cannot fit."""
    if (len(wanted) - 1) * gap > high - low:
        return None
    # Runs of labels that would overlap share one block, centred on the mean of what its members want.
    blocks: list[list[float]] = []
    for i, y in enumerate(wanted):
        blocks.append([y - i * gap, 1.0])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (y1, n1), (y2, n2) = blocks[-2:]
            blocks[-2:] = [[(y1 * n1 + y2 * n2) / (n1 + n2), n1 + n2]]
    ceiling = high - (len(wanted) - 1) * gap
    offsets = [min(max(y, low), ceiling) for y, n in blocks for _ in range(int(n))]
    return [offset + i * gap for i, offset in enumerate(offsets)]
