"""What the checks of a curve share: its points as read, and what follows from all of them together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from relaymark.rules.bundle import CurveFolder, PointFolder, SystemFolder
from relaymark.rules.limits import Endpoints, Model
from relaymark.rules.power import Provisioned
from relaymark.rules.regions import Regions

CONCURRENCY = "concurrency"
AGENTIC = "agentic_inference"
THROUGHPUT = "max_throughput"
DEDICATED = "dedicated"
ELECTED = "elected"


@dataclass(slots=True)
class PointFacts:
    """``point.yaml`` as far as it could be read. ``usable``: its schema holds, so the rules of points apply."""

    folder: PointFolder
    usable: bool = False
    concurrency: int = 0
    load_pattern: str = CONCURRENCY
    offline: str | None = None
    region: str | None = None
    model_name: str | None = None
    dataset: str = ""
    seed_set: str | None = None
    target_cohort: str | None = None
    seeds: dict[str, int | None] = field(default_factory=dict[str, int | None])
    min_duration_ms: int | None = None
    window: dict[str, float | None] = field(default_factory=dict[str, float | None])
    status: str | None = None
    speculative: dict[str, Any] | None = None
    nodes_used: list[tuple[int, int]] | None = None
    dp_shortfall: tuple[int, int, str] | None = None
    summary: SummaryFacts | None = None

    @property
    def dedicated(self) -> bool:
        """Whether it is an Offline run of its own: exempt from what is asked of fixed concurrency (§5.7.1)."""
        return self.offline == DEDICATED


@dataclass(slots=True)
class SummaryFacts:
    """``result_summary.json``: counts, ns and tokens of the whole run, and derived figures that it states itself."""

    issued: int
    completed: int
    failed: int
    duration_ns: float
    output_tokens: int
    tpot_p90_ns: float | None
    ttft_p90_ns: float | None
    latency_total_ns: float
    turn_tokens: float | None
    turn_seconds: float | None
    stated: dict[str, float]
    full_run_osl: float | None

    @property
    def system_tps(self) -> float:
        """Output tokens/s of the whole run (§4.1)."""
        return self.output_tokens / (self.duration_ns / 1e9) if self.duration_ns > 0 else 0.0

    @property
    def interactivity(self) -> float | None:
        """``e2e_avg_interactivity``, tokens/s: output tokens over the seconds of all turns (§4.1)."""
        tokens, seconds = self.turn_tokens, self.turn_seconds
        if tokens is None and seconds is None and not self.failed:
            tokens, seconds = float(self.output_tokens), self.latency_total_ns / 1e9
        if tokens is None or seconds is None or seconds <= 0:
            return None
        return tokens / seconds


@dataclass(slots=True)
class Curve:
    """A curve under check."""

    folder: CurveFolder
    system: SystemFolder
    tables: Endpoints
    points: list[PointFacts] = field(default_factory=list[PointFacts])
    c_max: int | None = None
    regions: Regions | None = None
    power: Provisioned | None = None

    @property
    def usable(self) -> list[PointFacts]:
        """Points whose ``point.yaml`` could be read."""
        return [point for point in self.points if point.usable]

    @property
    def model(self) -> Model | None:
        """The benchmark model: what the points declare, else what the folder is called."""
        named = next((point.model_name for point in self.usable if point.model_name), self.folder.model)
        return self.tables.model(named)

    @property
    def agentic(self) -> bool:
        """Whether every point but a dedicated Offline run has the agentic load pattern (the only sign there is)."""
        return {point.load_pattern for point in self.voting} == {AGENTIC}

    @property
    def voting(self) -> list[PointFacts]:
        """The points whose load pattern says what kind of benchmark this is."""
        return [point for point in self.usable if not point.dedicated]

    @property
    def fixed(self) -> list[int]:
        """The concurrencies of every point but a dedicated Offline run; unreadable points count by their folder."""
        return [point.concurrency for point in self.points if not point.dedicated]
