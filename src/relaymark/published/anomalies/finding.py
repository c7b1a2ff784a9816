"""What an anomaly is: its kind, what it says, the rows it is about, and the arithmetic."""

from __future__ import annotations

from dataclasses import dataclass

from relaymark.published.row import Row

KINDS: dict[str, str] = {
    "super-linear": "more accelerators give more than their share",
    "repeated-result": "one result stands in several rows",
    "repeated-accuracy": "one accuracy stands in several scenarios of a system",
    "idle-accelerators": "accelerators are listed that did not work for the result",
    "accuracy-scales": "accuracies of one benchmark are written on different scales",
    "bigger-slower": "a bigger system is slower than a smaller one of the same accelerators",
    "below-its-parts": "a mixed system is below the sum of its parts",
    "server-above-offline": "a latency-bound scenario is faster than Offline on the same system",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a reader should know before comparing. It is no verdict: there may be a good reason.

    ``size`` orders findings of a kind, the largest first; its meaning is the kind's own.
    """

    kind: str
    says: str
    rows: list[Row]
    arithmetic: str
    size: float = 0.0


def shown(value: float | None) -> str:
    """A figure with the digits a reader can check the arithmetic with."""
    return "–" if value is None else f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.0f}"


def name_of(row: Row) -> str:
    """Submitter, platform and scale of a row."""
    return f"{row.organization} {row.platform}" + (f" ({row.scale})" if row.accelerators else "")
