"""The words shown beside the numbers: names of metrics, outcomes and stages, and what each means."""

from __future__ import annotations

from relaymark.measure.definitions import METRICS
from relaymark.measure.summary import Stage
from relaymark.report.clean import plain_line
from relaymark.trace.leg import Outcome

# Names to put over a chart; tables use the labels of METRICS.
_LONG_NAMES: dict[str, str] = {
    "ttft": "Time to first token",
    "ttfat": "Time to first answer token",
    "itl": "Inter-token latency",
    "tpot": "Time per output token",
    "stall": "Longest gap",
    "latency": "Request latency",
}

GENERAL_MEANINGS: list[tuple[str, str]] = [
    (
        "p50, p90, p99",
        "Half, nine of ten, ninety-nine of a hundred requests were at or below this value. It is an observed value "
        "(lower-rank order statistic), never an interpolation. The range below it is its 95 % interval: of "
        "intervals made this way, 95 in 100 hold the percentile that an endless run would show.",
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
    known = METRICS.get(metric)
    return known.label if known else plain_line(metric, 40)


def title(metric: str) -> str:
    """The full name with the short one behind it: "Time to first token (TTFT)"."""
    short = short_name(metric)
    name = _LONG_NAMES.get(metric, short)
    return name if short.casefold() in name.casefold() else f"{name} ({short})"


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
