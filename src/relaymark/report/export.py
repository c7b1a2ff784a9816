"""The summary for other programs: JSON as it stands, CSV in tidy long form."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator

import msgspec

from relaymark.measure.definitions import METRICS
from relaymark.measure.summary import Distribution, Stage, Summary
from relaymark.report.clean import plain_line
from relaymark.report.digits import quantile_name
from relaymark.report.labels import succeeded

CSV_HEADER = ("stage", "load", "metric", "statistic", "value", "unit")

_Row = tuple[str, str, float | int | str | None, str]


def summary_json(summary: Summary) -> bytes:
    """The summary as indented JSON (UTF-8): what ``summary.json`` holds. Times are ns; null means absent."""
    return msgspec.json.format(msgspec.json.encode(summary), indent=2) + b"\n"


def summary_csv(summary: Summary) -> str:
    """One value a row: stage, load, metric, statistic, value, unit. RFC 4180 with LF; ``inf`` where failures lead.

    Absent values have no row. The rows of the run itself have an empty stage and load.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_HEADER)
    rows = [("", "", *row) for row in _run_rows(summary)]
    rows += [(stage.name, stage.load, *row) for stage in summary.stages for row in _stage_rows(stage)]
    for row in rows:
        if row[4] is not None:
            writer.writerow([_field(cell) if isinstance(cell, str) else repr(cell) for cell in row])
    return out.getvalue()


def _run_rows(summary: Summary) -> Iterator[_Row]:
    bar = summary.error_bar
    yield "verdict", "valid", int(summary.verdict.valid), ""
    for reason in summary.verdict.reasons:
        yield "verdict", "reason", reason.code, ""
    for name in ("read_p50", "read_p99", "read_max", "send_p50", "send_p99", "send_max"):
        yield "client_added", name, getattr(bar, name), "ns"
    yield "client_added", "reads", bar.reads, "reads"
    yield "client_added", "source", bar.source, ""


def _stage_rows(stage: Stage) -> Iterator[_Row]:
    yield "requests", "count", stage.requests, "requests"
    for outcome, n in stage.outcomes.items():
        yield "outcome", outcome, n, "requests"
    yield "duration", "value", stage.duration, "ns"
    yield "request_rate", "value", stage.request_rate, "1/s"
    yield "offered_rate", "value", stage.offered_rate, "1/s"
    yield "goodput", "value", stage.goodput, "1/s"
    yield "output_token_rate", "value", stage.output_token_rate, "tokens/s"
    yield "input_token_rate", "value", stage.input_token_rate, "tokens/s"
    for name in ("prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_tokens", "partial_tokens"):
        yield name, "sum", getattr(stage, name), "tokens"
    failed = stage.requests > succeeded(stage)
    server = {"server_prefill": stage.server_prefill, "server_decode_rate": stage.server_decode_rate}
    for metric, d in [*stage.distributions.items(), *server.items()]:
        if d is not None:
            yield from _distribution_rows(metric, d, failed=failed and metric in stage.distributions)
    for slo in stage.slos:
        yield "slo", slo.text, int(slo.met), ""


def _distribution_rows(metric: str, d: Distribution, *, failed: bool) -> Iterator[_Row]:
    yield metric, "count", d.count, ""
    for name, value in (("mean", d.mean), ("min", d.minimum), ("max", d.maximum)):
        yield metric, name, value, d.unit
    for q in d.quantiles:
        name = quantile_name(q.q)
        yield metric, name, q.value, d.unit
        yield metric, f"{name}_low", q.low, d.unit
        yield metric, f"{name}_high", q.high, d.unit
        if failed and metric in METRICS and METRICS[metric].failures:
            # None stands for +inf here (see Quantile), unlike everywhere else.
            yield metric, f"{name}_with_failures", math.inf if q.with_failures is None else q.with_failures, d.unit


def _field(text: str) -> str:
    # A spreadsheet would run text that begins like a formula; a leading quote makes it text there.
    line = plain_line(text, 400)
    return f"'{line}" if line[:1] in ("=", "+", "-", "@") else line
