"""What a stage looked like over time, and single requests for the scatter."""

from __future__ import annotations

import numpy as np

from relaymark.measure.arrivals import TOKEN_UNIT, Arrivals
from relaymark.measure.columns import Mask, Piece
from relaymark.measure.outcomes import Counts, starts
from relaymark.measure.percentiles import Floats, Ints
from relaymark.measure.rates import Window
from relaymark.measure.summary import Point, Series

_MAX_BINS = 120
_MAX_POINTS = 2000


def bin_width(window: Window) -> int:
    """Width in ns from 1, 2, 5, 10, … ms such that at most 120 bins cover the window."""
    width, steps = 1_000_000, (2.0, 2.5, 2.0)
    turn = 0
    while width * _MAX_BINS < window.end - window.begin:
        width = int(width * steps[turn % 3])
        turn += 1
    return width


class SeriesSum:
    """Adds pieces up to a :class:`Series`; successes and failures of the stage alike are in flight."""

    def __init__(self, window: Window) -> None:
        self._window = window
        self._width = bin_width(window)
        length = max(1, window.end - window.begin)
        bins = max(1, round(length / self._width))
        # the last bin takes what is left, half a width to one and a half: a sliver would show as a spike of its rate
        self._ends = np.append(np.arange(1, bins, dtype=np.int64) * self._width, length)
        self._occupied = np.zeros(bins)  # ns of request time per bin
        self._standing = np.zeros(bins + 1)  # requests that are in flight for the whole of every later bin
        self._completed = np.zeros(bins)
        self._failed = np.zeros(bins)
        self._tokens = np.zeros(bins)

    def add(self, piece: Piece, good: Mask, found: Arrivals, winners: Piece) -> None:
        """Adds a piece; ``found`` are the arrivals of ``winners``, its successful legs."""
        ended = piece.known("ended")
        end = np.where(ended, piece.ints("ended"), self._window.end)
        self._cross(starts(piece, end), 1.0)
        self._cross(end, -1.0)
        self._completed += self._count(piece.ints("ended")[good])
        self._failed += self._count(piece.ints("ended")[ended & ~good])
        self._tokens += self._count(*_token_times(found, winners))

    def _bin(self, at: Ints) -> Ints:
        return np.clip((at - self._window.begin) // self._width, 0, self._ends.size - 1)

    def _cross(self, at: Ints, sign: float) -> None:
        index = self._bin(at)
        rest = self._ends[index] - np.clip(at - self._window.begin, 0, self._ends[-1])
        self._occupied += sign * np.bincount(index, weights=rest, minlength=self._ends.size)
        self._standing[1:] += sign * np.bincount(index, minlength=self._ends.size)

    def _count(self, at: Ints, weights: Floats | None = None) -> Floats:
        return np.bincount(self._bin(at), weights=weights, minlength=self._ends.size).astype(np.float64)

    def result(self) -> Series:
        """The series; the last bin's rates are over its own length."""
        span = np.diff(self._ends, prepend=0).astype(np.float64)
        occupied = self._occupied + np.cumsum(self._standing[:-1]) * span
        seconds = span / 1e9
        return Series(
            t=[float(i * self._width / 1e9) for i in range(span.size)],
            in_flight=np.maximum(occupied / span, 0.0).tolist(),
            completed=(self._completed / seconds).tolist(),
            failed=(self._failed / seconds).tolist(),
            tokens=(self._tokens / seconds).tolist(),
        )


def _token_times(found: Arrivals, winners: Piece) -> tuple[Ints, Floats]:
    """When tokens arrived and how many: events where a leg has no counts; all at the end where it did not stream."""
    amount = found.weight / TOKEN_UNIT
    counted = np.bincount(found.leg, weights=amount, minlength=found.events.size) > 0
    if not counted.all() and found.leg.size:
        opens = np.append(np.flatnonzero(np.concatenate([[True], found.leg[1:] != found.leg[:-1]])), found.leg.size)
        mean = np.zeros(found.events.size)  # events per arrival
        mean[found.leg[opens[:-1]]] = found.events[found.leg[opens[:-1]]] / np.diff(opens)
        amount = np.where(counted[found.leg], amount, mean[found.leg])
    streamed = winners.flags("streamed")
    at, amount = (winners.ints("sent")[found.leg] + found.at)[streamed[found.leg]], amount[streamed[found.leg]]
    whole = ~streamed
    return (
        np.concatenate([at, winners.ints("ended")[whole]]),
        np.concatenate([amount, winners.ints("completion_tokens")[whole].astype(np.float64)]),
    )


class PointPicker:
    """Picks at most 2,000 legs: every failure first, then successes, evenly over the order of the trace."""

    def __init__(self, window: Window, counts: Counts) -> None:
        self._window = window
        self._seen = {False: 0, True: 0}
        failures = min(counts.failed, _MAX_POINTS)
        self._room = {False: (failures, counts.failed), True: (min(counts.good, _MAX_POINTS - failures), counts.good)}
        self._points: list[Point] = []

    def add(self, piece: Piece, good: Mask, ttft: Floats, latency: Floats) -> None:
        """Looks at a piece; ``good``, ``ttft`` and ``latency`` (ns, NaN absent) are per leg of it."""
        ended = piece.known("ended")
        for won in (False, True):
            own = np.flatnonzero(good if won else ended & ~good)
            room, total = self._room[won]
            place = self._seen[won] + np.arange(own.size)
            self._seen[won] += own.size
            # the j-th of n is picked when j·room/n passes a whole number: exactly `room` of them, evenly
            picked = own[(place + 1) * room // max(total, 1) > place * room // max(total, 1)]
            for i in picked.tolist():
                self._points.append(self._point(piece, i, _number(float(ttft[i])), _number(float(latency[i]))))

    def _point(self, piece: Piece, i: int, ttft: float | None, latency: float | None) -> Point:
        def value(name: str) -> int | None:
            return piece.column(name)[i].as_py()

        instants = (value("scheduled"), value("sent"), value("started"), value("ended"))
        begin = next((t for t in instants if t is not None), self._window.begin)
        return Point(
            t=(begin - self._window.begin) / 1e9,
            ttft=ttft,
            latency=latency,
            prompt_tokens=value("prompt_tokens"),
            completion_tokens=value("completion_tokens"),
            outcome=str(piece.column("outcome")[i].as_py()),
            task_id=int(piece.column("task_id")[i].as_py()),
        )

    def result(self) -> list[Point]:
        """The points, failures first, each part by time."""
        return sorted(self._points, key=lambda p: (p.outcome in ("ok", "ok_length"), p.t, p.task_id))


def _number(value: float) -> float | None:
    return None if np.isnan(value) else value
