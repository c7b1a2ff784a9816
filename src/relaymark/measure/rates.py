"""Rates of a stage, and the window of time that they are over."""

from __future__ import annotations

from dataclasses import dataclass

from relaymark.measure.inputs import StageInfo
from relaymark.measure.outcomes import Counts


@dataclass(frozen=True)
class Window:
    """A stretch of CLOCK_MONOTONIC in ns."""

    begin: int
    end: int

    @property
    def seconds(self) -> float:
        """Length in seconds; a stage without length (one instant answer) has none to divide by."""
        return (self.end - self.begin) / 1e9

    def rate(self, amount: float) -> float:
        """``amount`` per second; 0 for an empty window."""
        return amount / self.seconds if self.end > self.begin else 0.0


def window_of(info: StageInfo, counts: Counts) -> Window:
    """The window of a stage.

    Closed loop: first sent to last ended. Open loop: from the start of the schedule (else the first scheduled send) to
    its planned end or the last ended, whichever is later. So the drain is always inside: a server that falls behind its
    schedule does not look faster for the requests it finished late, and a schedule that ends with a pause is not
    shortened to look busier (MLPerf Endpoints: system_tps = total output tokens / elapsed time, drain included).
    """
    begin = counts.first_sent
    if info.open_loop:
        begin = next((t for t in (info.start_ns, counts.first_scheduled, begin) if t is not None), None)
    if begin is None:
        return Window(0, 0)
    end = max(begin, counts.last_ended or begin)
    if info.open_loop and info.duration_ns is not None and not counts.in_flight:
        end = max(end, begin + info.duration_ns)
    return Window(begin, end)


def offered_rate(info: StageInfo, counts: Counts) -> float | None:
    """Requests/s the schedule asked for: as planned, else scheduled sends per second between the first and the last."""
    if not info.open_loop:
        return None
    if info.offered_rate is not None:
        return info.offered_rate
    first, last = counts.first_scheduled, counts.last_scheduled
    if first is None or last is None or last <= first:
        return None
    return (counts.requests + counts.in_flight - 1) / ((last - first) / 1e9)


def token_rate(window: Window, counts: Counts, name: str) -> float | None:
    """Tokens/s of successes (system_tps for ``completion_tokens``); ``None`` when no leg has the count."""
    return window.rate(counts.tokens[name]) if counts.tokens_known[name] else None
