"""The short forms of the command line, each expanded to the mapping that a benchmark file would hold."""

from __future__ import annotations

import re
from typing import Any, get_args

from relaymark.bench.spec import LengthSpec, LoadKind, SloSpec
from relaymark.errors import ConfigError
from relaymark.units import parse_duration, parse_rate

LOAD_FORMS = (
    "single, concurrency:8, poisson:4/s, constant:4/s, gamma:4/s,burstiness=0.5, offline, ramp:1..16/s "
    "or step:1,2,4/s@10s"
)
PROMPT_FORMS = "FILE.jsonl (or .csv, .parquet, .txt) or synthetic:isl=512±64,osl=128"
SLO_METRICS = (
    "ttft", "ttfat", "tpot", "itl", "latency", "ttft_scheduled", "latency_scheduled", "stall",
)  # fmt: skip
SLO_FORMS = f"METRIC_pQQ=DURATION, such as ttft_p99=500ms; metrics: {', '.join(SLO_METRICS)}"

_SLO = re.compile(r"([a-z_]+)_p([0-9]{1,2}(?:\.[0-9]{1,4})?)", re.ASCII)
_LENGTH = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(?:(?:±|\+-|\+/-)\s*([0-9]+(?:\.[0-9]+)?))?", re.ASCII)


def parse_load(text: str, *, where: str = "") -> dict[str, Any]:
    """Return the mapping that a load's short form stands for: ``poisson:4/s`` → kind and rate.

    Forms: ``single``; ``concurrency:N``; ``poisson:RATE``; ``constant:RATE``; ``gamma:RATE,burstiness=B``;
    ``offline``; ``ramp:A..B/s`` (linear over the duration); ``step:A,B,C/s@HOLD`` (each rate held for HOLD;
    without ``@HOLD`` the steps share the duration evenly). Ramp, step: ``,arrivals=constant`` may follow.

    Raises:
        ConfigError: not one of these forms.
    """
    kind, colon, rest = text.strip().partition(":")
    kind = kind.strip()
    if kind not in get_args(LoadKind):
        raise ConfigError(f"{text!r} is not a load", where=where, mend=f"use {LOAD_FORMS}")
    if kind in ("single", "offline"):
        if colon:
            raise ConfigError(f"{kind} takes nothing after it, got {text!r}", where=where, mend=f"write {kind}")
        return {"kind": kind}
    parts = [part.strip() for part in rest.split(",")]
    plain = [part for part in parts if "=" not in part]
    load: dict[str, Any] = {"kind": kind}
    for part in parts:
        if "=" in part:
            key, _, value = part.partition("=")
            load[key.strip()] = value.strip()
    if not all(plain) or not plain or (len(plain) > 1 and kind != "step"):
        raise ConfigError(f"{text!r} is not a {kind} load", where=where, mend=f"use {LOAD_FORMS}")
    if kind == "concurrency":
        load["concurrency"] = plain[0]
    elif kind == "ramp":
        load |= _ramp(plain[0], where)
    elif kind == "step":
        load |= _step(plain, where)
    else:
        load["rate"] = plain[0]
    return load


def _ramp(text: str, where: str) -> dict[str, Any]:
    start, dots, end = text.partition("..")
    unit = end.partition("/")[2]
    if not dots:
        raise ConfigError(f"ramp needs two rates, got {text!r}", where=where, mend="write ramp:1..16/s")
    start = start if "/" in start or not unit else f"{start}/{unit}"
    return {"start": start, "end": end}


def _step(parts: list[str], where: str) -> dict[str, Any]:
    last, at, hold = parts[-1].partition("@")
    unit = last.partition("/")[2]
    rates = [*parts[:-1], last]
    rates = [rate if "/" in rate or not unit else f"{rate}/{unit}" for rate in rates]
    for rate in rates:
        parse_rate(rate, where=where)
    return {"rates": rates} | ({"hold": hold} if at else {})


def parse_prompts(text: str, *, where: str = "") -> dict[str, Any]:
    """Return the mapping that a prompts' short form stands for: a file, or ``synthetic:isl=512±64,osl=128``.

    Raises:
        ConfigError: a synthetic form with a part that isn't key=value.
    """
    text = text.strip()
    kind, colon, rest = text.partition(":")
    if text == "builtin":
        return {"builtin": True}
    if kind != "synthetic":
        if not text:
            raise ConfigError("no prompts are named", where=where, mend=f"use {PROMPT_FORMS}")
        return {"file": text}
    synthetic: dict[str, Any] = {}
    for part in rest.split(",") if colon else []:
        key, equals, value = part.partition("=")
        if not equals or not value.strip():
            raise ConfigError(f"{part!r} in {text!r} is not key=value", where=where, mend=f"use {PROMPT_FORMS}")
        synthetic[key.strip()] = value.strip()
    return {"synthetic": synthetic}


def parse_length(text: str, *, where: str = "") -> LengthSpec:
    """Return ``512`` or ``512±64`` (also ``512+-64``) as mean and standard deviation, in approximate tokens.

    Raises:
        ConfigError: not a length, or a mean below 1.
    """
    match = _LENGTH.fullmatch(text.strip())
    mend = "write a mean, or mean±deviation, such as 512 or 512±64"
    if not match:
        raise ConfigError(f"{text!r} is not a length in tokens", where=where, mend=mend)
    length = LengthSpec(mean=float(match[1]), deviation=float(match[2] or 0))
    if not 1 <= length.mean <= 10_000_000 or length.deviation > 10_000_000:
        raise ConfigError(f"a length must be 1 to 10,000,000 tokens, got {text!r}", where=where, mend=mend)
    return length


def parse_slo(text: str, *, where: str = "") -> SloSpec:
    """Return ``ttft_p99=500ms`` as a bound.

    Raises:
        ConfigError: unknown metric, not a percentile, or not a duration.
    """
    name, equals, bound = text.partition("=")
    if not equals:
        raise ConfigError(f"{text!r} is not an SLO", where=where, mend=f"write {SLO_FORMS}")
    return slo_spec(name.strip(), parse_duration(bound, where=where), where=where)


def slo_spec(name: str, bound: int, *, where: str = "") -> SloSpec:
    """Return the SLO called ``name`` (``ttft_p99``, ``tpot_p99.9``) with its bound in ns.

    Raises:
        ConfigError: unknown metric, not a percentile, or a bound of 0.
    """
    match = _SLO.fullmatch(name)
    if not match or match[1] not in SLO_METRICS or float(match[2]) <= 0:
        raise ConfigError(f"{name!r} is not an SLO metric", where=where, mend=f"write {SLO_FORMS}")
    if bound <= 0:
        raise ConfigError(f"the bound of {name} must be above 0", where=where, mend=f"write {SLO_FORMS}")
    # round: 99.9/100 is 0.9990000000000001 in binary floats
    return SloSpec(metric=match[1], q=round(float(match[2]) / 100, 8), bound=bound, name=name)
