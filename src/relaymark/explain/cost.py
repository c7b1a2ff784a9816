"""What a run cost: money by the hour or the token, energy from samples; for each token, each task, each task that
counts.

A task counts when it ended well and met every service-level objective; and where a run's accuracy gate failed, none
does. Nothing is assumed: a figure whose price or samples were not given is absent, and every source is named.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from relaymark.errors import ConfigError
from relaymark.measure.summary import Stage

_JOULES_PER_KWH = 3.6e6


class Prices(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A price file. Any of: machines by the hour, an API's tokens by the million, electricity."""

    currency: str = "USD"
    source: str = ""  # where the prices are from, and of when
    per_hour: dict[str, float] = {}  # accelerator or node → price
    machines: dict[str, float] = {}  # the same names → how many the run used
    input_per_million: float | None = None
    cached_per_million: float | None = None
    output_per_million: float | None = None
    per_kwh: float | None = None


class Power(msgspec.Struct, kw_only=True, frozen=True):
    """Mean power over the run."""

    watts: float
    source: str
    samples: int


class Cost(msgspec.Struct, kw_only=True, frozen=True):
    """What one load level cost. Money in ``currency``, energy in joules; absent is absent."""

    load: str
    currency: str
    seconds: float
    tasks: int
    counting: int  # tasks that ended well, met every objective, and whose run passed its gate
    output_tokens: int | None
    total: float | None
    per_million_output: float | None
    per_million_tokens: float | None
    per_task: float | None
    per_counting_task: float | None
    joules: float | None
    joules_per_output_token: float | None
    joules_per_task: float | None
    joules_per_counting_task: float | None
    low: float | None = None  # 95 % interval of the money per million output tokens, from the rate's batches
    high: float | None = None
    sources: list[str] = []
    notes: list[str] = []


def read_prices(path: Path) -> Prices:
    """Reads a price file (YAML).

    Raises:
        ConfigError: It cannot be read, or says something that is not known.
    """
    from ruamel.yaml import YAML, YAMLError  # noqa: PLC0415 - 20 ms that only this needs

    try:
        told: Any = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
        prices = msgspec.convert(told or {}, Prices)
    except OSError as error:
        raise ConfigError(f"the price file can't be read: {error.strerror}", where=str(path)) from None
    except (YAMLError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise ConfigError(f"the price file can't be used: {str(error)[:300]}", where=str(path)) from None
    numbers = [*prices.per_hour.values(), *prices.machines.values()]
    numbers += [one for one in (prices.input_per_million, prices.output_per_million, prices.per_kwh) if one is not None]
    if any(not 0 <= one < 1e12 for one in numbers):
        raise ConfigError("prices and numbers of machines must be 0 or more", where=str(path))
    if missing := sorted(set(prices.machines) - set(prices.per_hour)):
        raise ConfigError(f"there is no price per hour of {', '.join(missing)}", where=str(path))
    return prices


def read_power(path: Path, began: float, ended: float) -> Power:
    """Mean power between two times (seconds since 1970) from a CSV with the columns ``time`` and ``watts``.

    Each sample holds until the next one.

    Raises:
        ConfigError: The file cannot be read, or has no samples in that time.
    """
    times: list[float] = []
    watts: list[float] = []
    try:
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                times.append(float(row["time"]))
                watts.append(float(row["watts"]))
    except OSError as error:
        raise ConfigError(f"the power samples can't be read: {error.strerror}", where=str(path)) from None
    except (KeyError, TypeError, ValueError, UnicodeDecodeError, csv.Error) as error:
        raise ConfigError(
            f"these are no power samples: {error}", where=str(path), mend="columns: time (s since 1970), watts"
        ) from None
    order = np.argsort(times)
    at, level = np.array(times)[order], np.array(watts)[order]
    inside = (at >= began) & (at <= ended)
    if not inside.any():
        raise ConfigError("no sample falls into the run", where=str(path), mend="time is in seconds since 1970, UTC")
    before = np.flatnonzero(at < began)
    first = [(began, float(level[before[-1]]))] if len(before) else []
    points = [*first, *zip(at[inside].tolist(), level[inside].tolist(), strict=True)]
    stops = [*(time for time, _ in points[1:]), ended]
    spans = [max(0.0, stop - start) for (start, _), stop in zip(points, stops, strict=True)]
    joules = sum(span * value for span, (_, value) in zip(spans, points, strict=True))
    covered = sum(spans)
    mean = joules / covered if covered else float(level[inside].mean())
    return Power(watts=mean, source=f"{int(inside.sum())} samples of {path.name}", samples=int(inside.sum()))


def cost_of(stage: Stage, prices: Prices | None, power: Power | None, *, gate: bool | None = None) -> Cost:
    """What one load level cost.

    Args:
        stage: Its figures.
        prices: Of machines, tokens, electricity.
        power: Mean over the run.
        gate: Whether the run's accuracy gate was passed; ``None`` where there is none.
    """
    seconds = stage.duration / 1e9
    tasks = stage.tasks.tasks if stage.tasks is not None else stage.requests
    if stage.tasks is not None:
        good = stage.tasks.tasks - stage.tasks.failed
    else:
        good = sum(count for word, count in stage.outcomes.items() if word in ("ok", "ok_length"))
    counting = good if stage.goodput is None else round(stage.goodput * seconds)
    counting = 0 if gate is False else counting
    currency = prices.currency if prices is not None else ""
    joules = None if power is None else power.watts * seconds
    total, notes = _money(stage, prices, joules, seconds)
    output = stage.completion_tokens
    every = None if output is None or stage.prompt_tokens is None else output + stage.prompt_tokens
    if gate is False:
        notes.append("The accuracy gate failed: no task counts.")
    if stage.goodput is None:
        notes.append("There were no objectives: every task that ended well counts.")
    low, high = _interval(stage, total)
    sources = [prices.source] if prices is not None and prices.source else []
    sources += [power.source] if power is not None else []
    return Cost(
        load=stage.load,
        currency=currency,
        seconds=seconds,
        tasks=tasks,
        counting=counting,
        output_tokens=output,
        total=total,
        per_million_output=_per(total, output, 1e6),
        per_million_tokens=_per(total, every, 1e6),
        per_task=_per(total, tasks),
        per_counting_task=_per(total, counting),
        joules=joules,
        joules_per_output_token=_per(joules, output),
        joules_per_task=_per(joules, tasks),
        joules_per_counting_task=_per(joules, counting),
        low=low,
        high=high,
        sources=sources,
        notes=notes,
    )


def _money(stage: Stage, prices: Prices | None, joules: float | None, seconds: float) -> tuple[float | None, list[str]]:
    if prices is None:
        return None, []
    total = 0.0
    known = False
    notes: list[str] = []
    for name, count in prices.machines.items():
        total += prices.per_hour[name] * count * seconds / 3600
        known = True
    if prices.output_per_million is not None or prices.input_per_million is not None:
        prompt, output = stage.prompt_tokens, stage.completion_tokens
        if prompt is None or output is None:
            notes.append("The server counted no tokens, so their price is in no figure.")
        else:
            cached = (stage.cached_tokens or 0) if prices.cached_per_million is not None else 0
            total += (prompt - cached) * (prices.input_per_million or 0) / 1e6
            total += cached * (prices.cached_per_million or 0) / 1e6 + output * (prices.output_per_million or 0) / 1e6
            known = True
    if prices.per_kwh is not None and joules is not None:
        total += joules / _JOULES_PER_KWH * prices.per_kwh
        known = True
    return (total if known else None), notes


def _per(whole: float | None, count: int | None, of: float = 1.0) -> float | None:
    return None if whole is None or not count else whole / count * of


def _interval(stage: Stage, total: float | None) -> tuple[float | None, float | None]:
    """From the token rate over the run's second halves of time: how much the same hour would have given."""
    if total is None or stage.series is None or not stage.completion_tokens:
        return None, None
    rates = np.array(stage.series.tokens, np.float64)
    if len(rates) < 8 or not rates.mean():
        return None, None
    rng = np.random.default_rng(0)
    means = np.array([rng.choice(rates, len(rates)).mean() for _ in range(500)]) / rates.mean()
    low, high = np.quantile(total / stage.completion_tokens * 1e6 / means, [0.025, 0.975])
    return float(low), float(high)
