"""Axes: where a value lies (0…1) and which round values are marked."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from relaymark.report.digits import MS, NS, US, S, TimeUnit, number, quantile_name

LOG_FROM = 12.0  # from this ratio of largest to smallest on, a linear axis hides the small end


@dataclass(frozen=True)
class Tick:
    """A marked value; minor ticks lose their label where space is short."""

    value: float
    label: str
    minor: bool = False


@dataclass(frozen=True)
class Scale:
    """A mapping of values to 0…1 along an axis, with its ticks."""

    ticks: tuple[Tick, ...]
    low: float
    high: float
    _warp: Callable[[float], float]

    def at(self, value: float) -> float:
        """Position along the axis, clamped to 0…1."""
        low, high = self._warp(self.low), self._warp(self.high)
        if high <= low:
            return 0.5
        return min(1.0, max(0.0, (self._warp(value) - low) / (high - low)))


def _same(value: float) -> float:
    return value


def _log(value: float) -> float:
    return math.log10(max(value, 1e-12))


def logit(share: float) -> float:
    """log10 of the odds: 0 for p50, about 1 for p90, 2 for p99, 3 for p99.9."""
    share = min(max(share, 1e-9), 1 - 1e-9)
    return math.log10(share / (1 - share))


def from_logit(odds: float) -> float:
    """The share whose :func:`logit` this is."""
    return 1 / (1 + 10**-odds)


def nice_step(span: float, parts: int) -> float:
    """The round step (1, 2 or 5 times a power of ten) that cuts `span` into about `parts`."""
    raw = span / max(parts, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= raw * 0.999)


def linear(high: float, parts: int, show: Callable[[float, float], str], size: float = 1.0) -> Scale:
    """From zero to a round value at or above `high`, round in units of `size`. `show(value, top)` writes a tick."""
    high = high if high > 0 and math.isfinite(high) else 1.0
    step = nice_step(high / size, parts) * size
    steps = math.ceil(high / step - 1e-9)
    top = step * steps
    ticks = tuple(Tick(step * i, show(step * i, top)) for i in range(steps + 1))
    return Scale(ticks, 0.0, top, _same)


def elapsed(seconds: float, parts: int = 5) -> Scale:
    """A run's time axis: from zero to exactly `seconds` (no empty end), round ticks below it."""
    seconds = seconds if seconds > 0 and math.isfinite(seconds) else 1.0
    size = _axis_unit(seconds * 1e9)[1] / 1e9
    step = nice_step(seconds / size, parts) * size
    values = [step * i for i in range(math.floor(seconds / step + 1e-9) + 1)]
    ticks = tuple(Tick(v, "0 s" if v == 0 else show_time(v * 1e9, seconds * 1e9)) for v in values)
    return Scale(ticks, 0.0, seconds, _same)


def logarithmic(low: float, high: float, show: Callable[[float], str]) -> Scale:
    """From a round value at or below `low` to one at or above `high`; 1-2-5 ticks where few decades are spanned."""
    low, high = max(low, 1e-9), max(high, low * 1.01, 1e-9)
    decades = math.log10(high / low)
    every = 1 if decades <= 6 else math.ceil(decades / 6)
    mantissas = (1, 2, 5) if decades <= 2.2 else (1, 3) if decades <= 3 else (1,)
    marks = [
        m * 10.0**e
        for e in range(math.floor(math.log10(low)) - every, math.ceil(math.log10(high)) + every + 1)
        for m in mantissas
        if e % every == 0
    ]
    start = max(m for m in marks if m <= low * (1 + 1e-9))
    stop = min(m for m in marks if m >= high * (1 - 1e-9))
    kept = [m for m in marks if start <= m <= stop]
    # Where labels are many, narrow figures show decades only, or every other one.
    decades_only = all(_is_decade(m) for m in kept)
    ticks = tuple(
        Tick(m, show(m), minor=len(kept) > 5 and (i % 2 == 1 if decades_only else not _is_decade(m)))
        for i, m in enumerate(kept)
    )
    return Scale(ticks, start, stop, _log)


def _is_decade(value: float) -> bool:
    return abs(math.log10(value) - round(math.log10(value))) < 1e-6


def shares(lowest: float, highest: float) -> Scale:
    """Percentiles on a logit axis: the middle and both tails get the room they need."""
    marks = (0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999)
    ticks = tuple(
        Tick(q, quantile_name(q), minor=q in (0.01,)) for q in marks if lowest * 0.999 <= q <= highest * 1.00001
    )
    return Scale(ticks, lowest, highest, logit)


def times(values: Iterable[float], parts: int = 5) -> Scale:
    """The y axis of ns values: logarithmic when their spread asks for it, else linear from zero."""
    known = [v for v in values if math.isfinite(v)]
    positive = [v for v in known if v > 0]
    if not positive:
        return linear(1e6, parts, show_time)
    low, high = min(positive), max(positive)
    if high / low < LOG_FROM:
        return linear(high, parts, show_time, _axis_unit(high)[1])
    # Below 1 µs differences are not worth their decades.
    return log_times(max(low, min(1e3, high / 10)), high)


def log_times(low: float, high: float) -> Scale:
    """A logarithmic axis of ns values. Its decades are decimal, so seconds are its largest unit."""
    return logarithmic(low, high, _log_time)


def _log_time(value: float) -> str:
    seconds = value / 1e9
    for size, sign in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if seconds >= 10 * size:
            return f"{_tick_number(seconds / size)}{sign} s"
    return show_time(value, min(value, 1e9))


def show_time(value: float, top: float) -> str:
    """A tick of a time axis in the unit that suits the axis' top."""
    if value == 0:
        return "0"
    unit, size = _axis_unit(top)
    return f"{_tick_number(value / size)} {unit}"


def _axis_unit(top: float) -> tuple[str, float]:
    units: tuple[TimeUnit, ...] = (NS, US, MS, S)
    for unit, beyond in zip(units, (1e3, 1e6, 1e9, 600e9), strict=True):
        if top < beyond:
            return unit
    return ("min", 60e9) if top < 36_000e9 else ("h", 3600e9) if top < 360_000e9 else ("d", 86_400e9)


def show_number(value: float, top: float) -> str:
    """A tick of a plain axis, with k, M, G for large values."""
    if value == 0:
        return "0"
    for size, sign in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if top >= 10 * size or (top >= size and sign != "k"):
            return f"{_tick_number(value / size)} {sign}"
    return _tick_number(value)


def _tick_number(value: float) -> str:
    return f"{value:,.10g}" if abs(value) < 1e9 else number(value)
