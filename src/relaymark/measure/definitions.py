"""The metrics by name: what each is called, its unit, its definition in one sentence, and which way is better."""

from __future__ import annotations

from typing import Literal

import msgspec

Unit = Literal["ns", "tokens", "1/s", "tokens/s"]


class Metric(msgspec.Struct, kw_only=True, frozen=True):
    """One metric.

    ``better``: which way is better; ``neither`` for what is not a score. ``over``: ``ok``, the successful legs;
    ``sent``, every leg that was sent (what the client did, whatever came back). ``streaming``: has no meaning when a
    response comes in one piece. ``per``: what one value stands for; values of one request's gaps are not independent,
    so ``gap`` and ``token`` metrics get no confidence interval. ``failures``: a failed leg counts as the worst value.
    """

    key: str
    label: str
    unit: Unit
    definition: str
    better: Literal["lower", "higher", "neither"] = "lower"
    over: Literal["ok", "sent"] = "ok"
    per: Literal["request", "gap", "token"] = "request"
    streaming: bool = False
    failures: bool = True


_ALL = (
    Metric(
        key="ttft",
        label="TTFT",
        unit="ns",
        streaming=True,
        definition="Time to first token: arrival of the first token of any channel (answer, reasoning or tool call) "
        "minus the moment the request was sent.",
    ),
    Metric(
        key="ttft_scheduled",
        label="TTFT from schedule",
        unit="ns",
        streaming=True,
        definition="Arrival of the first token minus the moment the schedule asked for the request: includes any wait "
        "in the client, so it is free of coordinated omission.",
    ),
    Metric(
        key="ttfat",
        label="TTFAT",
        unit="ns",
        streaming=True,
        definition="Time to first answer token: arrival of the first token of the visible answer minus sent; later "
        "than TTFT for models that reason first.",
    ),
    Metric(
        key="tpot",
        label="TPOT",
        unit="ns",
        streaming=True,
        definition="Time per output token (MLPerf): end of the response minus first token, divided by the tokens after "
        "the first chunk.",
    ),
    Metric(
        key="itl",
        label="ITL",
        unit="ns",
        per="token",
        streaming=True,
        definition="Inter-token latency: gaps between arrivals, weighted by tokens; an arrival of k tokens counts as k "
        "gaps of gap/k.",
    ),
    Metric(
        key="chunk_gap",
        label="Chunk gap",
        unit="ns",
        per="gap",
        streaming=True,
        definition="Gap between successive arrivals of a stream, each counted once however many tokens it brought; "
        "events that came in one read are one arrival.",
    ),
    Metric(
        key="stall",
        label="Stall",
        unit="ns",
        streaming=True,
        definition="The longest gap between two successive arrivals of a stream.",
    ),
    Metric(
        key="latency",
        label="Latency",
        unit="ns",
        definition="End of the response minus the moment the request was sent.",
    ),
    Metric(
        key="latency_scheduled",
        label="Latency from schedule",
        unit="ns",
        definition="End of the response minus the moment the schedule asked for the request: free of coordinated "
        "omission.",
    ),
    Metric(
        key="latency_total",
        label="Latency with retries",
        unit="ns",
        definition="End of the response minus the moment the first attempt was sent; told only where requests were "
        "retried. Latency itself is that of the last attempt.",
    ),
    Metric(
        key="tps_per_user",
        label="Tokens/s per user",
        unit="tokens/s",
        better="higher",
        streaming=True,
        definition="One over TPOT: the speed one user reads at. The MLPerf figure of a stage is one over its TPOT p90.",
    ),
    Metric(
        key="send_lag",
        failures=False,
        label="Send lag",
        unit="ns",
        over="sent",
        definition="Moment the request's bytes were handed to the kernel minus the moment the schedule asked for it "
        "(open loop).",
    ),
    Metric(
        key="connect",
        failures=False,
        label="Connect",
        unit="ns",
        over="sent",
        definition="Time to open a connection, TLS included, for the requests that opened one.",
    ),
    Metric(
        key="ttfb",
        label="First byte",
        unit="ns",
        definition="Arrival of the first byte of the response, headers included, minus sent.",
    ),
    Metric(
        key="prompt_tokens",
        failures=False,
        label="Prompt tokens",
        unit="tokens",
        better="neither",
        definition="Tokens of the prompt as counted by the source named in token_source.",
    ),
    Metric(
        key="completion_tokens",
        failures=False,
        label="Output tokens",
        unit="tokens",
        better="neither",
        definition="Tokens of the response, reasoning included, as counted by the source named in token_source.",
    ),
    Metric(
        key="server_prefill",
        failures=False,
        label="Server prefill",
        unit="ns",
        definition="Time the server says it spent on the prompt.",
    ),
    Metric(
        key="server_decode_rate",
        failures=False,
        label="Server decode rate",
        unit="tokens/s",
        better="higher",
        definition="Tokens the server says it made, divided by the time it says it spent making them.",
    ),
)

METRICS: dict[str, Metric] = {metric.key: metric for metric in _ALL}
"""Every metric by key, in the order in which they are shown."""
