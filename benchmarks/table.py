"""The results as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from peers import PeerRow
from session import Row


def table(rows: Sequence[Row]) -> str:
    """One line a row: what both clients came to, their ratio, the bar and whether it was met."""
    lines = ["| case | | reader | relaymark | ratio | bar | met |", "|---|---|--:|--:|--:|---|---|"]
    for row in rows:
        met = {True: "yes", False: "**no**", None: ""}[row.met]
        ratio = "" if row.ratio is None else f"{row.ratio:.3f}"
        reader = "" if row.reader is None else _figure(row.reader, row.unit)
        lines.append(
            f"| {row.case} | {row.what} | {reader} | {_figure(row.relaymark, row.unit)} | {ratio} | {row.bar} | {met} |"
        )
    return "\n".join(lines)


def peer_table(rows: Sequence[PeerRow], mine: Sequence[Row]) -> str:
    """One line a peer and case; the share is of the reader's rate where the session measured it."""
    rates = {row.case: row.reader for row in mine if row.what.startswith("events/s")}
    lines = [
        "| peer | case | start | wall | requests/s | of reader | CPU-s/M events |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        reader = rates.get(row.case)
        share = f"{row.events_s / reader:.3f}" if reader and row.events_s else ""
        rate = "" if row.requests_s is None else _figure(row.requests_s, "/s")
        lines.append(
            f"| {row.peer} | {row.case} | {_figure(row.start, 's')} | {_figure(row.wall, 's')} | {rate} | {share} "
            f"| {row.cpu_per_million:.1f} |"
        )
    return "\n".join(lines)


def _figure(value: float, unit: str) -> str:
    digits = 0 if unit in ("/s", "MB", "") else 1 if unit.startswith("CPU") else 2
    return f"{value:,.{digits}f} {unit}".strip().replace(" /s", "/s")
