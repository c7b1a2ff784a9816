"""A stage of a Relaymark run as the reference client's ``result_summary.json``: whole-run figures, ns and tokens.

Percentiles are the client's: floor(p/100·(n − 1)) of the sorted values, an observed value (MLPerf Endpoints, client
``numpy.percentile(method="lower")``). Failed requests are counted as failed and never among the completed ones.
"""

from __future__ import annotations

import itertools
import math
from datetime import datetime
from typing import Any

import numpy as np

from relaymark.measure.early_stopping import estimate
from relaymark.measure.percentiles import Floats
from relaymark.measure.steady import Steady, find_steady
from relaymark.measure.steady_samples import StageSamples
from relaymark.rules.regions import shortest_seconds
from relaymark.trace import RunRecord, StageRecord

GRID = (99.9, 99.0, 97.0, 95.0, 90.0, 80.0, 75.0, 50.0, 25.0, 10.0, 5.0, 1.0)
_BUCKETS = 20


def result_summary(samples: StageSamples, record: RunRecord, stage: StageRecord, load_pattern: str) -> dict[str, Any]:
    """What the reference client would write for the stage, as far as it was measured."""
    good = samples.good
    duration = int(samples.ended.max() - samples.sent.min())
    completed = int(good.sum())
    blocks = {key: _known(values[good]) for key, values in samples.values.items()}
    tokens = float(blocks["osl"].sum())
    complete = record.status == "complete" and stage.cut_ns is None and not samples.open_ended
    return {
        "version": f"relaymark {record.version}",
        "client": "relaymark",
        "test_started_at": int(datetime.fromisoformat(record.started_at).timestamp()),
        "n_samples_issued": int(good.size) + samples.open_ended,
        "n_samples_completed": completed,
        "n_samples_succeeded": completed,
        "n_samples_failed": int(good.size) - completed + samples.open_ended,
        "n_samples_dropped": 0,
        "duration_ns": duration,
        "state": "complete" if complete else "interrupted",
        "complete": complete,
        "ttft": stat_block(blocks["ttft"], estimates=True),
        "tpot": stat_block(blocks["tpot"], estimates=True),
        "latency": stat_block(blocks["latency"], estimates=True),
        "output_sequence_lengths": stat_block(blocks["osl"]),
        "input_sequence_lengths": stat_block(blocks["isl"]),
        "qps": completed / (duration / 1e9) if duration else None,
        "tps": tokens / (duration / 1e9) if duration and blocks["osl"].size else None,
        "finish_reason_counts": samples.finish_reasons,
        "run_config": {"load_pattern": {"type": load_pattern, "target_concurrency": stage.slots}},
    }


def steady_of(samples: StageSamples, concurrency: int, super_pass: int, *, agentic: bool) -> Steady:
    """The steady window of the stage, as the rules of its concurrency ask for it."""
    least = shortest_seconds(concurrency, agentic=agentic)
    known = {key: np.where(samples.good, samples.values[key], np.nan) for key in ("tpot", "latency")}
    return find_steady(samples.sent, known["tpot"], known["latency"], super_pass, least_seconds=least)


def steady_block(steady: Steady) -> dict[str, Any]:
    """The ``steady_state`` block of ``point.yaml`` (§4.4)."""
    window = {
        "super_pass_start": steady.first,
        "super_pass_end": steady.last,
        "super_pass_size": steady.super_pass_size,
        "n_samples": (steady.samples[1] - steady.samples[0]) or None,
        "duration_s": steady.seconds,
    }
    block: dict[str, Any] = {"status": steady.status, "verdict": steady.verdict}
    if steady.first is not None:
        block["window"] = window
    if steady.state:
        block["state"] = steady.state
    if steady.anomaly:
        block["anomaly"] = steady.anomaly
    return block


def stat_block(values: Floats, *, estimates: bool = False) -> dict[str, Any]:
    """Statistics of a metric as the client writes them; empty where there is no value.

    ``estimates`` adds ``early_stopping_percentiles`` from p50 up: LoadGen's estimate, ``null`` below its floor.
    """
    if not values.size:
        return {}
    ordered = np.sort(values)
    counts, edges = np.histogram(ordered, bins=_BUCKETS if ordered[0] < ordered[-1] else 1)
    block: dict[str, Any] = {
        "total": float(ordered.sum()),
        "min": float(ordered[0]),
        "max": float(ordered[-1]),
        "median": _lower(ordered, 50.0),
        "avg": float(ordered.mean()),
        "std_dev": float(ordered.std(ddof=1)) if ordered.size > 1 else 0.0,
        "percentiles": {str(p): _lower(ordered, p) for p in GRID},
        "histogram": {
            "buckets": [[float(low), float(high)] for low, high in itertools.pairwise(edges)],
            "counts": [int(count) for count in counts],
        },
    }
    if estimates:
        block["early_stopping_percentiles"] = {str(p): estimate(ordered, round(p / 100, 6)) for p in GRID if p >= 50}
    return block


def _lower(ordered: Floats, p: float) -> float:
    return float(ordered[math.floor(p * (ordered.size - 1) / 100)])


def _known(values: Floats) -> Floats:
    return values[~np.isnan(values)]
