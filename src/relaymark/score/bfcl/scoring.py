"""Verdicts to scores: by subset, by category, over all, normalised; and the gate of MLPerf Inference v6.1."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

import msgspec

from relaymark.score.bfcl.selection import SAMPLES, SUBSETS

REFERENCE_OVERALL, REFERENCE_NORMALISED = 0.8623, 0.8796
SHARE = 0.97
GATE_OVERALL, GATE_NORMALISED = 0.8364, 0.8532
"""97 % of the reference, to MLPerf's two decimals of a percent: 833 of 995, and 85.32 %."""
SCORE_FILE = "bfcl.json"
_SIMPLE = ("simple_python", "simple_java", "simple_javascript")


class SubsetScore(msgspec.Struct, kw_only=True, frozen=True):
    """One subset: how many were right, of how many."""

    right: int
    samples: int

    @property
    def share(self) -> float:
        """From 0 to 1."""
        return self.right / self.samples if self.samples else 0.0


class BfclScore(msgspec.Struct, kw_only=True):
    """``bfcl.json``. Shares are from 0 to 1; ``failed`` samples have no answer and count as wrong."""

    schema: int = 1
    kind: str = "bfcl"
    run_id: str = ""
    model: str = ""
    url: str = ""
    variant: str = "mlperf"
    ids_sha256: str = ""
    samples: int
    right: int
    failed: int
    overall: float
    normalised: float
    categories: dict[str, float]
    subsets: dict[str, SubsetScore]
    low: float | None = None  # 95 % interval of overall (Wilson)
    high: float | None = None
    passed: bool | None = None  # the gate; None: not decided, or not this variant's
    reasons: list[str] = []
    notes: list[str] = []


def score_of(verdicts: Mapping[str, list[bool]], failed: int) -> BfclScore:
    """The score of verdicts by subset.

    ``overall`` is the mean over all samples. A category's is: non_live, the mean of four, the three ``simple`` ones
    counting as one; live, over its samples; hallucination, the mean of its two. ``normalised`` is their mean.
    """
    subsets = {
        subset.name: SubsetScore(right=sum(verdicts.get(subset.name, [])), samples=len(verdicts.get(subset.name, [])))
        for subset in SUBSETS
    }
    samples, right = sum(one.samples for one in subsets.values()), sum(one.right for one in subsets.values())
    live = [subsets[subset.name] for subset in SUBSETS if subset.category == "live"]
    live_samples = sum(one.samples for one in live)
    simple = fmean(subsets[name].share for name in _SIMPLE)
    categories = {
        "non_live": fmean([simple, *(subsets[name].share for name in ("multiple", "parallel", "parallel_multiple"))]),
        "live": sum(one.right for one in live) / live_samples if live_samples else 0.0,
        "hallucination": fmean(subsets[name].share for name in ("irrelevance", "live_irrelevance")),
    }
    score = BfclScore(
        samples=samples,
        right=right,
        failed=failed,
        overall=right / samples if samples else 0.0,
        normalised=fmean(categories.values()),
        categories=categories,
        subsets=subsets,
    )
    if failed:
        score.reasons.append(f"{failed:,} samples have no answer; they count as wrong, and the gate cannot be passed")
    if samples != SAMPLES:
        score.reasons.append(f"{samples} samples were asked where {SAMPLES} are wanted")
    return score


def apply_gate(score: BfclScore) -> None:
    """Decides the gate: both figures at least 97 % of the reference's, over all 995 samples, each answered."""
    overall, normalised = round(score.overall, 4), round(score.normalised, 4)
    score.passed = not score.reasons and overall >= GATE_OVERALL and normalised >= GATE_NORMALISED
