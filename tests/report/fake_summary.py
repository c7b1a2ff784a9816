"""Made-up but realistic summaries: what measure/ would hand over, without running anything."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

from relaymark.measure.summary import (
    Distribution,
    ErrorBar,
    Point,
    Quantile,
    Reason,
    Series,
    SloResult,
    Stage,
    Summary,
    Verdict,
)

MS = 1e6
SHARES = (0.5, 0.9, 0.95, 0.99, 0.999)


def distribution(metric: str, values: list[float], unit: str = "ns", failures: int = 0) -> Distribution:
    """A distribution of observed values as measure/ states it."""
    ranked = sorted(values)
    n = len(ranked)

    def rank(q: float) -> int:
        return max(0, math.ceil(q * n) - 1)

    quantiles: list[Quantile] = []
    for q in SHARES:
        spread = 1.96 * math.sqrt(n * q * (1 - q))
        low, high = math.floor(n * q - spread) - 1, math.ceil(n * q + spread)
        known = low >= 0 and high < n
        behind = math.ceil(q * (n + failures)) - 1
        quantiles.append(
            Quantile(
                q=q,
                value=ranked[rank(q)],
                low=ranked[low] if known else None,
                high=ranked[high] if known else None,
                with_failures=ranked[behind] if behind < n else None,
            )
        )
    steps = [i / 150 for i in range(1, 150)] + [1 - 10 ** (-k / 10) for k in range(20, 36)]
    return Distribution(
        metric=metric,
        unit=unit,
        count=n,
        mean=sum(ranked) / n,
        minimum=ranked[0],
        maximum=ranked[-1],
        quantiles=quantiles,
        curve=[(s, ranked[rank(s)]) for s in sorted(steps)] + [(1.0, ranked[-1])],
    )


def stage(
    index: int,
    name: str,
    load: str,
    *,
    requests: int = 400,
    slow: float = 1.0,
    seconds: float = 30.0,
    failures: dict[str, int] | None = None,
    offered: float | None = None,
    slos: list[SloResult] | None = None,
    streaming: bool = True,
    server: bool = True,
    errors: list[tuple[str, int]] | None = None,
) -> Stage:
    """One stage with every field filled in."""
    rng = random.Random(index * 7 + 1)
    bad = failures or {}
    good = requests - sum(bad.values())

    def draw(base: float, sigma: float, n: int) -> list[float]:
        return [base * MS * rng.lognormvariate(0, sigma) for _ in range(n)]

    distributions: dict[str, Distribution] = {}
    ttft: list[float] = []
    if good:
        ttft = draw(85 * slow, min(0.25 + 0.1 * slow, 1.5), good)
        tpot = draw(18 * slow**0.5, 0.08, good)
        latency = [a + 64 * b for a, b in zip(ttft, tpot, strict=True)] if streaming else ttft
        wanted: list[tuple[str, list[float]]] = [("latency", latency)]
        if streaming:
            wanted += [("ttft", ttft), ("tpot", tpot), ("itl", draw(18 * slow**0.5, 0.2, 20 * good))]
        if offered:
            wanted.append(("send_lag", draw(0.06, 0.7, good)))
            wanted.append(("ttft_scheduled", [v + 0.1 * MS for v in ttft]))
        distributions = {k: distribution(k, v, failures=requests - good) for k, v in wanted}
    else:
        latency = []
    bins = 30
    wave: Callable[[int], float] = lambda i: 1 + 0.15 * math.sin(i / 2) + rng.uniform(-0.08, 0.08)  # noqa: E731
    series = Series(
        t=[seconds * i / bins for i in range(bins)],
        in_flight=[4 * slow * wave(i) * min(1, i / 2) for i in range(bins)],
        completed=[good / seconds * wave(i) for i in range(bins)],
        failed=[(requests - good) / seconds * (1 if i % 3 == 0 else 0) for i in range(bins)],
        tokens=[64 * good / seconds * wave(i) if streaming else 0.0 for i in range(bins)],
    )
    kinds = [kind for kind, n in bad.items() for _ in range(n)]
    points = [
        Point(
            t=rng.uniform(0, seconds),
            ttft=None,
            latency=None,
            prompt_tokens=64,
            completion_tokens=None,
            outcome=kind,
            task_id=i,
        )
        for i, kind in enumerate(kinds)
    ] + [
        Point(
            t=seconds * i / good,
            ttft=ttft[i] if streaming else None,
            latency=latency[i],
            prompt_tokens=64,
            completion_tokens=64,
            outcome="ok" if i % 9 else "ok_length",
            task_id=len(kinds) + i,
        )
        for i in range(min(good, 2000))
    ]
    return Stage(
        index=index,
        name=name,
        load=load,
        duration=seconds * 1e9,
        requests=requests,
        outcomes={k: v for k, v in {"ok": good - good // 9, "ok_length": good // 9, **bad}.items() if v},
        in_flight_at_end=0,
        distributions=distributions,
        offered_rate=offered,
        request_rate=good / seconds,
        output_token_rate=64 * good / seconds if good and streaming else None,
        input_token_rate=64 * good / seconds if good else None,
        prompt_tokens=64 * good if good else None,
        completion_tokens=64 * good if good and streaming else None,
        reasoning_tokens=None,
        cached_tokens=12 * good if good else None,
        partial_tokens=17 if bad else 0,
        goodput=0.9 * good / seconds if slos else None,
        slos=slos or [],
        unique_prompts=min(requests, 250),
        coalesced_share=0.002 if streaming else None,
        one_piece_share=0.0 if streaming else None,
        token_source="usage" if good else "none",
        itl_weights="one" if good and streaming else "none",
        server_prefill=distribution("server_prefill", [0.8 * v for v in ttft]) if server and good else None,
        server_decode_rate=(
            distribution("server_decode_rate", draw(56e-6, 0.05, good), unit="tokens/s") if server and good else None
        ),
        series=series,
        points=points,
        errors=errors or [],
    )


def error_bar(**changes: object) -> ErrorBar:
    """A quiet client with kernel stamps."""
    fields: dict[str, object] = {
        "source": "kernel", "read_p50": 0.031 * MS, "read_p99": 0.41 * MS, "read_max": 2.1 * MS, "reads": 123_456,
        "send_p50": 0.06 * MS, "send_p99": 0.3 * MS, "send_max": 1.2 * MS, "worker_cpu": 0.23, "clock_drift": 1_200.0,
    }  # fmt: skip
    return ErrorBar(**{**fields, **changes})  # type: ignore[arg-type]  # a test's shorthand


def summary(stages: list[Stage], *, verdict: Verdict | None = None, **changes: object) -> Summary:
    """A whole run around the stages."""
    fields: dict[str, object] = {
        "schema": 1,
        "run_id": "2026-10-05T14-03-22-quickstart",
        "name": "quickstart",
        "version": "0.1.0",
        "started_at": "2026-10-05T14:03:22+02:00",
        "url": "http://127.0.0.1:8080/v1/chat/completions",
        "model": "SmolLM2-135M-Instruct",
        "dialect": "openai-chat",
        "status": "complete",
        "verdict": verdict or Verdict(valid=True, reasons=[], warnings=[]),
        "error_bar": error_bar(),
        "stages": stages,
        "schedule_sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "config": "endpoint:\n  url: http://127.0.0.1:8080/v1\n  model: SmolLM2-135M-Instruct\nload:\n"
        "  - single\n  - concurrency: 2\n  - poisson: 4/s\nprompts:\n  synthetic: {isl: 64, osl: 64}\nseed: 1\n",
        "environment": {
            "cpu": "AMD EPYC 7763 64-Core Processor (2 cores)", "memory": "7.8 GB", "kernel": "Linux 6.1.0-18-amd64",
            "python": "3.11.2", "event loop": "uvloop 0.21.0", "governor": "performance", "open files": "1,048,576",
        },
        "server": {"server": "llama.cpp b4521", "models": "SmolLM2-135M-Instruct", "slots": "4"},
        "notes": [],
    }  # fmt: skip
    return Summary(**{**fields, **changes})  # type: ignore[arg-type]  # a test's shorthand


def slo(text: str, metric: str, q: float, bound: float, measured: float | None) -> SloResult:
    return SloResult(
        text=text, metric=metric, q=q, bound=bound, measured=measured, met=measured is not None and measured <= bound
    )


def valid_run() -> Summary:
    """Five stages as `quickstart` runs them, a few failures in the last."""
    slos = [
        slo("ttft_p99 ≤ 500 ms", "ttft", 0.99, 500 * MS, 288 * MS),
        slo("tpot_p90 ≤ 20 ms", "tpot", 0.9, 20 * MS, 27.4 * MS),
    ]
    return summary(
        [
            stage(0, "single stream", "single", requests=60, seconds=24),
            stage(1, "closed loop", "concurrency 1", requests=90),
            stage(2, "closed loop", "concurrency 2", requests=170, slow=1.2),
            stage(3, "closed loop", "concurrency 4", requests=260, slow=1.7),
            stage(4, "open loop", "poisson 4/s", requests=420, slow=2.0, seconds=105, offered=4.0, slos=slos,
                  failures={"truncated": 6, "timeout_idle": 2, "http_error": 3},
                  errors=[("connection closed before [DONE]", 6), ("HTTP 503: Loading model", 3)]),
        ],
        verdict=Verdict(
            valid=True,
            reasons=[],
            warnings=[
                Reason(code="repeated_prompts", text="41 % of the prompts were sent more than once; a prefix "
                       "cache makes such requests faster than new ones."),
            ],
        ),
        notes=["1 torn record skipped"],
    )  # fmt: skip


def invalid_run() -> Summary:
    """A disturbed client behind a buffering proxy: no streaming metrics."""
    one = stage(0, "steady", "poisson 40/s", requests=1200, offered=40.0, streaming=False, server=False)
    return summary(
        [one],
        verdict=Verdict(
            valid=False,
            reasons=[
                Reason(code="client_added", text="The client itself added 38.2 ms at p99, more than the 12.4 ms "
                       "that may distort a latency p99 of 248 ms.", measured=38.2 * MS, bound=12.4 * MS),
                Reason(code="not_incremental", text="97 % of the streams arrived in one piece: a proxy buffered them."),
            ],
            warnings=[Reason(code="governor", text="The CPU governor is powersave; timings may vary.")],
        ),
        error_bar=error_bar(read_p99=38.2 * MS, read_max=212 * MS, worker_cpu=0.99),
        status="interrupted",
        notes=["The run was interrupted after 30 s; 7 requests were in flight."],
    )  # fmt: skip


def failing_run() -> Summary:
    """Nothing but failures."""
    one = stage(0, "burst", "concurrency 8", requests=80, failures={"refused": 60, "reset": 20}, seconds=4,
                errors=[("connect to 10.0.0.9:8000: connection refused", 60), ("reset by peer", 20)])  # fmt: skip
    return summary(
        [one],
        verdict=Verdict(
            valid=False, reasons=[Reason(code="no_success", text="No request succeeded: 80 of 80 failed.")], warnings=[]
        ),
        error_bar=error_bar(source="none", read_p50=None, read_p99=None, read_max=None, reads=0,
                            send_p50=None, send_p99=None, send_max=None, worker_cpu=None, clock_drift=None),
        server={},
    )  # fmt: skip


def embeddings_run() -> Summary:
    """No tokens stream back."""
    return summary(
        [stage(0, "embed", "concurrency 16", requests=900, slow=0.3, streaming=False, server=False)],
        dialect="openai-embeddings", model="MiniLM-L6", name="embeddings",
        url="http://127.0.0.1:8080/v1/embeddings", error_bar=error_bar(source="loop"),
    )  # fmt: skip


def huge_run() -> Summary:
    """Times of hours, rates of millions, thousands of times between the stages."""
    return summary(
        [
            stage(0, "tiny", "single", requests=2000, slow=0.0001, seconds=3),
            stage(1, "enormous", "offline", requests=1_500, slow=50_000, seconds=400_000),
        ]
    )


def one_request_run() -> Summary:
    """A single request."""
    return summary([stage(0, "one", "single", requests=1, seconds=1.3)])


NASTY = [
    "<script>window.pwned=1</script>",
    '"><img src=x onerror="window.pwned=1">',
    "javascript:window.pwned=1",
    "</text></svg><script>window.pwned=1</script>",
    "</pre></style><style>body{display:none}</style>",
    "'; window.pwned=1; //",
    "{{ 7*7 }}{% raw %}",
    "\x1b[31mred\x1b[0m\x07\x00bell",
    "\u202egnp.exe\u2066hidden",
    "\ud800lone surrogate",
    "[bold red]rich[/bold red] [link=javascript:alert(1)]x[/link]",
    "Z" * 10_000,
    "=HYPERLINK(\"http://evil\")",
]  # fmt: skip


def hostile_run() -> Summary:
    """Every field that a server or a file can influence holds an attack."""
    text = " ".join(NASTY[:11])
    stages = [
        stage(i, nasty, nasty, requests=40, failures={"http_error": 5, nasty: 1}, offered=2.0,
              slos=[slo(nasty, nasty, 0.99, 1.0, None)], errors=[(nasty, 3), (text, 1)])
        for i, nasty in enumerate(NASTY)
    ]  # fmt: skip
    reason = Reason(code=text, text=text)
    return summary(
        stages,
        verdict=Verdict(valid=False, reasons=[reason], warnings=[reason]),
        name=text, run_id=text, url=text, model=text, dialect=text, status=text, version=text, started_at=text,
        config=text + "\n" + NASTY[11], environment={text: text, "long": NASTY[11]},
        server={nasty: nasty for nasty in NASTY},
        notes=NASTY, schedule_sha256=text,
    )  # fmt: skip
