"""Scaling shown on a terminal."""

from __future__ import annotations

from rich.console import Console

from relaymark.explain.scaling import Scaling
from relaymark.report.digits import number, percent
from relaymark.report.findings import print_listing


def print_scaling(one: Scaling, console: Console | None = None) -> None:
    """Prints it."""
    out = console or Console()
    rows = [
        [number(each.size), number(each.rate), number(each.per_unit), percent(each.efficiency)] for each in one.sizes
    ]
    print_listing(("size", one.unit, "per unit", "of linear"), rows, out, last_wraps=False)
    if one.knee is not None:
        out.print(f"  The knee: beyond {one.knee:g} less than 80 % of linear is left.", highlight=False)
    law = one.law
    if law is not None:
        out.print(
            f"  Universal scalability law (R² {law.explained:.3f}): serial part σ {law.sigma:.2%} "
            f"({law.sigma_low:.2%} – {law.sigma_high:.2%}), crosstalk κ {law.kappa:.4%} "
            f"({law.kappa_low:.4%} – {law.kappa_high:.4%}).",
            highlight=False,
        )
        if law.peak is not None:
            out.print(f"  By it the highest rate is at {law.peak:.0f}.", highlight=False)
    for note in one.notes:
        out.print(f"  {note}", highlight=False)
