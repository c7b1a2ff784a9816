"""The verdict and the error bar in plain words: the first two things every output of a run says."""

from __future__ import annotations

from relaymark.measure.summary import ErrorBar, Reason, Stage, Summary
from relaymark.report.clean import plain_line
from relaymark.report.digits import count, duration, percent

SENTENCE = 600  # characters of a reason or note that are shown

_SOURCES = {
    "kernel": "measured on {n} reads with kernel stamps",
    "loop": "sampled as the event loop's worst lateness in each of {n} intervals, as the kernel gave no stamps",
}


def headline(summary: Summary) -> str:
    """VALID or INVALID."""
    return "VALID" if summary.verdict.valid else "INVALID"


def meaning(summary: Summary) -> str:
    """What the headline means for the reader, in one sentence."""
    if summary.verdict.valid:
        return "The numbers below measure the endpoint, within the error bar."
    n = len(summary.verdict.reasons)
    because = "the reason" if n == 1 else f"{n} reasons"
    return f"Do not rely on the numbers below as a measurement of the endpoint, for {because} named here."


def sentence(reason: Reason | str) -> str:
    """A reason, warning or note on one line."""
    return plain_line(reason if isinstance(reason, str) else reason.text or reason.code, SENTENCE)


def status_line(summary: Summary) -> str | None:
    """Why a run ended early; None for one that ran to its end."""
    if summary.status == "complete":
        return None
    known = {
        "interrupted": "The run was interrupted: the numbers cover what was measured until then.",
        "crashed": "A process of the run died: the numbers cover what reached the trace.",
    }
    return known.get(summary.status) or f"The run's status is “{plain_line(summary.status, 60)}”."


def client_added(bar: ErrorBar) -> list[tuple[str, str]]:
    """(p50 | p99 | max, time) of what the client added on reads; empty where it was not measured."""
    if bar.source == "none" or bar.read_p50 is None:
        return []
    parts = (("p50", bar.read_p50), ("p99", bar.read_p99), ("max", bar.read_max))
    return [(name, _fine(value)) for name, value in parts if value is not None]


def send_late(bar: ErrorBar) -> list[tuple[str, str]]:
    """(p50 | p99 | max, time) of how late requests were sent; empty without an open loop."""
    if bar.send_p50 is None:
        return []
    parts = (("p50", bar.send_p50), ("p99", bar.send_p99), ("max", bar.send_max))
    return [(name, _fine(value)) for name, value in parts if value is not None]


def how_measured(bar: ErrorBar) -> str:
    """Where the error bar comes from."""
    if bar.source == "none" or bar.read_p50 is None:
        return "not measured: no read was stamped"
    said = _SOURCES.get(bar.source) or plain_line(bar.source, 60) + ", {n} samples"
    return said.replace("{n}", count(bar.reads))


def error_bar_line(bar: ErrorBar) -> str:
    """The error bar on one line."""
    parts = client_added(bar)
    if not parts:
        return f"client added: {how_measured(bar)}"
    return f"client added {' · '.join(f'{n} {v}' for n, v in parts)}, {how_measured(bar)}"


def proportion(summary: Summary) -> str | None:
    """The error bar against the smallest time it could distort; None without both."""
    p99 = summary.error_bar.read_p99
    smallest: tuple[float, str] | None = None
    for stage in summary.stages:
        for metric, name in (("ttft", "TTFT"), ("latency", "latency")):
            value = _median(stage, metric)
            if value and (smallest is None or value < smallest[0]):
                smallest = (value, name)
    if p99 is None or smallest is None or summary.error_bar.source == "none":
        return None
    value, name = smallest
    share = p99 / value
    size = percent(share) if share < 2 else f"{share:,.0f} times"
    return f"Its p99 is {size} of the smallest {name} p50 of this run ({duration(value)})."


def extras(bar: ErrorBar) -> list[str]:
    """What else is known of the instrument: busiest worker, clock."""
    out: list[str] = []
    if bar.worker_cpu is not None:
        out.append(f"busiest worker used {percent(bar.worker_cpu)} of a core")
    if bar.clock_drift is not None:
        out.append(f"wall clock moved {duration(abs(bar.clock_drift))} against the monotonic clock")
    return out


def withheld(summary: Summary) -> str | None:
    """Why there is no TTFT though the reader may look for it; None when there is one or none is due."""
    if any("ttft" in stage.distributions for stage in summary.stages):
        return None
    for reason in [*summary.verdict.reasons, *summary.verdict.warnings]:
        if reason.code == "not_incremental":
            return f"TTFT and ITL withheld: {sentence(reason)}"
    if not any(stage.distributions for stage in summary.stages):
        return "No distributions: no request ended ok."
    return None


def _median(stage: Stage, metric: str) -> float | None:
    d = stage.distributions.get(metric)
    return next((q.value for q in d.quantiles if q.q == 0.5), None) if d else None


def _fine(ns: float) -> str:
    """Small times in ms, so that the three figures of an error bar can be compared at a glance."""
    return f"{ns / 1e6:.2g} ms" if 1e4 <= abs(ns) < 1e7 else duration(ns)
