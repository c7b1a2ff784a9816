"""A run of one's own among published rows, only where the two can be compared."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from relaymark.published.accelerators import family_of
from relaymark.published.accuracy import TOKENS_PER_SAMPLE
from relaymark.published.likeness import spread_of
from relaymark.published.own import OwnRun
from relaymark.published.rounds import round_order
from relaymark.published.row import Row, rank_key

_TOKENS = 0.1
"""How far a run's tokens per sample may be from the published ones: MLPerf's own bound for the same work is 10 %."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Where a result stands among rows, best first. ``place`` 1 is better than all of them."""

    per: str
    value: float
    unit: str
    place: int
    rows: list[Row]


@dataclass(frozen=True, slots=True)
class Placement:
    """A run and the rows it was held against. No ``rankings`` where it was refused."""

    run: OwnRun
    benchmark: str
    scenario: str
    round: str
    rows: list[Row]  # comparable ones, best first
    rankings: list[Ranking]
    alike: list[Row]  # of the same accelerators, as many of them
    refused: list[str]
    unlike: list[str]  # what is not equal, or not known to be


def place(
    run: OwnRun, rows: Sequence[Row], *, round_name: str = "", division: str = "closed", anyway: bool = False
) -> Placement:
    """Finds a run's place.

    Args:
        run: The run.
        rows: Published rows of any kind; those of another benchmark, scenario, division or unit are left out.
        round_name: Whose rows; by default the latest round that has comparable ones.
        division: ``closed`` or ``open``.
        anyway: Rank it although something forbids it; never without a comparable row or a result in its unit.
    """
    refused: list[str] = []
    if not run.valid:
        refused.append(f"the run is INVALID: {' '.join(run.reasons) or 'it did not end'}")
    if not run.benchmarks:
        refused.append(f"the model {run.model!r} is that of no published benchmark")
    elif len(run.benchmarks) > 1:
        refused.append(
            f"{' and '.join(run.benchmarks)} both run this model and differ in the accuracy asked for: "
            "name one with --benchmark"
        )
    benchmark = run.benchmarks[-1] if run.benchmarks else ""
    alike = [r for r in rows if r.key == (benchmark, run.scenario) and r.division == division and r.value is not None]
    rounds = sorted({row.round for row in alike}, key=round_order)
    chosen = round_name or (rounds[-1] if rounds else "")
    alike = [row for row in alike if row.round == chosen]
    same_unit = [row for row in alike if row.unit in run.results]
    if not alike:
        where = f" of {chosen}" if chosen else ""
        refused.append(f"no {division} row{where} has {benchmark or 'this model'} {run.scenario}")
    elif not same_unit:
        units = sorted({row.unit for row in alike})
        refused.append(f"the rows are in {', '.join(units)}, which the run does not tell: {_why(units)}")
    refused += [f"the scenario's rules are not met: {each}" for each in run.unmet]
    refused += _other_work(run, same_unit)
    if not (anyway or not refused) or not same_unit or not run.benchmarks:
        return Placement(run, benchmark, run.scenario, chosen, [], [], [], refused, _unlike(run, same_unit))
    # One unit: where a scenario has rows in two, the one that more of them have.
    unit = max({row.unit for row in same_unit}, key=lambda each: sum(row.unit == each for row in same_unit))
    ranked = sorted((row for row in same_unit if row.unit == unit), key=lambda row: rank_key(row, "system"))
    rankings = [_ranking("system", run.results[unit], unit, ranked)]
    if run.accelerators and ranked[0].higher_is_better:
        counted = [row for row in ranked if row.per("accelerator") is not None]
        each = run.results[unit] / run.accelerators
        rankings.append(_ranking("accelerator", each, f"{unit} an accelerator", counted))
    family = family_of(run.accelerator) or run.accelerator
    same = [row for row in ranked if family and row.accelerator == family and row.accelerators == run.accelerators]
    return Placement(run, benchmark, run.scenario, chosen, ranked, rankings, same, refused, _unlike(run, ranked))


def _ranking(per: str, value: float, unit: str, rows: Sequence[Row]) -> Ranking:
    ordered = sorted(rows, key=lambda row: rank_key(row, per))
    higher = ordered[0].higher_is_better if ordered else True
    own = -value if higher else value
    better = sum(rank_key(row, per) < own for row in ordered)
    return Ranking(per, value, unit, better + 1, ordered)


def _other_work(run: OwnRun, rows: Sequence[Row]) -> list[str]:
    """A refusal where answers are so much longer or shorter than the published ones that it is other work."""
    published = sorted(row.accuracy[TOKENS_PER_SAMPLE] for row in rows if TOKENS_PER_SAMPLE in row.accuracy)
    if not published or run.tokens_per_sample is None:
        return []
    low, high = published[0] * (1 - _TOKENS), published[-1] * (1 + _TOKENS)
    if low <= run.tokens_per_sample <= high:
        return []
    return [
        f"the work is another: {run.tokens_per_sample:.1f} tokens a sample, published {published[0]:.1f} to "
        f"{published[-1]:.1f} (±10 %)"
    ]


def _unlike(run: OwnRun, rows: Sequence[Row]) -> list[str]:
    told = ["submission: published rows were reviewed and their accuracy checked, this run was not"]
    told.append(f"date: {run.started_at[:10] or 'not told'} / the round's")
    told += [f"not checked: {each}" for each in run.unchecked]
    if rows and run.rules and run.rules != rows[0].round:
        told.append(f"rules: held to those of {run.rules}, the rows are of {rows[0].round}")
    if run.told:
        told.append(f"model: {run.model!r}, which you say is the benchmark's")
    scale = "not told" if run.accelerators is None else f"{run.accelerators} × {run.accelerator or 'an unnamed one'}"
    counts = [row.accelerators for row in rows if row.accelerators]
    told.append(f"scale: {scale} / {min(counts)} to {max(counts)} accelerators" if counts else f"scale: {scale}")
    told.append(f"precision: {run.precision or 'not told'} / {_values(rows, 'precision') or 'not told'}")
    if run.framework:
        told.append(f"framework: {run.framework} / theirs")
    if availability := _values(rows, "availability"):
        told.append(f"availability: not told / {availability}")
    return told


def _values(rows: Sequence[Row], what: str) -> str:
    spread = dict(spread_of(rows))
    values = spread.get(what) or ([getattr(rows[0], what)] if rows else [])
    shown = [re.sub(r"\s+", " ", each) for each in values if each]
    return ", ".join(shown[:4]) + (f" and {len(shown) - 4} more" if len(shown) > 4 else "")


def _why(units: Sequence[str]) -> str:
    if "tokens/s" in units:
        return "the server's usage did not count tokens"
    if "ms" in units:
        return "it has too few samples for the percentile, or the rules have no limits for it"
    return "it was another kind of work"
