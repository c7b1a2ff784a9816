"""Published figures in words: enough digits that the arithmetic can be checked by eye."""

from __future__ import annotations

from relaymark.published import Comparison, Row
from relaymark.report.clean import plain_line
from relaymark.report.digits import ABSENT


def figure(value: float | None) -> str:
    """Six significant digits, with separators and without an exponent: 16,426.9, 0.464076, 2,705,130."""
    if value is None:
        return ABSENT
    if abs(value) >= 1e5:
        return f"{value:,.0f}"
    digits = f"{value:,.6g}"
    return digits if "e" not in digits else f"{value:.8f}".rstrip("0")


def times(ratio: float | None) -> str:
    """A ratio: ``2.85 ×``; ``no ratio`` where it was refused."""
    return "no ratio" if ratio is None else f"{ratio:.2f} ×" if ratio < 100 else f"{ratio:,.0f} ×"


def system_of(row: Row, limit: int = 60) -> str:
    """Submitter and platform. File text counts as untrusted."""
    return plain_line(f"{row.organization} {row.platform}", limit)


def scale_of(row: Row, limit: int = 40) -> str:
    """How many of which accelerators, on one line."""
    return plain_line(row.scale, limit)


def side(row: Row, per: str) -> str:
    """One side of a comparison in a line: figure, unit, who, what, when."""
    each = "" if per == "system" else f" a{'n' * (per == 'accelerator')} {per}"
    unit = plain_line(row.unit, 20)
    return f"{figure(row.per(per))} {unit}{each}  {system_of(row)}  {scale_of(row)}  {row.round} {row.availability}"


def verb(comparison: Comparison) -> str:
    """What the ratio says."""
    return "times the rate" if comparison.a.higher_is_better else "times as fast"
