"""How the requests of a stage ended, as parts of one bar. Parts differ in pattern as well as colour."""

from __future__ import annotations

from markupsafe import Markup

from relaymark.measure.summary import Stage
from relaymark.report.charts.svg import el, pct
from relaymark.report.digits import count, percent
from relaymark.report.labels import is_good, outcome_words

_HEIGHT = 18
_LEAST = 0.006  # a single failure among a million must still be seen
PATTERNS = 6


def outcome_parts(stage: Stage) -> list[tuple[str, int, str]]:
    """(outcome, count, class) with successes first, then failures by size. Classes repeat after six failures."""
    good = [(o, n) for o, n in stage.outcomes.items() if n and is_good(o)]
    bad = sorted(((o, n) for o, n in stage.outcomes.items() if n and not is_good(o)), key=lambda part: -part[1])
    return [(o, n, "g1" if o == "ok_length" else "g0") for o, n in good] + [
        (o, n, f"b{i % PATTERNS}") for i, (o, n) in enumerate(bad)
    ]


def outcome_bar(stage: Stage) -> Markup:
    """The bar and its legend with counts."""
    parts = outcome_parts(stage)
    total = sum(n for _, n, _ in parts)
    if not total:
        return Markup("")
    sizes = [max(n / total, _LEAST) for _, n, _ in parts]
    whole = sum(sizes)
    bars: list[Markup] = []
    legend: list[Markup] = []
    left = 0.0
    for (outcome, n, class_), size in zip(parts, sizes, strict=True):
        share = size / whole
        bars.append(el("rect", x=pct(left), y="0", width=pct(share), height=_HEIGHT, class_=class_))
        left += share
        swatch = el(
            "svg", el("rect", width="12", height="12", class_=class_), width="12", height="12", aria_hidden="true"
        )
        words = el("span", outcome_words(outcome))
        legend.append(el("li", swatch, words, el("b", count(n)), el("i", percent(n / total)), class_="part"))
    said = ", ".join(f"{outcome_words(o)} {n}" for o, n, _ in parts)
    bar = el("svg", *bars, width="100%", height=_HEIGHT, role="img", aria_label=said, class_="bar")
    return el("div", bar, el("ul", *legend, class_="parts"), class_="outcomes")
