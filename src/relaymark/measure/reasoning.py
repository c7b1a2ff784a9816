"""What reasoning costs: the same turns with it and without, and whether the plain model of latency explains it.

The plain model is TTFT + tokens × TPOT: a model that thinks five times as many tokens is then nearly five times as
slow, whatever else it does. Where the measured ratio is another, prefill, batching or speculation differ between the
two.
"""

from __future__ import annotations

import numpy as np

from relaymark.measure.percentiles import Floats
from relaymark.measure.summary import Reasoning
from relaymark.measure.turns import Column, turn_columns
from relaymark.trace.table import Trace

_RESAMPLES = 1_000


def compare_reasoning(trace: Trace, pairs: list[tuple[int, int]]) -> list[Reasoning]:
    """For each pair of stages (off, on) the ratio of their mean latencies, over the turns that both answered."""
    legs = turn_columns(trace)
    found: list[Reasoning] = []
    for off, on in pairs:
        one = _pair(legs, off, on)
        if one is not None:
            found.append(one)
    return found


def _pair(legs: dict[str, Column], off: int, on: int) -> Reasoning | None:
    rows: list[dict[tuple[str, float], int]] = []
    for stage in (off, on):
        good = (legs["stage"] == stage) & np.isin(legs["outcome"], ("ok", "ok_length"))
        rows.append(
            {
                (session, turn): int(place)
                for session, turn, place in zip(
                    legs["session_id"][good], legs["turn"][good], np.flatnonzero(good), strict=True
                )
            }
        )
    both = sorted(rows[0].keys() & rows[1].keys())
    if not both:
        return None
    without = np.array([rows[0][key] for key in both])
    with_ = np.array([rows[1][key] for key in both])
    latency = legs["ended"] - legs["sent"]
    tokens = legs["completion_tokens"]
    sessions = np.unique([session for session, _ in both], return_inverse=True)[1]
    low, high = _interval(latency[with_], latency[without], sessions)
    said_on, said_off = _mean(tokens[with_]), _mean(tokens[without])
    modelled = _ratio(_modelled(legs, with_), _modelled(legs, without))
    return Reasoning(
        off=off,
        on=on,
        turns=len(both),
        latency_off=float(latency[without].mean()),
        latency_on=float(latency[with_].mean()),
        ratio=float(latency[with_].mean() / latency[without].mean()),
        ratio_low=low,
        ratio_high=high,
        tokens_off=said_off,
        tokens_on=said_on,
        tokens_ratio=_ratio(said_on, said_off),
        modelled_ratio=modelled,
    )


def _modelled(legs: dict[str, Column], rows: Column) -> float | None:
    """TTFT + tokens × TPOT with the means of these turns."""
    tokens = legs["completion_tokens"][rows]
    ttft = (legs["first_token"] - legs["sent"])[rows]
    some = tokens > 1
    tpot = _mean(((legs["ended"] - legs["first_token"])[rows][some]) / (tokens[some] - 1))
    first, count = _mean(ttft), _mean(tokens)
    return None if first is None or count is None or tpot is None else first + (count - 1) * tpot


def _interval(on: Floats, off: Floats, sessions: Column) -> tuple[float | None, float | None]:
    """95 % interval of the ratio of means; both sides of a conversation are drawn together."""
    count = int(sessions.max()) + 1
    if count < 2:
        return None, None
    sums = np.bincount(sessions, on), np.bincount(sessions, off)
    draws = np.random.default_rng(0).integers(0, count, (_RESAMPLES, count))
    low, high = np.quantile(sums[0][draws].sum(1) / sums[1][draws].sum(1), [0.025, 0.975])
    return float(low), float(high)


def _mean(values: Floats) -> float | None:
    values = values[~np.isnan(values)]
    return float(values.mean()) if values.size else None


def _ratio(above: float | None, below: float | None) -> float | None:
    return above / below if above is not None and below else None
