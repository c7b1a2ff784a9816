"""What a request's latency is made of: a base, so much for each new prompt token, so much for each token of the answer.

Fitted by least squares over the run's own requests: latency = base + new · prefill + tokens · TPOT. From it: what
thinking costs (five times the tokens make nearly five times the latency where decoding dominates), how latency grows
with the context, and what a prefix cache saved or would save.
"""

from __future__ import annotations

import msgspec
import numpy as np

from relaymark.explain.legs import NONE, Floats, Run
from relaymark.explain.path import interval

_FEWEST = 12
_RESAMPLES = 200


class TurnModel(msgspec.Struct, kw_only=True, frozen=True):
    """Times are ns. Intervals are 95 %, bootstrap over tasks."""

    requests: int
    base: float
    base_low: float
    base_high: float
    prefill: float | None  # a new prompt token; None: the prompts do not differ, or nobody counted
    prefill_low: float | None
    prefill_high: float | None
    tpot: float  # a token of the answer
    tpot_low: float
    tpot_high: float
    explained: float  # R²: share of the variance
    five_times: float  # latency with five times the tokens / now
    five_low: float
    five_high: float
    saved: float | None  # by the cache, a request: cached tokens × prefill
    would_save: float | None  # had nothing been processed twice: what is left to be saved


def turn_model(run: Run) -> TurnModel | None:
    """Fits it; ``None`` where there are too few requests, or their tokens were not counted."""
    legs = run.legs
    llm = np.isin(legs.name, [place for place, kind in enumerate(legs.kinds) if kind == "llm"])
    whole = legs.names[0] != "first token"
    if not whole:
        llm &= legs.name == 0
    chosen = llm & (legs.completion_tokens != NONE)
    if chosen.sum() < _FEWEST:
        return None
    task = legs.task[chosen]
    latency = (legs.ended - legs.began)[chosen].astype(np.float64)
    if not whole:  # both halves of the request together
        latency = run.tasks.latency[task].astype(np.float64)
    tokens = legs.completion_tokens[chosen].astype(np.float64)
    prompt = _known(legs.prompt_tokens[chosen])
    cached = _known(legs.cached_tokens[chosen])
    new = prompt if cached is None or prompt is None else prompt - cached
    columns = [np.ones(len(latency)), tokens]
    if new is not None and np.ptp(new) > 0.05 * max(1.0, float(new.mean())):
        columns.append(new)
    if np.ptp(tokens) == 0:
        return None
    matrix = np.stack(columns, 1)
    fitted = _fit(matrix, latency)
    drawn = _drawn(matrix, latency, task)
    residual = float(((latency - matrix @ fitted) ** 2).sum())
    spread = float(((latency - latency.mean()) ** 2).sum())
    base, tpot = float(fitted[0]), float(fitted[1])
    prefill = float(fitted[2]) if len(columns) > 2 else None
    mean = float(latency.mean())
    low, high = interval(drawn[:, 1])
    base_bounds = interval(drawn[:, 0])
    share = float(tokens.mean()) / mean
    bounds = interval(drawn[:, 2]) if prefill is not None else (None, None)
    return TurnModel(
        requests=len(latency),
        base=base,
        base_low=base_bounds[0],
        base_high=base_bounds[1],
        prefill=prefill,
        prefill_low=bounds[0],
        prefill_high=bounds[1],
        tpot=tpot,
        tpot_low=low,
        tpot_high=high,
        explained=1 - residual / spread if spread else 1.0,
        five_times=1 + 4 * tpot * share,
        five_low=1 + 4 * low * share,
        five_high=1 + 4 * high * share,
        saved=float(cached.mean()) * prefill if cached is not None and prefill is not None else None,
        would_save=_repeated(run, chosen, new) * prefill if new is not None and prefill is not None else None,
    )


def _known(values: np.ndarray) -> Floats | None:
    return None if (values == NONE).any() else values.astype(np.float64)


def _fit(matrix: Floats, latency: Floats) -> Floats:
    return np.linalg.lstsq(matrix, latency, rcond=None)[0].astype(np.float64)


def _drawn(matrix: Floats, latency: Floats, task: np.ndarray) -> Floats:
    """Fits of requests drawn anew by task, shape (resamples, columns), by each task's normal equations."""
    _, place = np.unique(task, return_inverse=True)
    count, width = int(place.max()) + 1, matrix.shape[1]
    grams = np.zeros((count, width, width))
    sides = np.zeros((count, width))
    for row in range(width):
        sides[:, row] = np.bincount(place, matrix[:, row] * latency, count)
        for column in range(width):
            grams[:, row, column] = np.bincount(place, matrix[:, row] * matrix[:, column], count)
    fits: list[Floats] = []
    for seed in range(_RESAMPLES):
        weight = np.bincount(np.random.default_rng(seed).integers(0, count, count), minlength=count).astype(np.float64)
        gram, side = np.tensordot(weight, grams, 1), weight @ sides
        fits.append(np.linalg.lstsq(gram, side, rcond=None)[0].astype(np.float64))
    return np.array(fits)


def _repeated(run: Run, chosen: np.ndarray, new: Floats) -> float:
    """Prompt tokens, a request, that were processed although the request before in the same task had them."""
    legs = run.legs
    prompt = legs.prompt_tokens[chosen].astype(np.float64)
    task, began = legs.task[chosen], legs.began[chosen]
    order = np.lexsort((began, task))
    same = task[order][1:] == task[order][:-1]
    if not same.any():
        return 0.0
    needed = np.maximum(0.0, prompt[order][1:] - prompt[order][:-1])
    wasted = np.maximum(0.0, new[order][1:] - needed)[same]
    return float(wasted.sum()) / len(new)
