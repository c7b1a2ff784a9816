"""The benchmark file."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from relaymark.bench._fields import Duration, MaybeCount, MaybeDuration, Section, Seed, refuse, shown
from relaymark.bench._loads import Load, Offline, Ramp, Step
from relaymark.bench._sections import (
    Connections,
    Endpoint,
    Gates,
    Limits,
    Prompts,
    Retries,
    Sampling,
    Timeouts,
    Warmup,
)
from relaymark.bench._shorthand import parse_load, parse_prompts, slo_spec
from relaymark.bench.spec import WARMUP_INDEX, LoadSpec, PromptSource, SloSpec, StageSpec
from relaymark.errors import ConfigError

DEFAULT_DURATION = 30 * 10**9


def _load_form(value: Any) -> Any:
    """Expand a load's short form."""
    if isinstance(value, str):
        try:
            return parse_load(value)
        except ConfigError as error:
            raise refuse(f"can't be used: {error.what}", error.mend) from None
    return value


class StageModel(Section):
    """One load level, held until ``duration`` or ``requests``, whichever comes first."""

    load: Load
    name: str | None = None
    duration: MaybeDuration = None
    requests: MaybeCount = None

    _forms = field_validator("load", mode="before")(_load_form)


class Benchmark(Section):
    """What is to be run: an endpoint, prompts, and load levels.

    A top-level ``load`` is short for one stage. ``duration`` and ``requests`` hold for every stage that sets
    neither; a stage with no limit at all runs for 30 s (offline needs ``requests``).
    """

    task_word: ClassVar[str] = "requests"
    """What is counted: a task of this kind, in the plural."""

    name: Annotated[str, Field(min_length=1, max_length=100)] = "benchmark"
    endpoint: Endpoint
    prompts: Prompts = Prompts(builtin=True)
    sampling: Sampling = Sampling()
    stream: bool = True
    load: Load | None = None
    duration: MaybeDuration = None
    requests: MaybeCount = None
    stages: list[StageModel] = Field(default_factory=list[StageModel], max_length=1000)
    warmup: Warmup = Warmup()
    slo: dict[str, Duration] = Field(default_factory=dict[str, Duration])
    timeouts: Timeouts = Timeouts()
    retries: Retries = Retries()
    limits: Limits = Limits()
    connections: Connections = Connections()
    gates: Gates = Gates()
    workers: int | Literal["auto"] = 1
    seed: Seed = 0
    data_seed: Seed | None = None
    keep_content: bool = False

    _forms = field_validator("load", mode="before")(_load_form)

    @field_validator("workers", mode="before")
    @classmethod
    def _workers(cls, value: Any) -> Any:
        number = int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else value
        if value != "auto" and (isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= 1024):
            raise refuse(f"must be auto or a whole number from 1 to 1024, got {shown(value)}")
        return number

    @field_validator("prompts", mode="before")
    @classmethod
    def _prompts(cls, value: Any) -> Any:
        if isinstance(value, list):
            return {"inline": value}
        if isinstance(value, str):
            try:
                return parse_prompts(value)
            except ConfigError as error:
                raise refuse(f"can't be used: {error.what}", error.mend) from None
        return value

    @field_validator("slo", mode="before")
    @classmethod
    def _slo_list(cls, value: Any) -> Any:
        """Accept a list of ``ttft_p99=500ms`` as well as a mapping."""
        if isinstance(value, str):
            value = [value]
        if not isinstance(value, list):
            return value
        bounds: dict[str, Any] = {}
        for item in value:
            pairs = list(item.items()) if isinstance(item, dict) else [str(item).partition("=")[::2]]
            for name, bound in pairs:
                if not bound:
                    raise refuse(f"must be bounds such as ttft_p99=500ms, got {shown(item)}")
                bounds[str(name).strip()] = bound
        return bounds

    @field_validator("slo", mode="after")
    @classmethod
    def _slo_names(cls, value: dict[str, int]) -> dict[str, int]:
        for name, bound in value.items():
            try:
                slo_spec(name, bound)
            except ConfigError as error:
                raise refuse(f"can't be used: {error.what}", error.mend) from None
        return value

    @model_validator(mode="after")
    def _limits_make_sense(self) -> Benchmark:
        if self.load is not None and self.stages:
            raise refuse("has both load and stages", "put the load into a stage, or drop the stages")
        if self.load is None and not self.stages:
            raise refuse("says nothing of the load", "add a line such as load: poisson:4/s")
        stages = self.stages or [StageModel.model_construct(load=self.load, duration=self.duration)]
        for index, stage in enumerate(stages):
            place = f"stages.{index}" if self.stages else "load"
            requests = stage.requests or self.requests
            if isinstance(stage.load, Offline):
                if requests is None:
                    raise refuse(f"needs requests for its offline load ({place})", "add requests: 500 (--requests 500)")
                if stage.duration is not None:
                    raise refuse(
                        f"has a duration for an offline load ({place}), which sends everything at the start",
                        "drop duration; requests is the limit, timeouts.drain bounds the wait",
                    )
            if isinstance(stage.load, Step) and stage.load.hold and stage.duration:
                raise refuse(f"has both a duration and a hold for its steps ({place})", "drop one of them")
        return self

    def resolved_stages(self) -> list[StageSpec]:
        """Return the stages in the order they run, limits filled in."""
        if self.load is not None:
            return [self._stage(0, StageModel(load=self.load))]
        return [self._stage(index, stage) for index, stage in enumerate(self.stages)]

    def _stage(self, index: int, stage: StageModel) -> StageSpec:
        duration, requests = stage.duration, stage.requests
        if duration is None and requests is None:
            duration, requests = self.duration, self.requests
        if isinstance(stage.load, Offline):
            duration, requests = None, requests or self.requests
        elif isinstance(stage.load, Step) and stage.load.hold:
            duration = stage.load.hold * len(stage.load.rates)
        elif duration is None and (requests is None or isinstance(stage.load, Ramp | Step)):
            duration = self.duration or DEFAULT_DURATION
        load = stage.load.resolved(duration)
        return StageSpec(index=index, name=stage.name or load.text(), load=load, duration=duration, requests=requests)

    def warmup_stage(self) -> StageSpec | None:
        """Return the warm-up as a closed-loop stage with index `WARMUP_INDEX`, or ``None`` when there is none."""
        if not self.warmup.requests and self.warmup.duration is None:
            return None
        return StageSpec(
            index=WARMUP_INDEX,
            name="warmup",
            load=LoadSpec(kind="concurrency", concurrency=self.warmup.concurrency),
            duration=self.warmup.duration,
            requests=self.warmup.requests or None,
        )

    @property
    def seed_of_data(self) -> int:
        """What the order of the data is drawn from: MLPerf's rounds have a seed for that and another for arrivals."""
        return self.seed if self.data_seed is None else self.data_seed

    def slo_specs(self) -> list[SloSpec]:
        """Return the bounds in the order they were given."""
        return [slo_spec(name, bound) for name, bound in self.slo.items()]

    def prompt_source(self) -> PromptSource:
        """Return where prompts come from, as `relaymark.data.load_prompts` reads it."""
        return self.prompts.resolved()


def benchmark_hash(benchmark: Benchmark) -> str:
    """Return the SHA-256 (hex) of everything the benchmark says; the order of keys doesn't matter."""
    text = json.dumps(benchmark.model_dump(mode="json"), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
