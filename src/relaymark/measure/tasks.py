"""What tasks of many legs came to: tasks/s, their latency, and where each kind of leg spends its time.

A task is a leg of kind ``task``, the legs that name it as their parent are its own. A task that failed is in the
latency percentiles as infinitely slow and never in the rate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from relaymark.measure.percentiles import Floats, percentile
from relaymark.measure.summary import Spread, TaskLegs, Tasks
from relaymark.trace.answers import ANSWERS_FILE, AnswerReader
from relaymark.trace.table import Trace

_COLUMNS = (
    "task_id", "stage", "warmup", "final", "kind", "role", "outcome", "scheduled", "started", "sent", "first_token",
    "ended", "prompt_tokens", "cached_tokens", "completion_tokens", "items", "queued_ns", "service_ns",
)  # fmt: skip
_QUANTILES = (0.5, 0.9, 0.99)
_GOOD = ("ok", "ok_length")
_ORDER = ("queries", "embed", "search", "rerank", "relevance", "sufficiency", "answer", "service")


def summarise_tasks(folder: Path, trace: Trace, starts: dict[int, int]) -> dict[int, Tasks]:
    """The tasks of each stage.

    Args:
        folder: The run's, for its answers.
        trace: Its trace.
        starts: By stage, when it began (CLOCK_MONOTONIC ns).
    """
    table = pa.Table.from_batches(list(trace.batches(_COLUMNS)))
    columns = {name: _column(table, name) for name in _COLUMNS}
    told = _answers(folder)
    found: dict[int, Tasks] = {}
    for stage, start in starts.items():
        rows = (columns["stage"] == stage) & ~columns["warmup"].astype(bool) & columns["final"].astype(bool)
        here = {name: column[rows] for name, column in columns.items()}
        if (here["kind"] == "task").any():
            found[stage] = _stage(here, start, told.get(stage, []))
    return found


def _column(table: pa.Table, name: str) -> NDArray[Any]:
    column = table[name].combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.cast(pa.string())
    if pa.types.is_string(column.type):
        return np.array(column.to_pylist(), dtype=object)
    if pa.types.is_boolean(column.type):
        return column.to_numpy(zero_copy_only=False)
    return column.cast(pa.float64()).to_numpy(zero_copy_only=False)


class _Told(msgspec.Struct):
    iterations: int | None
    fallbacks: dict[str, int]
    replay: dict[str, int]
    solved: bool | None


def _answers(folder: Path) -> dict[int, list[_Told]]:
    path = folder / ANSWERS_FILE
    told: dict[int, list[_Told]] = {}
    if path.is_file():
        for answer in AnswerReader(path):
            told.setdefault(answer.stage, []).append(
                _Told(answer.iterations, answer.fallbacks, answer.replay, answer.solved)
            )
    return told


def _stage(legs: dict[str, NDArray[Any]], start: int, told: list[_Told]) -> Tasks:
    is_task = legs["kind"] == "task"
    good = is_task & np.isin(legs["outcome"], _GOOD)
    count, ok = int(is_task.sum()), int(good.sum())
    end = float(np.nanmax(legs["ended"][is_task]))
    seconds = max(1.0, end - start) / 1e9
    llm = legs["kind"] == "llm"
    scheduled = legs["scheduled"][good]
    latency = legs["ended"][good] - legs["started"][good]
    from_schedule = legs["ended"][good] - scheduled if not np.isnan(scheduled).any() and ok else None
    iterations = Counter(one.iterations for one in told if one.iterations is not None)
    checked = [one.solved for one in told if one.solved is not None]
    solved = sum(checked) if checked else None
    tokens = legs["prompt_tokens"][llm] + legs["completion_tokens"][llm]
    return Tasks(
        tasks=count,
        failed=count - ok,
        rate=ok / seconds,
        latency=_spread(latency, count - ok),
        latency_scheduled=None if from_schedule is None else _spread(from_schedule, count - ok),
        llm_calls=_mean(np.array([float(llm.sum())]) / count),
        prompt_tokens=_per_task(legs["prompt_tokens"][llm], count),
        completion_tokens=_per_task(legs["completion_tokens"][llm], count),
        cached_share=_share(legs["cached_tokens"][llm], legs["prompt_tokens"][llm]),
        busy_share=_busy(legs["sent"][llm], legs["ended"][llm], float(np.nanmin(legs["started"][is_task])), end),
        iterations={str(key): iterations[key] for key in sorted(iterations)},
        legs=_legs(legs, is_task),
        fallbacks=_summed(one.fallbacks for one in told),
        replay=_summed(one.replay for one in told),
        solved=solved,
        tokens_per_solved=float(tokens.sum()) / solved if solved and not np.isnan(tokens).any() else None,
        time_per_solved=float(np.nansum((legs["ended"] - legs["started"])[is_task])) / solved if solved else None,
    )


def _legs(legs: dict[str, NDArray[Any]], is_task: NDArray[Any]) -> list[TaskLegs]:
    names = np.where(legs["role"] == "", legs["kind"], legs["role"])
    order = {name: place for place, name in enumerate(_ORDER)}
    found = sorted(set(names[~is_task]), key=lambda name: (order.get(name, len(order)), name))
    whole = float(np.nansum((legs["ended"] - legs["started"])[is_task])) or 1.0
    return [
        _kind(name, {key: column[(names == name) & ~is_task] for key, column in legs.items()}, whole) for name in found
    ]


def _kind(name: str, legs: dict[str, NDArray[Any]], whole: float) -> TaskLegs:
    good = np.isin(legs["outcome"], _GOOD)
    failed = int((~good).sum())
    times = legs["ended"] - legs["sent"]
    ttft = (legs["first_token"] - legs["sent"])[good]
    queued, service = legs["queued_ns"][good], legs["service_ns"][good]
    return TaskLegs(
        name=name,
        kind=str(legs["kind"][0]),
        calls=len(good),
        failed=failed,
        latency=_spread(times[good], failed),
        ttft=_spread(ttft[~np.isnan(ttft)], failed) if not np.isnan(ttft).all() else None,
        queued=_spread(queued, failed) if not np.isnan(queued).all() else None,
        service=_spread(service, failed) if not np.isnan(service).all() else None,
        share=float(np.nansum(legs["ended"] - legs["started"])) / whole,
        prompt_tokens=_mean(legs["prompt_tokens"][good]),
        completion_tokens=_mean(legs["completion_tokens"][good]),
        cached_share=_share(legs["cached_tokens"][good], legs["prompt_tokens"][good]),
        batch=_mean(legs["items"][good]) if not np.isnan(queued).all() else None,
    )


def _spread(values: Floats, failures: int) -> Spread | None:
    values = values[~np.isnan(values)]
    if not values.size:
        return None
    return Spread(
        count=int(values.size),
        mean=float(values.mean()),
        quantiles={f"p{q * 100:g}": percentile(values, q) or 0.0 for q in _QUANTILES},
        with_failures={f"p{q * 100:g}": percentile(values, q, failures) for q in _QUANTILES},
        maximum=float(values.max()),
    )


def _mean(values: Floats) -> float | None:
    values = values[~np.isnan(values)]
    return float(values.mean()) if values.size else None


def _per_task(values: Floats, tasks: int) -> float | None:
    """Mean sum a task; absent unless every call told."""
    return float(values.sum()) / tasks if values.size and not np.isnan(values).any() else None


def _share(part: Floats, whole: Floats) -> float | None:
    known = ~np.isnan(part) & ~np.isnan(whole)
    total = float(whole[known].sum())
    return float(part[known].sum()) / total if total else None


def _busy(begins: Floats, ends: Floats, first: float, last: float) -> float | None:
    """Share of the time from the first task's start to the last one's end with at least one LLM call in flight."""
    known = ~np.isnan(begins) & ~np.isnan(ends)
    if not known.any() or last <= first:
        return None
    order = np.argsort(begins[known])
    begins, ends = begins[known][order], ends[known][order]
    reached = np.maximum.accumulate(ends)
    covered = float(ends[0] - begins[0]) + float(
        np.maximum(0.0, reached[1:] - np.maximum(begins[1:], reached[:-1])).sum()
    )
    return min(1.0, covered / (last - first))


def _summed(every: Iterable[dict[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for one in every:
        total.update(one)
    return dict(total.most_common())
