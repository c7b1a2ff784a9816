"""Tables of what the rules ask for: models, seeds, drafters, latency limits, accuracy targets. Each says its source."""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from relaymark.bench._source import read_source
from relaymark.errors import ConfigError
from relaymark.rules.cohorts import Cohort

Bounds = tuple[float | None, float | None]
"""Lowest and highest value that passes; ``None``: no bound."""


class Model(msgspec.Struct, kw_only=True, frozen=True):
    """A benchmark model of MLPerf Endpoints; scores in percent. Agentic models have the last four fields."""

    name: str
    weights: str
    agentic: bool
    performance_samples: int | None = None
    datasets: list[str] = []
    accuracy: dict[str, Bounds] = {}
    accuracy_samples: int | None = None
    trajectories: int | None = None
    inline_at_least: float | None = None
    swe_bench_at_least: float | None = None
    output_tokens_a_turn: tuple[float, float] | None = None


class SeedSet(msgspec.Struct, kw_only=True, frozen=True):
    """Seeds that MLCommons published for a cohort; adoptable for it and the three after it."""

    id: str
    cohort: str
    scheduler_rng_seed: int
    sample_index_rng_seed: int
    model_seed: int

    @property
    def seeds(self) -> dict[str, int]:
        """Name in ``point.yaml`` → value."""
        return {name: getattr(self, name) for name in ("scheduler_rng_seed", "sample_index_rng_seed", "model_seed")}

    @property
    def adoptable(self) -> list[str]:
        """The cohorts that may bind it."""
        first = Cohort.parse(self.cohort)
        return [] if first is None else [str(cohort) for cohort in first.following(4)]


class Drafter(msgspec.Struct, kw_only=True, frozen=True):
    """An approved drafter, told by its weights' checksum, or by its target's and the configuration."""

    benchmark: str
    approved_cohort: str | None = None
    model_id: str | None = None
    weight_checksum: str | None = None
    target_checksum: str | None = None
    configuration: dict[str, Any] = {}

    def matches(self, declared: dict[str, Any]) -> bool:
        """Whether a point's ``speculative_decoding`` names this drafter; a name alone does not."""
        if self.weight_checksum is not None:
            return declared.get("weight_checksum") == self.weight_checksum
        same = declared.get("target_checksum") == self.target_checksum
        return bool(self.configuration) and same and declared.get("configuration") == self.configuration


class PowerDefaults(msgspec.Struct, kw_only=True, frozen=True):
    """Appendix D: watts to take where no public source is named."""

    overhead: dict[str, float]
    cpu_w: dict[str, float]
    accelerator_w: list[tuple[str, float]]
    nic_w: float
    switch_w: list[tuple[str, dict[str, float]]]


class Endpoints(msgspec.Struct, kw_only=True, frozen=True):
    """Everything that MLPerf Endpoints v1.0 publishes as a table."""

    source: str
    models: list[Model]
    fewest_queries: dict[str, int]
    seed_sets: list[SeedSet]
    drafters: list[Drafter]
    power: PowerDefaults

    def model(self, name: str) -> Model | None:
        """The model of that exact name."""
        return next((model for model in self.models if model.name == name), None)

    def seed_set(self, name: str) -> SeedSet | None:
        """The published seed set of that id."""
        return next((seeds for seeds in self.seed_sets if seeds.id == name), None)


class ScenarioLimits(msgspec.Struct, kw_only=True, frozen=True):
    """What one scenario of an Inference benchmark is held to; times in ms."""

    latency_ms: float | None = None  # p99 of whole queries (Server)
    ttft_p99_ms: float | None = None
    tpot_p99_ms: float | None = None
    fewest_queries: int = 1


class Scenarios(msgspec.Struct, kw_only=True, frozen=True):
    """Which scenarios a category has to and may submit."""

    required: list[str]
    optional: list[str]


class InferenceBenchmark(msgspec.Struct, kw_only=True, frozen=True):
    """A benchmark of MLPerf Inference as it was in some rounds."""

    rounds: list[str]
    scenarios: dict[str, Scenarios]  # datacenter, edge
    limits: dict[str, ScenarioLimits]
    accuracy: dict[str, Bounds]
    samples: int
    performance_samples: int
    compliance: list[str]
    accuracy_samples: int | dict[str, int] | None = None  # by scenario where they differ
    accuracy_by_scenario: dict[str, dict[str, Bounds]] = {}  # where a scenario's targets are others

    def targets(self, scenario: str) -> dict[str, Bounds]:
        """Metric → bounds that a scenario's accuracy has to meet."""
        return self.accuracy_by_scenario.get(scenario, self.accuracy)


class Round(msgspec.Struct, kw_only=True, frozen=True):
    """Seeds and the shortest run of a round of MLPerf Inference."""

    seeds: dict[str, int]
    min_duration_s: int


class Inference(msgspec.Struct, kw_only=True, frozen=True):
    """The rounds v5.1, v6.0 and v6.1 of MLPerf Inference."""

    source: str
    rounds: dict[str, Round]
    benchmarks: dict[str, list[InferenceBenchmark]]

    def benchmark(self, name: str, round_name: str) -> InferenceBenchmark | None:
        """A benchmark as it was in a round; ``None`` where the round does not have it."""
        return next((entry for entry in self.benchmarks.get(name, []) if round_name in entry.rounds), None)


@cache
def endpoints() -> Endpoints:
    """The tables of MLPerf Endpoints v1.0."""
    return msgspec.json.decode(_table("endpoints.json"), type=Endpoints)


@cache
def inference() -> Inference:
    """The tables of MLPerf Inference v5.1 to v6.1."""
    return msgspec.json.decode(_table("inference.json"), type=Inference)


def with_newer(seed_sets: Path | None = None, drafters: Path | None = None) -> Endpoints:
    """The tables with seed sets and drafters from newer files, in the shape that MLCommons publishes them in.

    Raises:
        ConfigError: A file cannot be read or has another shape.
    """
    tables = endpoints()
    if seed_sets is not None:
        tables = msgspec.structs.replace(tables, seed_sets=_published_seeds(seed_sets))
    if drafters is not None:
        listed = read_source(drafters).data.get("drafters")
        tables = msgspec.structs.replace(tables, drafters=_convert(listed, list[Drafter], drafters, "drafters"))
    return tables


def _published_seeds(path: Path) -> list[SeedSet]:
    cohort: Any = read_source(path).data.get("cohort")
    if not isinstance(cohort, dict):
        raise ConfigError("The file of seed sets has no mapping `cohort`.", where=str(path))
    named: dict[str, Any] = cohort
    rows: Any = named.get("seed_sets")
    if not isinstance(rows, list):
        raise ConfigError("The file of seed sets has no list `cohort.seed_sets`.", where=str(path))
    entries: list[Any] = rows
    whole = [{**row, "cohort": named.get("cohort-id")} if isinstance(row, dict) else row for row in entries]
    return _convert(whole, list[SeedSet], path, "cohort.seed_sets")


def _convert(value: Any, kind: Any, path: Path, what: str) -> Any:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{what} cannot be used: {error}.", where=str(path)) from None


def _table(name: str) -> bytes:
    return resources.files("relaymark.rules.tables").joinpath(name).read_bytes()
