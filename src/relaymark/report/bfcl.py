"""A score of function calling in words, for the terminal and the page alike."""

from __future__ import annotations

from relaymark.report.findings import Mark
from relaymark.score.bfcl.multi_turn import MultiTurnScore
from relaymark.score.bfcl.multi_turn.scoring import REFERENCE_BASE, SubsetTally
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


def multi_turn_title(score: MultiTurnScore) -> str:
    """What was asked of whom."""
    return f"Function calling over many turns (BFCL v4, {score.entries} conversations): {score.model}"


def multi_turn_rows(score: MultiTurnScore) -> list[Row]:
    """What came out, a row each: mark, topic, sentence."""
    rows: list[Row] = []
    if len(score.subsets) > 1:
        rows.append(("good", "overall", f"{score.overall:.2%}, the mean of the subsets{_between(score)}"))
    for name, one in score.subsets.items():
        said = f"{one.share:.2%}: {one.right} of {one.entries} right{_between(one)}"
        said += f"; {one.turns_right:,} of {one.turns:,} turns came before a wrong one"
        if name == "base" and one.entries == REFERENCE_BASE[1]:
            said += f" (MLPerf's reference model: {REFERENCE_BASE[0]} of {REFERENCE_BASE[1]})"
        rows.append(("good", name, said))
    # Of a state that differs there are many kinds; the table has the commonest reasons, the file all of them.
    shown = list(score.why_wrong.items())[:6]
    more = sum(score.why_wrong.values()) - sum(count for _, count in shown)
    rows.extend(("note", "wrong", f"{count:,} ×: {why}") for why, count in shown)
    if more:
        rows.append(("note", "wrong", f"{more:,} ×: other reasons"))
    if score.failed:
        rows.append(("bad", "invalid", f"{score.failed:,} conversations broke off at a failed call; score again"))
    return [*rows, *(("note", "note", why) for why in score.notes)]


def _between(one: MultiTurnScore | SubsetTally) -> str:
    return f" (95 % interval {one.low:.2%} to {one.high:.2%})" if one.low is not None and one.high is not None else ""
