"""Two runs side by side: every headline with its change, the change's interval, and whether a difference is shown at
all.

Where both runs sent the same requests by the same schedule, request k of one is set against request k of the other
and both are drawn together (a paired bootstrap); else each is drawn by itself. What is not like for like is said, and
some of it forbids the comparison unless it is asked for anyway.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import pyarrow as pa

from relaymark.errors import ConfigError, TraceError
from relaymark.explain.legs import Floats
from relaymark.explain.path import interval
from relaymark.measure.summary import Summary
from relaymark.trace import RunRecord, read_run_record
from relaymark.trace.runfolder import SUMMARY_FILE, TRACE_FILE
from relaymark.trace.table import Trace

RESAMPLES = 400
_MOST = 20_000  # values that are drawn from
_BATCHES = 20
_COLUMNS = (
    "task_id", "stage", "warmup", "final", "kind", "outcome", "started", "sent", "first_token", "ended",
    "completion_tokens",
)  # fmt: skip
_FAIL_IF = re.compile(r"\s*([a-z_0-9]+)\s*([<>])\s*([+-]?\d+(?:\.\d+)?)\s*%\s*")
Verdict = Literal["better", "worse", "no difference shown"]


class Change(msgspec.Struct, kw_only=True, frozen=True):
    """One figure in both runs. ``change`` is B / A − 1 with its 95 % interval; ``None`` where A is 0."""

    metric: str
    unit: str  # ns | /s | share
    a: float
    b: float
    change: float | None
    low: float | None
    high: float | None
    lower_is_better: bool
    verdict: Verdict
    values: tuple[int, int]


class Level(msgspec.Struct, kw_only=True, frozen=True):
    """One load that both runs held."""

    load: str
    paired: bool
    changes: list[Change]


class Comparison(msgspec.Struct, kw_only=True, frozen=True):
    """Run A against run B."""

    a: str
    b: str
    levels: list[Level]
    unlike: list[str]  # what is not the same, in words
    forbidden: bool  # of a kind that makes the comparison one of different things


class Limit(msgspec.Struct, kw_only=True, frozen=True):
    """``ttft_p99 > +5%``."""

    text: str
    metric: str
    above: bool
    bound: float


def parse_limit(text: str) -> Limit:
    """Reads a limit on a change.

    Raises:
        ConfigError: It is none.
    """
    match = _FAIL_IF.fullmatch(text)
    if match is None:
        raise ConfigError(f"{text[:60]!r} is no limit on a change", where="--fail-if", mend="write 'ttft_p99 > +5%'")
    return Limit(text=text.strip(), metric=match[1], above=match[2] == ">", bound=float(match[3]) / 100)


def broken(limit: Limit, comparison: Comparison) -> list[str]:
    """Where a limit is broken: the change is beyond it, and a difference is shown at all.

    Raises:
        ConfigError: No level has that figure.
    """
    known = {change.metric for level in comparison.levels for change in level.changes}
    if limit.metric not in known:
        raise ConfigError(
            f"there is no figure {limit.metric!r} in both runs",
            where="--fail-if",
            mend=f"figures: {', '.join(sorted(known))}",
        )
    found: list[str] = []
    for level in comparison.levels:
        for change in level.changes:
            if change.metric != limit.metric or change.change is None:
                continue
            beyond = change.change > limit.bound if limit.above else change.change < limit.bound
            if beyond and change.verdict != "no difference shown":
                found.append(f"{level.load}: {change.metric} changed by {change.change:+.1%} ({limit.text})")
    return found


@dataclass(frozen=True)
class _Side:
    folder: Path
    record: RunRecord
    summary: Summary
    legs: dict[str, np.ndarray]


def compare_runs(a: Path, b: Path) -> Comparison:
    """Compares run B with run A.

    Raises:
        TraceError: A run cannot be read, or they held no load in common.
    """
    one, other = _side(a), _side(b)
    unlike, forbidden = _unlike(one, other)
    loads = {stage.load: stage for stage in other.summary.stages}
    paired = bool(one.record.schedule_sha256) and one.record.schedule_sha256 == other.record.schedule_sha256
    paired = paired and one.record.prompts_sha256 == other.record.prompts_sha256 != ""
    levels: list[Level] = []
    for stage in one.summary.stages:
        match = loads.get(stage.load)
        if match is not None:
            levels.append(_level(one, other, stage.index, match.index, stage.load, paired))
    if not levels:
        raise TraceError(
            "The runs held no load in common.",
            where=f"{a} and {b}",
            mend=f"{', '.join(s.load for s in one.summary.stages)} against {', '.join(loads)}",
        )
    return Comparison(a=a.name, b=b.name, levels=levels, unlike=unlike, forbidden=forbidden)


def _side(folder: Path) -> _Side:
    record = read_run_record(folder)
    summary = read_summary(folder)
    table = pa.Table.from_batches(list(Trace(folder / TRACE_FILE).batches(_COLUMNS)))
    return _Side(folder, record, summary, {name: _column(table, name) for name in _COLUMNS})


def read_summary(folder: Path) -> Summary:
    """The summary that lies in a run's folder.

    Raises:
        TraceError: There is none, or it is another version's.
    """
    try:
        return msgspec.json.decode((folder / SUMMARY_FILE).read_bytes(), type=Summary)
    except (OSError, msgspec.MsgspecError) as error:
        raise TraceError(
            f"The run's summary cannot be read: {error}"[:300],
            where=str(folder / SUMMARY_FILE),
            mend="Make it anew with `relaymark report`.",
        ) from None


def _column(table: pa.Table, name: str) -> np.ndarray:
    column: Any = table[name].combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.cast(pa.string())
    if pa.types.is_string(column.type):
        return np.array(column.to_pylist(), dtype=object)
    if pa.types.is_boolean(column.type):
        return column.to_numpy(zero_copy_only=False)
    return column.cast(pa.float64()).to_numpy(zero_copy_only=False)


def _unlike(one: _Side, other: _Side) -> tuple[list[str], bool]:
    """What is not the same; and whether it makes them different things altogether."""
    found: list[str] = []
    forbidden = False
    for what, mine, theirs, forbids in (
        ("model", one.record.model, other.record.model, True),
        ("prompts", one.record.prompts_sha256[:12], other.record.prompts_sha256[:12], True),
        ("API", one.record.dialect, other.record.dialect, True),
        ("loads", _words(one, "load"), _words(other, "load"), False),
        ("source of token counts", _words(one, "token_source"), _words(other, "token_source"), False),
        ("verdict", _verdict(one), _verdict(other), False),
        ("state", one.summary.status, other.summary.status, False),
        ("schedule", one.record.schedule_sha256[:12], other.record.schedule_sha256[:12], False),
        ("client machine", one.record.environment.get("cpu", ""), other.record.environment.get("cpu", ""), False),
        ("relaymark", one.record.version, other.record.version, False),
    ):
        if mine != theirs:
            found.append(f"{what}: {mine or 'unknown'} against {theirs or 'unknown'}")
            forbidden |= forbids
    for side, name in ((one, "A"), (other, "B")):
        if not side.summary.verdict.valid:
            found.append(f"{name} is INVALID: {side.summary.verdict.reasons[0].text}"[:300])
    return found, forbidden


def _words(side: _Side, field: str) -> str:
    return ", ".join(dict.fromkeys(str(getattr(stage, field)) for stage in side.summary.stages))


def _verdict(side: _Side) -> str:
    return "VALID" if side.summary.verdict.valid else "INVALID"


def _level(one: _Side, other: _Side, mine: int, theirs: int, load: str, paired: bool) -> Level:
    left, right = _values(one, mine), _values(other, theirs)
    changes: list[Change] = []
    for name in ("ttft", "tpot", "latency", "task_latency"):
        a, b = left.get(name), right.get(name)
        if a is None or b is None:
            continue
        together = paired and len(a[0]) == len(b[0]) and bool((a[0] == b[0]).all())
        for q in (0.5, 0.9, 0.99):
            if q == 0.99 and min(len(a[1]), len(b[1])) < 100:
                continue  # it would be the slowest one
            changes.append(_change(f"{name}_p{q * 100:g}", a[1], b[1], q, together=together))
    for name in ("request_rate", "output_token_rate"):
        a, b = left.get(name), right.get(name)
        if a is not None and b is not None:
            changes.append(_rates(name, a[1], b[1]))
    failed = _failures(one, other, mine, theirs)
    return Level(load=load, paired=paired, changes=[*changes, *([failed] if failed else [])])


def _values(side: _Side, stage: int) -> dict[str, tuple[Floats, Floats]]:
    """Figure → (task of each value, the values)."""
    legs = side.legs
    rows = (legs["stage"] == stage) & ~legs["warmup"].astype(bool) & legs["final"].astype(bool)
    good = rows & np.isin(legs["outcome"], ("ok", "ok_length"))
    calls = good & np.isin(legs["kind"], ("llm", "embed"))
    tokens = np.where(legs["completion_tokens"] > 1, legs["completion_tokens"] - 1, np.nan)
    found: dict[str, tuple[Floats, Floats]] = {}
    for name, values, chosen in (
        ("ttft", legs["first_token"] - legs["sent"], calls),
        ("tpot", (legs["ended"] - legs["first_token"]) / tokens, calls),
        ("latency", legs["ended"] - legs["sent"], calls),
        ("task_latency", legs["ended"] - legs["started"], good & (legs["kind"] == "task")),
    ):
        known = chosen & ~np.isnan(values)
        if known.sum() >= 5:
            order = np.argsort(legs["task_id"][known], kind="stable")
            found[name] = legs["task_id"][known][order], values[known][order]
    ended = legs["ended"][calls]
    if len(ended) >= _BATCHES:
        begin = np.nanmin(legs["sent"][rows])
        edges = np.linspace(begin, np.nanmax(ended), _BATCHES + 1)
        seconds = (edges[1] - edges[0]) / 1e9
        found["request_rate"] = edges, np.histogram(ended, edges)[0] / seconds
        counts = legs["completion_tokens"][calls]
        if not np.isnan(counts).any():
            found["output_token_rate"] = edges, np.histogram(ended, edges, weights=counts)[0] / seconds
    return found


def _change(name: str, a: Floats, b: Floats, q: float, *, together: bool) -> Change:
    def at(values: Floats) -> float:
        place = min(len(values) - 1, max(0, int(np.ceil(q * len(values))) - 1))
        return float(np.partition(values, place)[place])

    drawn = _drawn(a[:_MOST], b[:_MOST], at, together=together)
    return _judged(name, "ns", at(a), at(b), drawn, lower=True, values=(len(a), len(b)))


def _rates(name: str, a: Floats, b: Floats) -> Change:
    drawn = _drawn(a, b, lambda values: float(values.mean()), together=False)
    return _judged(name, "/s", float(a.mean()), float(b.mean()), drawn, lower=False, values=(len(a), len(b)))


def _failures(one: _Side, other: _Side, mine: int, theirs: int) -> Change | None:
    shares: list[Floats] = []
    for side, stage in ((one, mine), (other, theirs)):
        legs = side.legs
        rows = (legs["stage"] == stage) & ~legs["warmup"].astype(bool) & legs["final"].astype(bool)
        rows &= np.isin(legs["kind"], ("llm", "embed"))
        shares.append((~np.isin(legs["outcome"][rows], ("ok", "ok_length"))).astype(np.float64))
    a, b = shares
    if not len(a) or not len(b) or not (a.sum() + b.sum()):
        return None
    drawn = _drawn(a[:_MOST], b[:_MOST], lambda values: float(values.mean()) + 1e-9, together=False)
    return _judged(
        "failed_share", "share", float(a.mean()), float(b.mean()), drawn, lower=True, values=(len(a), len(b))
    )


def _drawn(a: Floats, b: Floats, of: Callable[[Floats], float], *, together: bool) -> Floats:
    rng = np.random.default_rng(0)
    ratios = np.empty(RESAMPLES)
    for number in range(RESAMPLES):
        left = rng.integers(0, len(a), len(a))
        right = left if together else rng.integers(0, len(b), len(b))
        base = of(a[left])
        ratios[number] = of(b[right]) / base - 1 if base else 0.0
    return ratios


def _judged(name: str, unit: str, a: float, b: float, drawn: Floats, *, lower: bool, values: tuple[int, int]) -> Change:
    low, high = interval(drawn)
    shown = low > 0 or high < 0
    worse = (low > 0) == lower
    verdict: Verdict = "no difference shown" if not shown else "worse" if worse else "better"
    return Change(
        metric=name,
        unit=unit,
        a=a,
        b=b,
        change=b / a - 1 if a else None,
        low=low if a else None,
        high=high if a else None,
        lower_is_better=lower,
        verdict=verdict,
        values=values,
    )


def compare_all(runs: Sequence[Path]) -> list[Comparison]:
    """Every run against the first."""
    return [compare_runs(runs[0], other) for other in runs[1:]]
