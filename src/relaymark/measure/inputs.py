"""What a summary is computed from, apart from legs and heartbeats: the run's own account of itself."""

from __future__ import annotations

import msgspec


class Slo(msgspec.Struct, kw_only=True, frozen=True):
    """One bound the user set: the ``q`` quantile of ``metric`` (a key of METRICS) must not be worse than ``bound``."""

    text: str  # as shown: "ttft_p99 ≤ 500 ms"
    metric: str
    q: float  # 0 < q < 1
    bound: float  # in the metric's unit (ns for times)


class Gates(msgspec.Struct, kw_only=True, frozen=True):
    """What the benchmark asks of a measurement before it counts. ``None``: not asked."""

    min_duration_ns: int | None = None  # of each stage
    min_requests: int | None = None  # of each stage
    streaming: bool = True  # streaming metrics (TTFT, ITL, …) were asked for
    max_one_piece_share: float = 0.1  # share of streams that may come in one read before TTFT and ITL are withheld
    token_counts_from_server: bool = False  # True: counts of a local tokenizer and average weights are forbidden


class StageInfo(msgspec.Struct, kw_only=True, frozen=True):
    """What one stage was meant to be."""

    index: int
    name: str
    load: str  # "poisson 4/s", "concurrency 8"
    open_loop: bool
    offered_rate: float | None = None  # requests/s
    requests: int | None = None  # planned number
    duration_ns: int | None = None  # planned
    start_ns: int | None = None  # CLOCK_MONOTONIC instant at which its schedule begins


class RunInfo(msgspec.Struct, kw_only=True, frozen=True):
    """What the run knows about itself. Fields that Summary has too are copied to it."""

    run_id: str
    name: str
    version: str
    started_at: str
    url: str
    model: str
    dialect: str
    status: str = "complete"  # "complete" | "interrupted" | "crashed"
    schedule_sha256: str = ""
    config: str = ""
    environment: dict[str, str] = {}
    server: dict[str, str] = {}
    notes: list[str] = []
    stages: list[StageInfo] = []
    slos: list[Slo] = []
    gates: Gates = Gates()
    crashed_workers: list[int] = []
