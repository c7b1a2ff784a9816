"""A score of function calling in words, for the terminal and the page alike."""

from __future__ import annotations

from relaymark.report.findings import Mark
from relaymark.score.bfcl.scoring import GATE_NORMALISED, GATE_OVERALL, BfclScore
from relaymark.score.bfcl.selection import SUBSETS

Row = tuple[Mark, str, str]


def bfcl_title(score: BfclScore) -> str:
    """What was asked of whom."""
    return f"Function calling (BFCL v4, {score.samples} samples, {score.variant}): {score.model}"


def bfcl_rows(score: BfclScore) -> list[Row]:
    """What came out, a row each: mark, topic, sentence."""
    bounds = ""
    if score.low is not None and score.high is not None:
        bounds = f" (95 % interval {score.low:.2%} to {score.high:.2%})"
    rows: list[Row] = [
        ("good", "overall", f"{score.overall:.2%}: {score.right} of {score.samples} right{bounds}"),
        ("good", "normalised", f"{score.normalised:.2%}, the mean of the three categories"),
    ]
    for name, share in score.categories.items():
        members = ", ".join(
            f"{subset.name} {score.subsets[subset.name].right}/{score.subsets[subset.name].samples}"
            for subset in SUBSETS
            if subset.category == name
        )
        rows.append(("good", name, f"{share:.2%}: {members}"))
    if score.passed is not None:
        asked = f"{GATE_OVERALL:.2%} overall and {GATE_NORMALISED:.2%} normalised were asked for, 97 % of the reference"
        rows.append(("good" if score.passed else "bad", "gate", f"{'passed' if score.passed else 'FAILED'}: {asked}"))
    return [*rows, *(("bad", "invalid", why) for why in score.reasons), *(("note", "note", why) for why in score.notes)]
