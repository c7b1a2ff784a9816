"""Numbers as people read them: three significant digits, thousands separators, a unit that suits the size."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

ABSENT = "–"
INFINITE = "∞"

_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"))


def number(value: float | None) -> str:
    """Three significant digits without exponents: 0.0312 → "0.031", 4.567 → "4.57", 12345.6 → "12,346"."""
    if value is None or math.isnan(value):
        return ABSENT
    if math.isinf(value):
        return INFINITE if value > 0 else "−" + INFINITE
    if value < 0:
        return "−" + number(-value)
    if value == 0:
        return "0"
    if value >= 1e18:
        return f"{value:.2e}"
    for size, prefix in _PREFIXES:
        if value >= 10 * size:
            return f"{number(value / size)} {prefix}"
    # The thresholds sit half a last digit low so that 9.996 does not come out as "10.00".
    if value >= 99.95:
        return f"{value:,.0f}"
    if value >= 9.995:
        return f"{value:.1f}"
    if value >= 0.0995:
        return f"{value:.2f}"
    if value >= 0.00095:
        return f"{value:.3f}"
    return f"{value:.1g}" if value >= 1e-4 else "<0.0001"


def count(value: float | None) -> str:
    """A whole number with thousands separators; very large ones with a prefix."""
    if value is None or math.isnan(value):
        return ABSENT
    return f"{value:,.0f}" if abs(value) < 1e12 else number(value)


def percent(share: float | None) -> str:
    """A share 0…1 in per cent. Only exactly all is "100 %" and only exactly none is "0 %"."""
    if share is None or math.isnan(share):
        return ABSENT
    value = 100 * share
    if 99.95 <= value < 100:
        return f"{min(math.floor(value * 1000) / 1000, 99.999):.3f} %"
    if 0 < value < 0.05:
        return "<0.1 %"
    return f"{value:.0f} %" if value in (0, 100) else f"{value:.1f} %"


class TimeUnit(NamedTuple):
    """A unit of time for a column: its sign and how many ns it holds (0: each value names its own)."""

    sign: str
    ns: float

    def head(self, name: str) -> str:
        """The column's heading: "TTFT ms", or the name alone where each value has its own unit."""
        return f"{name} {self.sign}".rstrip()

    def show(self, value: float | None) -> str:
        """The ns value in this unit, without the sign."""
        if self.ns == 0:
            return duration(value)
        return number(None if value is None else value / self.ns)


NS, US, MS, S = TimeUnit("ns", 1.0), TimeUnit("µs", 1e3), TimeUnit("ms", 1e6), TimeUnit("s", 1e9)
MIXED = TimeUnit("", 0.0)
_WIDEST = 1e6  # ratio up to which one unit can serve a column


def unit_for(values: Iterable[float | None]) -> TimeUnit:
    """The unit in which a column of ns values reads best; ms unless all are far from it, MIXED if none can serve."""
    known = [v for v in values if v is not None and math.isfinite(v) and v > 0]
    if not known:
        return MS
    low, high = min(known), max(known)
    if high / low > _WIDEST:
        return MIXED
    if high < 1e3:
        return NS
    if high < 1e5:
        return US
    return S if high >= 1e11 or (high >= 1e10 and low >= 1e8) else MS


def duration(ns: float | None) -> str:
    """A single time with its unit: "412 ns", "31.0 µs", "0.41 ms", "1,234 ms", "12.3 s", "2 h 05 min"."""
    if ns is None or not math.isfinite(ns):
        return number(ns)
    size = abs(ns)
    if size >= 600e9:
        return ("−" if ns < 0 else "") + clock(size / 1e9)
    if size == 0:
        return "0 ms"
    unit = NS if size < 1e3 else US if size < 1e4 else MS if size < 1e10 else S
    return f"{unit.show(ns)} {unit.sign}"


def clock(seconds: float) -> str:
    """Wall time for people: "8 s", "2 min 05 s", "1 h 02 min", "3 d 04 h"."""
    whole = max(0, round(seconds))
    minutes, s = divmod(whole, 60)
    hours, m = divmod(minutes, 60)
    days, h = divmod(hours, 24)
    if days:
        return f"{days:,} d {h:02d} h"
    if hours:
        return f"{h} h {m:02d} min"
    return f"{m} min {s:02d} s" if minutes else f"{s} s"


def quantity(value: float | None, unit: str) -> str:
    """A value with its unit as the summary names it ("ns", "tokens", "1/s", …)."""
    if unit == "ns":
        return duration(value)
    shown = number(value)
    if value is None or unit in ("", "1"):
        return shown
    return f"{shown}/s" if unit == "1/s" else f"{shown} {unit}"


def quantile_name(q: float) -> str:
    """0.5 → "p50", 0.999 → "p99.9"."""
    return f"p{round(100 * q, 6):g}"
