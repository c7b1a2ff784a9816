"""Names and definitions shown beside the numbers (design §5), keyed as in the summary."""

from __future__ import annotations

from typing import NamedTuple

from relaymark.measure.summary import Stage
from relaymark.report.clean import plain_line
from relaymark.trace.leg import Outcome


class Label(NamedTuple):
    """How one metric is called and what it means."""

    short: str
    name: str
    meaning: str


METRIC_LABELS: dict[str, Label] = {
    "ttft": Label(
        "TTFT",
        "Time to first token",
        "From the moment the request was handed to the kernel to the arrival of the first token, of whatever "
        "channel (answer, reasoning or tool call).",
    ),
    "ttft_scheduled": Label(
        "TTFT from schedule",
        "Time to first token, from the scheduled send time",
        "As TTFT, but counted from when the request should have been sent, so that a late client cannot hide a "
        "slow server (free of coordinated omission).",
    ),
    "ttfat": Label(
        "TTFAT",
        "Time to first answer token",
        "As TTFT, but reasoning does not count: when the user first sees part of the answer.",
    ),
    "itl": Label(
        "ITL",
        "Inter-token latency",
        "The gaps between tokens, weighted by tokens: a chunk of k tokens counts as k gaps of a k-th each.",
    ),
    "inter_chunk": Label(
        "Inter-chunk gap", "Gap between chunks", "The gaps between token-bearing events as they arrived."
    ),
    "tpot": Label(
        "TPOT",
        "Time per output token",
        "(end − first token) / tokens after the first chunk, one value a request (the MLPerf definition).",
    ),
    "stall": Label("Stall", "Longest gap", "The longest gap between two chunks of one response."),
    "latency": Label(
        "Latency", "Request latency", "From the moment the request was handed to the kernel to the end of its response."
    ),
    "latency_scheduled": Label(
        "Latency from schedule",
        "Request latency, from the scheduled send time",
        "As latency, but counted from when the request should have been sent.",
    ),
    "send_lag": Label(
        "Send lag",
        "Send lag",
        "How late the client handed a request to the kernel, against its schedule (open loop only).",
    ),
    "connect": Label("Connect", "Connection time", "TCP and TLS set-up, where a new connection was opened."),
    "tps_per_user": Label(
        "tok/s per user", "Tokens per second and user", "How fast one user's answer grows once it has begun."
    ),
}

GENERAL_MEANINGS: list[tuple[str, str]] = [
    (
        "p50, p90, p99",
        "Half, nine of ten, ninety-nine of a hundred requests were at or below this value. It is an observed value "
        "(lower-rank order statistic), never an interpolation. The range below it is its 95 % interval: with another "
        "run of the same length the percentile would most likely fall inside it.",
    ),
    (
        "with failures",
        "The same percentile with every failed request counted as infinitely slow. ∞ means that so many requests "
        "failed that the percentile has no finite value.",
    ),
    (
        "client added",
        "What the measuring program itself added to the times above: on each read, the moment it noticed the bytes "
        "minus the moment the kernel received them. Times are taken from the kernel's stamp where there is one, so "
        "this is a bound on the error and is never subtracted.",
    ),
    ("req/s", "Requests that ended ok, divided by the stage's duration."),
    (
        "out tok/s",
        "Output tokens of requests that ended ok, divided by the stage's duration. Failed requests add none.",
    ),
    ("goodput", "Requests per second that ended ok and met every bound set with --slo."),
    (
        "VALID / INVALID",
        "Whether the numbers may be trusted as a measurement of the endpoint. It says nothing about how good the "
        "endpoint is.",
    ),
]

OUTCOME_WORDS: dict[str, str] = {
    Outcome.OK: "ok",
    Outcome.OK_LENGTH: "ok, stopped at the token limit",
    Outcome.TRUNCATED: "stream cut short",
    Outcome.INBAND_ERROR: "error inside the stream",
    Outcome.PROTOCOL_ERROR: "not a valid response",
    Outcome.HTTP_ERROR: "HTTP error",
    Outcome.REFUSED: "connection refused",
    Outcome.RESET: "connection reset",
    Outcome.TIMEOUT_CONNECT: "timed out connecting",
    Outcome.TIMEOUT_FIRST_BYTE: "timed out before the first byte",
    Outcome.TIMEOUT_IDLE: "stalled (idle time-out)",
    Outcome.TIMEOUT_TOTAL: "timed out",
    Outcome.CANCELLED: "cancelled",
    Outcome.CLIENT_ERROR: "could not be sent by this client",
}

_GOOD = {outcome.value for outcome in Outcome if outcome.good}


def short_name(metric: str) -> str:
    """What a table column of this metric is called; the key itself where we have no name for it."""
    label = METRIC_LABELS.get(metric)
    return label.short if label else plain_line(metric, 40)


def outcome_words(outcome: str) -> str:
    """An outcome in plain words."""
    return OUTCOME_WORDS.get(outcome) or plain_line(outcome, 60)


def is_good(outcome: str) -> bool:
    """True for outcomes that count as a success."""
    return outcome in _GOOD


def succeeded(stage: Stage) -> int:
    """How many requests of the stage ended ok."""
    return sum(n for outcome, n in stage.outcomes.items() if is_good(outcome))


def ok_share(stage: Stage) -> float | None:
    """Share of the stage's requests that ended ok; None when it sent none."""
    return succeeded(stage) / stage.requests if stage.requests else None


def stage_label(stage: Stage, limit: int = 60) -> str:
    """The stage's name, with its load where the name does not say it already."""
    name, load = plain_line(stage.name, limit), plain_line(stage.load, limit)
    if not name or name.casefold() == load.casefold():
        return load or name or f"stage {stage.index + 1}"
    if not load or load.casefold() in name.casefold():
        return name
    return plain_line(f"{name} · {load}", limit)
