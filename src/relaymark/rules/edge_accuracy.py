"""``accuracy_results.json`` of edge agentic, from what ``relaymark score`` left in a run's folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from relaymark.errors import ConfigError
from relaymark.score.bfcl import SCORE_FILE as BFCL_FILE
from relaymark.score.bfcl import BfclScore
from relaymark.score.result import read_score
from relaymark.score.turns import TurnScore


def accuracy_results(folder: Path) -> dict[str, Any]:
    """The file's content, with the reference's keys; the first entry is BFCL's, the second the turns' inline score.

    Raises:
        ConfigError: BFCL was not asked, or not in the way that the gate is on.
    """
    place = folder / BFCL_FILE
    try:
        bfcl = msgspec.json.decode(place.read_bytes(), type=BfclScore)
    except (OSError, msgspec.MsgspecError):
        raise ConfigError(
            "the run has no BFCL score", where=str(place), mend="relaymark score RUN --with bfcl"
        ) from None
    if bfcl.variant != "mlperf":
        raise ConfigError(
            f"the gate is not on the variant {bfcl.variant}", where=str(place), mend="ask without --hinted"
        )
    entries = [_bfcl_entry(bfcl)]
    inline = read_score(folder)
    if isinstance(inline, TurnScore) and inline.stages and inline.stages[0].score is not None:
        stage = inline.stages[0]
        entries.append(
            {
                "dataset_name": "performance",
                "dataset_type": "performance",
                "extractor": "agentic_inference_inline",
                "ground_truth_column": None,
                "score": stage.score,
                "unit_samples": stage.scorable,
                "num_repeats": 1,
                "total_samples": stage.scorable,
                "complete": stage.answered == stage.scorable,
                "response_counts": {
                    "issued": stage.scorable,
                    "scored": stage.answered,
                    "empty": 0,
                    "missing": stage.scorable - stage.answered,
                },
            }
        )
    return {"average_accuracy": bfcl.overall, "accuracy_scores": entries}


def _bfcl_entry(bfcl: BfclScore) -> dict[str, Any]:
    return {
        "dataset_name": "bfcl_v4",
        "dataset_type": "accuracy",
        "extractor": "bfcl_v4",
        "ground_truth_column": "ground_truth",
        "score": bfcl.overall,
        "unit_samples": bfcl.samples,
        "num_repeats": 1,
        "total_samples": bfcl.samples - bfcl.failed,
        "complete": bfcl.failed == 0,
        "breakdown": {
            "overall_accuracy": round(100 * bfcl.overall, 2),
            "normalized_single_turn_score": round(100 * bfcl.normalised, 2),
            "category_scores": {name: round(100 * share, 2) for name, share in bfcl.categories.items()},
            "subset_scores": {name: round(100 * one.share, 2) for name, one in bfcl.subsets.items()},
            "unscored_subsets": [],
            "total_samples": bfcl.samples - bfcl.failed,
            "issued_samples": bfcl.samples,
        },
        "response_counts": {
            "issued": bfcl.samples,
            "scored": bfcl.samples - bfcl.failed,
            "empty": 0,
            "missing": bfcl.failed,
        },
    }
