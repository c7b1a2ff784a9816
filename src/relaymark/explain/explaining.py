"""Everything that can be said of one load level of a run, put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np

from relaymark.errors import ConfigError, TraceError
from relaymark.explain.anatomy import Anatomy, anatomy_of
from relaymark.explain.legs import Run, read_run
from relaymark.explain.path import OWN, CriticalPath, critical_path
from relaymark.explain.replay import Server, model_of, predict
from relaymark.explain.turnmodel import TurnModel, turn_model
from relaymark.explain.waterfall import Waterfall, waterfalls
from relaymark.explain.whatif import (
    Prediction,
    Split,
    amdahl,
    best_split,
    most_valuable,
    parse_factors,
    stages_named,
)
from relaymark.trace import StageRecord, read_run_record

EXPLAIN_FILE = "explain.json"


class Asked(msgspec.Struct, kw_only=True, frozen=True):
    """What-ifs that are asked for; see ``relaymark explain``."""

    faster: tuple[str, ...] = ()
    infinite: tuple[str, ...] = ()
    balanced: float | None = None
    budget: float | None = None
    costs: Mapping[str, float] = {}


class Explanation(msgspec.Struct, kw_only=True, frozen=True):
    """One load level explained. Times are ns."""

    run_id: str
    name: str
    load: str
    loaded: bool  # more than one task at a time: predictions are replays
    anatomy: Anatomy
    predictions: list[Prediction]  # what was asked for
    valuable: list[Prediction]  # twice as fast, each stage alone, the best first
    split: Split | None
    servers: list[Server]
    replay_error: float | None  # mean latency of the replayed run / the measured one − 1
    turns: TurnModel | None
    waterfalls: list[Waterfall]
    notes: list[str] = []


def explain_run(folder: Path, asked: Asked, stage: int | None = None) -> Explanation:
    """Explains one load level of a run: the one that is named, else the last.

    Raises:
        ConfigError: What is asked for names no stage of the pipeline.
        TraceError: The run cannot be read, or no task ended well.
    """
    record = read_run_record(folder)
    level = _level(record.stages, stage, folder)
    run = read_run(folder, level.index)
    path = critical_path(run)
    slots = 0 if level.open_loop else level.slots or 1
    loaded = _loaded(run)
    wanted = _wanted(asked, path)
    notes: list[str] = []
    predictions: list[Prediction] = []
    servers: list[Server] = []
    error: float | None = None
    if loaded:
        model = model_of(run, slots)
        servers, error = model.servers, model.error
        predictions = [predict(model, factors, what) for what, factors in wanted]
        if len(run.tasks) > len(model.begins):
            notes.append(f"The first {len(model.begins):,} tasks were replayed, of {len(run.tasks):,}.")
        valuable = [predict(model, {name: 2.0}, f"{name} 2 × faster") for name in path.names if name != OWN]
        valuable.sort(key=lambda one: -one.speedup)
    else:
        predictions = [amdahl(path, factors, what) for what, factors in wanted]
        valuable = most_valuable(path)
    split = None
    if asked.budget is not None:
        costs = {name: cost for word, cost in asked.costs.items() for name in stages_named(word, path)}
        split = best_split(path, costs or {name: 1.0 for name in path.names if name != OWN}, asked.budget)
        if loaded:
            notes.append("The best split is by shares of the critical path; under load a queue may make it another.")
    return Explanation(
        run_id=record.run_id,
        name=record.name,
        load=level.load,
        loaded=loaded,
        anatomy=anatomy_of(run, path),
        predictions=predictions,
        valuable=valuable,
        split=split,
        servers=servers,
        replay_error=error,
        turns=turn_model(run),
        waterfalls=waterfalls(run, path),
        notes=notes,
    )


def _level(stages: Sequence[StageRecord], wanted: int | None, folder: Path) -> StageRecord:
    ran = [stage for stage in stages if not stage.warmup and stage.started_ns is not None]
    if not ran:
        raise TraceError("No load level of the run was begun.", where=str(folder))
    if wanted is None:
        return ran[-1]
    for stage in ran:
        if stage.index == wanted:
            return stage
    known = ", ".join(f"{stage.index} ({stage.name})" for stage in ran)
    raise ConfigError(f"the run has no load level {wanted}", where="--level", mend=f"levels: {known}")


def _loaded(run: Run) -> bool:
    """Whether tasks ever ran beside one another."""
    order = np.argsort(run.tasks.began)
    return bool((run.tasks.began[order][1:] < np.maximum.accumulate(run.tasks.ended[order])[:-1]).any())


def _wanted(asked: Asked, path: CriticalPath) -> list[tuple[str, dict[str, float]]]:
    """Every what-if as its name and the factors of the stages."""
    wanted: list[tuple[str, dict[str, float]]] = []
    for word in asked.faster:
        name, _, factor = word.partition("=")
        wanted.append((f"{name.strip()} {factor.strip()} × faster", parse_factors([word], path)))
    if len(asked.faster) > 1:
        wanted.append(("all of these", parse_factors(asked.faster, path)))
    for word in asked.infinite:
        wanted.append((f"{word} at no time", {name: float("inf") for name in stages_named(word, path)}))
    if asked.balanced is not None:
        if not asked.balanced > 0:
            raise ConfigError("the factor must be above 0", where="--balanced", mend="e.g. --balanced 2")
        factors = {name: asked.balanced for name in path.names if name != OWN}
        wanted.append((f"every stage {asked.balanced:g} × faster", factors))
    return wanted
