"""What a run came to: the numbers that every table, chart and file of the report is drawn from.

Times are ns (int or float), rates are per second, ``None`` means absent (not zero, not unknown-so-guessed).
A summary is computed from the trace alone and is what ``summary.json`` holds.
"""

from __future__ import annotations

import msgspec


class Quantile(msgspec.Struct, kw_only=True, frozen=True):
    """One percentile. ``low``/``high``: distribution-free 95 % interval from order statistics, where n allows."""

    q: float  # 0.5 for p50
    value: float | None  # over successes; lower-rank order statistic (design §5)
    low: float | None = None
    high: float | None = None
    with_failures: float | None = None  # the same with failures counted as +inf (None), or as 0 where higher is better


class Distribution(msgspec.Struct, kw_only=True, frozen=True):
    """A metric over the successful legs of a stage."""

    metric: str  # key of METRICS in measure/metrics.py: "ttft", "itl", …
    unit: str  # "ns" | "tokens" | "1/s" …
    count: int  # weighted count (tokens for ITL)
    mean: float
    minimum: float
    maximum: float
    quantiles: list[Quantile]  # p50 p90 p95 p99 p99.9, then p10 p5 p1 where higher is better
    curve: list[tuple[float, float]] = []  # (cumulative share 0…1, value): at most ~200 points for drawing


class SloResult(msgspec.Struct, kw_only=True, frozen=True):
    """One bound the user set, e.g. ttft_p99=500ms, and what was measured (failures count as misses)."""

    text: str  # "ttft_p99 ≤ 500 ms"
    metric: str
    q: float
    bound: float
    measured: float | None  # None: +inf or absent
    met: bool


class Series(msgspec.Struct, kw_only=True, frozen=True):
    """Values over time in equal bins; ``t`` is the bin's start in seconds from the stage's start."""

    t: list[float]
    in_flight: list[float]  # mean number of requests in flight in the bin
    completed: list[float]  # requests/s that ended ok in the bin
    failed: list[float]  # requests/s that ended otherwise
    tokens: list[float]  # output tokens/s that arrived in the bin (token-bearing events where counts are absent)


class Point(msgspec.Struct, kw_only=True, frozen=True):
    """One request for the scatter: at most 2,000 a stage, picked evenly; every failure first."""

    t: float  # seconds from the stage's start (scheduled, else sent)
    ttft: float | None
    latency: float | None
    prompt_tokens: int | None
    completion_tokens: int | None
    outcome: str
    task_id: int


class Spread(msgspec.Struct, kw_only=True, frozen=True):
    """A few figures of one time, ns; ``with_failures`` counts what failed as infinitely slow (``None``)."""

    count: int
    mean: float
    quantiles: dict[str, float]  # p50, p90, p99: lower-rank order statistics
    with_failures: dict[str, float | None]
    maximum: float


class TaskLegs(msgspec.Struct, kw_only=True, frozen=True):
    """All legs of one name (an LLM's role, or a kind of work) in the tasks of a stage."""

    name: str
    kind: str
    calls: int
    failed: int
    latency: Spread | None
    ttft: Spread | None
    queued: Spread | None  # waiting for its turn at the stage that served it
    service: Spread | None  # being served
    share: float  # its time, summed, over that of all tasks, summed: where the time goes when nothing overlaps
    prompt_tokens: float | None  # a call
    completion_tokens: float | None
    cached_share: float | None  # of the prompt tokens, where the server tells
    batch: float | None  # calls served together


class Tasks(msgspec.Struct, kw_only=True, frozen=True):
    """The tasks of a stage, where a task has many legs."""

    tasks: int
    failed: int
    rate: float  # tasks/s that ended well, from the stage's start to the last task's end
    latency: Spread | None
    latency_scheduled: Spread | None  # from the scheduled time, where the load has a schedule
    llm_calls: float | None  # a task
    prompt_tokens: float | None
    completion_tokens: float | None
    cached_share: float | None
    busy_share: float | None  # of the time with at least one LLM call in flight
    iterations: dict[str, int]  # rounds of the loop → tasks
    legs: list[TaskLegs]
    fallbacks: dict[str, int]  # replies that were not what was asked for
    replay: dict[str, int]  # what became of recorded replies
    solved: int | None = None  # tasks whose end state was right, where that was checked
    tokens_per_solved: float | None = None  # prompt and completion tokens of all tasks / solved
    time_per_solved: float | None = None  # ns of all tasks, summed / solved


class DepthBin(msgspec.Struct, kw_only=True, frozen=True):
    """Turns whose context was between ``low`` and ``high``: prompt tokens, or the turn's number. Times are ns."""

    low: float
    high: float
    tokens: bool
    turns: int
    latency_p50: float | None
    latency_p90: float | None
    ttft_p50: float | None
    ttft_p90: float | None
    new_tokens: float | None  # prompt tokens that were processed, mean


class Turns(msgspec.Struct, kw_only=True, frozen=True):
    """The turns of conversations. Times are ns; means are over the turns that were answered."""

    conversations: int
    turns: int
    answered: int
    failed: int
    abandoned: int  # never sent, because an earlier turn failed
    latency_mean: float | None  # the headline of MLPerf's edge agentic benchmark
    latency_low: float | None  # 95 % interval, bootstrap over conversations
    latency_high: float | None
    ttft_mean: float | None
    tpot_mean: float | None
    early_stopping: dict[str, dict[str, float | None]]  # metric → p90 → LoadGen's estimate, 99 % confidence
    completion_tokens: float | None
    new_tokens: float | None  # prompt tokens processed, a turn
    cached_tokens: float | None  # prompt tokens from a cache, a turn
    cached_share: float | None
    ideal_share: float | None  # if all of the prompt before had been kept
    reprocessed: int | None  # turns whose whole prompt was processed again; None where the server does not tell
    comparable: int  # turns that could have shown it
    ttft_per_1k: float | None  # slope, for a thousand tokens of context
    latency_per_1k: float | None
    depth: list[DepthBin]


class Reasoning(msgspec.Struct, kw_only=True, frozen=True):
    """The same turns without reasoning and with it. Times are ns, ratios on / off."""

    off: int  # stage
    on: int
    turns: int  # that both answered
    latency_off: float  # means
    latency_on: float
    ratio: float
    ratio_low: float | None  # 95 % interval, bootstrap over conversations
    ratio_high: float | None
    tokens_off: float | None
    tokens_on: float | None
    tokens_ratio: float | None
    modelled_ratio: float | None  # of TTFT + tokens × TPOT


class Stage(msgspec.Struct, kw_only=True, frozen=True):
    """One stage: a load level held for a while."""

    index: int
    name: str
    load: str  # "poisson 4/s", "concurrency 8"
    duration: float  # ns; the window of every rate here, drain included (measure/rates.py: window_of)
    requests: int  # legs sent, warm-up left out
    outcomes: dict[str, int]  # outcome → count; sums to requests
    in_flight_at_end: int  # started but never ended (run cut short)
    distributions: dict[str, Distribution]
    offered_rate: float | None  # requests/s the schedule asked for (open loop)
    request_rate: float  # requests/s that ended ok
    output_token_rate: float | None  # system tokens/s, successes only
    input_token_rate: float | None
    prompt_tokens: int | None
    completion_tokens: int | None
    reasoning_tokens: int | None
    cached_tokens: int | None
    partial_tokens: int  # token-bearing events of failed requests, kept apart
    goodput: float | None  # tasks/s that met every SLO and ended ok; None without SLOs
    slos: list[SloResult]
    unique_prompts: int | None  # distinct request bodies among `requests`
    coalesced_share: float | None  # share of token-bearing events that shared a read with the one before
    one_piece_share: float | None  # share of streams (≥ 2 events) that came in one read
    token_source: str  # usage | tokenizer | none | mixed
    itl_weights: str  # usage | one | average | none | mixed: how tokens per chunk are known
    server_prefill: Distribution | None = None  # the server's own timings, where it tells
    server_decode_rate: Distribution | None = None  # tokens/s
    series: Series | None = None
    points: list[Point] = []
    errors: list[tuple[str, int]] = []  # most frequent error messages (untrusted text), at most 10
    retries: int = 0  # attempts after the first, over all requests
    retried: int = 0  # requests that needed more than one
    reconnects: int = 0  # kept-alive connections that died before they were used: sent again once, no failure
    turns: Turns | None = None  # where tasks are conversations
    tasks: Tasks | None = None  # where a task is more than one request; the stage's other figures are its LLM calls
    tps_per_user: float | None = None  # tokens/s: 1 / p90 of TPOT (MLPerf Endpoints); None without TPOT


class Reason(msgspec.Struct, kw_only=True, frozen=True):
    """Why a run is INVALID, or what a reader should know: one sentence with the figures in it."""

    code: str  # "client_added", "send_lag", "cpu_saturated", "not_incremental", "backpressure", "clock_step", …
    text: str
    measured: float | None = None
    bound: float | None = None


class Verdict(msgspec.Struct, kw_only=True, frozen=True):
    """VALID or INVALID with each reason named (design §5)."""

    valid: bool
    reasons: list[Reason]  # empty when valid
    warnings: list[Reason]


class ErrorBar(msgspec.Struct, kw_only=True, frozen=True):
    """What the client itself added, measured: the error bar every report carries. ns; None where not measurable."""

    source: str  # "kernel" (every read), "loop" (sampled loop lateness), "none"
    read_p50: float | None
    read_p99: float | None
    read_max: float | None
    reads: int
    send_p50: float | None  # bytes handed to the kernel − scheduled (open loop)
    send_p99: float | None
    send_max: float | None
    worker_cpu: float | None  # highest share of one core any worker used in any heartbeat interval
    clock_drift: float | None  # ns that CLOCK_REALTIME moved against CLOCK_MONOTONIC during the run


class Summary(msgspec.Struct, kw_only=True, frozen=True):
    """A whole run."""

    schema: int
    run_id: str
    name: str
    version: str
    started_at: str  # ISO 8601 with zone
    url: str  # without credentials
    model: str
    dialect: str
    status: str  # "complete" | "interrupted" | "crashed"
    verdict: Verdict
    error_bar: ErrorBar
    stages: list[Stage]
    reasoning: list[Reasoning] = []  # of stages that were run both ways
    schedule_sha256: str
    config: str  # the resolved benchmark file, YAML text
    environment: dict[str, str]  # ordered; "cpu" → "AMD EPYC …"
    server: dict[str, str]  # what the endpoint told of itself
    notes: list[str]  # e.g. "1 torn record skipped", "2 legs were in flight when worker 0 was killed"
