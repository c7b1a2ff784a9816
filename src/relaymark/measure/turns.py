"""What the turns of conversations came to: their mean latency, how it grows with the context, and what caching saved.

The headline of MLPerf Inference v6.1's edge agentic benchmark is the mean latency of a turn, as LoadGen's
SingleStream defines it. A turn that failed, or that never came because an earlier one failed, has no latency: the
mean is of the turns that were answered, their number stands beside it, and a run with any other turn is INVALID.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from relaymark.measure.early_stopping import estimate
from relaymark.measure.percentiles import Floats, percentile
from relaymark.measure.summary import DepthBin, Reason, Stage, Turns, Verdict
from relaymark.trace.table import Trace

_COLUMNS = (
    "task_id", "stage", "warmup", "final", "kind", "role", "session_id", "turn", "outcome", "sent", "first_token",
    "ended", "prompt_tokens", "cached_tokens", "completion_tokens", "server_prompt_tokens",
)  # fmt: skip
_GOOD = ("ok", "ok_length")
_BINS = 8
_RESAMPLES = 1_000
_PERCENTILES = (0.5, 0.9, 0.95, 0.99, 0.999)
_REPROCESSED = 0.2
"""A turn whose cached tokens are below this share of the prompt before it was processed from the start."""
_ALARM = 0.5
"""Share of reprocessed turns from which it is the server's habit and no accident."""
Column = NDArray[Any]


def summarise_turns(trace: Trace, stages: list[int]) -> dict[int, Turns]:
    """The turns of each stage that has any."""
    columns = turn_columns(trace)
    found: dict[int, Turns] = {}
    for stage in stages:
        rows = columns["stage"] == stage
        if rows.any():
            found[stage] = _stage({name: column[rows] for name, column in columns.items()})
    return found


def turn_columns(trace: Trace) -> dict[str, Column]:
    """The columns of all turns that were measured: a row each, absent numbers as NaN."""
    table = pa.Table.from_batches(list(trace.batches(_COLUMNS)))
    columns = {name: _column(table, name) for name in _COLUMNS}
    chosen = (columns["role"] == "turn") & ~columns["warmup"].astype(bool) & columns["final"].astype(bool)
    return {name: column[chosen] for name, column in columns.items()}


def _column(table: pa.Table, name: str) -> Column:
    column = table[name].combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.cast(pa.string())
    if pa.types.is_string(column.type):
        return np.array(column.to_pylist(), dtype=object)
    if pa.types.is_boolean(column.type):
        return column.to_numpy(zero_copy_only=False)
    return column.cast(pa.float64()).to_numpy(zero_copy_only=False)


def _stage(legs: dict[str, Column]) -> Turns:
    good = np.isin(legs["outcome"], _GOOD)
    never = np.isnan(legs["sent"])
    latency = legs["ended"] - legs["sent"]
    ttft = legs["first_token"] - legs["sent"]
    tokens = legs["completion_tokens"]
    cached = _cached(legs)
    before = _prompt_before(legs)
    known = good & ~np.isnan(cached) & ~np.isnan(legs["prompt_tokens"])
    follow = known & ~np.isnan(before)
    low, high = _interval(latency, good, legs["task_id"])
    decode = (legs["ended"] - legs["first_token"]) / np.where(tokens > 1, tokens - 1, np.nan)
    usable = good & ~np.isnan(ttft)
    return Turns(
        conversations=len(set(legs["task_id"])),
        turns=len(good),
        answered=int(good.sum()),
        failed=int((~good & ~never).sum()),
        abandoned=int((~good & never).sum()),
        latency_mean=_mean(latency[good]),
        latency_low=low,
        latency_high=high,
        ttft_mean=_mean(ttft[usable]),
        tpot_mean=_mean(decode[usable & (tokens > 1)]),
        early_stopping={
            name: {f"p{p * 100:g}": estimate(values[np.isfinite(values)], p) for p in _PERCENTILES}
            for name, values in (("latency", latency[good]), ("ttft", ttft[usable]))
        },
        completion_tokens=_mean(tokens[good]),
        new_tokens=_mean((legs["prompt_tokens"] - cached)[known]),
        cached_tokens=_mean(cached[known]),
        cached_share=_ratio(cached[known], legs["prompt_tokens"][known]),
        ideal_share=_ratio(before[follow], legs["prompt_tokens"][known]),
        reprocessed=int((cached[follow] < _REPROCESSED * before[follow]).sum()) if follow.any() else None,
        comparable=int(follow.sum()),
        ttft_per_1k=_slope(legs["prompt_tokens"][usable], ttft[usable]),
        latency_per_1k=_slope(legs["prompt_tokens"][good], latency[good]),
        depth=_depth(legs, latency, ttft, cached, good),
    )


def _cached(legs: dict[str, Column]) -> Floats:
    """Prompt tokens taken from a cache: as usage tells, else what llama.cpp says it did not process."""
    return np.where(
        np.isnan(legs["cached_tokens"]), legs["prompt_tokens"] - legs["server_prompt_tokens"], legs["cached_tokens"]
    )


def _prompt_before(legs: dict[str, Column]) -> Floats:
    """Prompt tokens of the turn before in the same conversation: what a cache could have kept."""
    order = np.lexsort((legs["turn"], legs["task_id"]))
    before = np.full(len(order), np.nan)
    same = legs["task_id"][order][1:] == legs["task_id"][order][:-1]
    before[order[1:][same]] = legs["prompt_tokens"][order[:-1][same]]
    return before


def _depth(legs: dict[str, Column], latency: Floats, ttft: Floats, cached: Floats, good: Column) -> list[DepthBin]:
    """Turns by how long their context was: in tokens where the server tells, else by their number."""
    tokens = legs["prompt_tokens"]
    by_tokens = bool((~np.isnan(tokens[good])).all()) and bool(good.any())
    depth = tokens if by_tokens else legs["turn"]
    usable = good & ~np.isnan(depth)
    if not usable.any():
        return []
    edges = np.unique(np.quantile(depth[usable], np.linspace(0, 1, _BINS + 1)))
    place = np.clip(np.searchsorted(edges, depth, side="right") - 1, 0, max(0, len(edges) - 2))
    bins: list[DepthBin] = []
    for number in range(max(1, len(edges) - 1)):
        rows = usable & (place == number)
        if not rows.any():
            continue
        first = ttft[rows][~np.isnan(ttft[rows])]
        bins.append(
            DepthBin(
                low=float(depth[rows].min()),
                high=float(depth[rows].max()),
                tokens=by_tokens,
                turns=int(rows.sum()),
                latency_p50=percentile(latency[rows], 0.5),
                latency_p90=percentile(latency[rows], 0.9),
                ttft_p50=percentile(first, 0.5),
                ttft_p90=percentile(first, 0.9),
                new_tokens=_mean((tokens - cached)[rows]),
            )
        )
    return bins


def _interval(latency: Floats, good: Column, task: Column) -> tuple[float | None, float | None]:
    """95 % interval of the mean, drawn anew by conversation: turns of one are not independent."""
    tasks, place = np.unique(task[good], return_inverse=True)
    if len(tasks) < 2:
        return None, None
    sums = np.bincount(place, latency[good])
    counts = np.bincount(place)
    draws = np.random.default_rng(0).integers(0, len(tasks), (_RESAMPLES, len(tasks)))
    low, high = np.quantile(sums[draws].sum(1) / counts[draws].sum(1), [0.025, 0.975])
    return float(low), float(high)


def _slope(tokens: Floats, values: Floats) -> float | None:
    """Least-squares slope, ns for a thousand tokens of context."""
    known = ~np.isnan(tokens) & ~np.isnan(values)
    if known.sum() < 3 or np.ptp(tokens[known]) == 0:
        return None
    return float(np.polyfit(tokens[known] / 1000, values[known], 1)[0])


def _mean(values: Floats) -> float | None:
    values = values[~np.isnan(values)]
    return float(values.mean()) if values.size else None


def _ratio(part: Floats, whole: Floats) -> float | None:
    total = float(np.nansum(whole))
    return float(np.nansum(part)) / total if part.size and total else None


def judge_turns(verdict: Verdict, stages: list[Stage]) -> Verdict:
    """The verdict with what turns add to it: every one must have happened; and a warning where caching does nothing."""
    reasons, warnings = list(verdict.reasons), list(verdict.warnings)
    for stage in stages:
        turns = stage.turns
        if turns is None:
            continue
        lost = turns.turns - turns.answered
        if lost:
            text = (
                f"{stage.load}: of {turns.turns:,} turns {lost:,} were not answered ({turns.failed:,} failed, "
                f"{turns.abandoned:,} were given up with their conversation); the mean is of the others."
            )
            reasons.append(Reason(code="turns", text=text, measured=float(lost), bound=0.0))
        if turns.reprocessed is not None and turns.comparable and turns.reprocessed > _ALARM * turns.comparable:
            ideal = f" where {turns.ideal_share:.0%} could be" if turns.ideal_share is not None else ""
            text = (
                f"{stage.load}: the server processed the whole prompt again on {turns.reprocessed:,} of "
                f"{turns.comparable:,} turns, though each begins with the prompt before it: "
                f"{turns.cached_share or 0:.0%} of prompt tokens came from its cache{ideal}. Look at its prefix cache."
            )
            warnings.append(Reason(code="reprocessed", text=text, measured=float(turns.reprocessed)))
    return Verdict(valid=not reasons, reasons=reasons, warnings=warnings)
