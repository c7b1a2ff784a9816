"""``result_summary.json``: its schema, its arithmetic, and whether the run was long enough (§4.1, §6, §9.1)."""

from __future__ import annotations

import math
from typing import Any, cast

from relaymark.rules.bundle import Document, dotted
from relaymark.rules.checks.point import window_passes
from relaymark.rules.curve import AGENTIC, Curve, PointFacts, SummaryFacts
from relaymark.rules.fields import Fields, plain_number
from relaymark.rules.findings import Findings
from relaymark.rules.regions import shortest_seconds

SLACK = 0.01  # how far a stated figure may be from the derived one
_STATED = ("system_tps", "tps_per_user", "system_tps_per_kw", "e2e_avg_interactivity")


def read_summary(document: Document, findings: Findings) -> SummaryFacts | None:
    """What the summary says; ``None`` where its schema does not hold."""
    if not document.present:
        return None
    if document.mapping is None:
        says = f"result_summary.json {document.problem or 'is not a mapping'}."
        findings.error("result-file-valid", document.place, says)
        return None
    fields = document.fields()
    completed = fields.whole("n_samples_completed", required=True)
    duration = fields.number("duration_ns", required=True)
    issued, failed = fields.whole("n_samples_issued"), fields.whole("n_samples_failed")
    blocks = {name: _block(fields, name) for name in ("ttft", "tpot", "output_sequence_lengths", "latency")}
    turn_tokens = fields.number("output_tokens_per_turn_total")
    turn_seconds = fields.number("e2e_turn_time_seconds_total")
    stated = {key: value for key in _STATED if (value := _lenient(fields.data.get(key))) is not None}
    for key in _STATED:
        if key not in stated and fields.data.get(key) is not None:
            fields.says(key, "must be a number")  # the official checker ends in a traceback here
    for problem in fields.problems:
        says = f"{dotted(problem.keys)} {problem.says}."
        findings.error("result-file-valid", document.at(*problem.keys), says)
    if fields.problems or completed is None or duration is None:
        return None
    return SummaryFacts(
        issued=issued or 0,
        completed=completed,
        failed=failed or 0,
        duration_ns=duration,
        output_tokens=int(blocks["output_sequence_lengths"][0]),
        tpot_p90_ns=blocks["tpot"][1],
        ttft_p90_ns=blocks["ttft"][1],
        latency_total_ns=blocks["latency"][0],
        turn_tokens=turn_tokens,
        turn_seconds=turn_seconds,
        stated=stated,
        full_run_osl=_full_run_osl(fields.data),
    )


def check_results(curve: Curve, point: PointFacts, findings: Findings) -> None:
    """The rules of one point's results; its ``point.yaml`` and its summary could be read."""
    if point.summary is None:
        return
    _check_time(curve, point, point.summary, findings)
    _check_counts(curve, point, point.summary, findings)
    _check_rates(point, point.summary, findings)


def system_tps_of(document: Document) -> float | None:
    """Output tokens/s from a summary as it lies there, whether or not its schema holds."""
    data = document.mapping or {}
    lengths, duration = data.get("output_sequence_lengths"), plain_number(data.get("duration_ns"))
    total = plain_number(cast(dict[str, Any], lengths).get("total")) if isinstance(lengths, dict) else None
    return total / (duration / 1e9) if total is not None and duration is not None and duration > 0 else None


def stated_differs(stated: float, derived: float) -> bool:
    """Whether a stated figure is more than 1 % from the derived one."""
    return abs(stated - derived) > SLACK * max(abs(derived), 1e-9)


def _check_time(curve: Curve, point: PointFacts, summary: SummaryFacts, findings: Findings) -> None:
    document = point.folder.summary
    if summary.duration_ns <= 0:
        place = document.at("duration_ns")
        findings.error("metric-consistency-duration", place, f"duration_ns is {summary.duration_ns:g}.")
    region = curve.regions.of(point.concurrency) if curve.regions is not None else None
    if region is not None and not point.dedicated:
        least = shortest_seconds(point.concurrency, agentic=point.load_pattern == AGENTIC)
        window = point.window.get("duration_s")
        seconds = window if window is not None else summary.duration_ns / 1e9
        basis = "The steady window" if window is not None else "The run"
        if seconds < least:
            says = f"{basis} lasts {seconds:,.0f} s of the {least:,} s that {point.concurrency} users ask for."
            findings.warning("point-duration", document.at("duration_ns"), says)
    if point.folder.point.mapping is not None and "steady_state" not in (point.folder.point.mapping or {}):
        says = "There is no steady_state block: the whole run counts."
        findings.warning("steady-state-basis", point.folder.point.place, says)
    elif point.status != "windowable":
        says = f"Status {point.status}: the whole run counts."
        findings.warning("steady-state-basis", point.folder.point.at("steady_state", "status"), says)
    verdict = ((point.folder.point.mapping or {}).get("steady_state") or {}).get("verdict")
    if verdict in ("drifting_up", "drifting_down"):
        says = f"{verdict}: report a range or slope, never a percentile."
        findings.warning("steady-state-basis", point.folder.point.at("steady_state", "verdict"), says)
    passes = window_passes(point)
    if point.status == "windowable" and passes is None:
        says = "windowable, but the window's super-passes are not given."
        findings.warning("steady-state-basis", point.folder.point.at("steady_state", "window"), says)


def _check_counts(curve: Curve, point: PointFacts, summary: SummaryFacts, findings: Findings) -> None:
    document = point.folder.summary
    accounted = summary.completed + summary.failed
    if summary.issued > 0 and accounted != summary.issued:
        says = f"{summary.completed} completed and {summary.failed} failed are not the {summary.issued} issued."
        findings.error("metric-consistency-accounting", document.at("n_samples_issued"), says)
    if summary.output_tokens < 0:
        place = document.at("output_sequence_lengths", "total")
        findings.error("metric-consistency-output-tokens", place, f"The total is {summary.output_tokens}.")
    least = curve.tables.fewest_queries.get(point.dataset)
    if least is not None and summary.completed < least:
        says = f"{summary.completed:,} samples completed of the {least:,} that {point.dataset} has."
        findings.error("min-query-count", document.at("n_samples_completed"), says)


def _check_rates(point: PointFacts, summary: SummaryFacts, findings: Findings) -> None:
    document, p90 = point.folder.summary, summary.tpot_p90_ns
    _compare(findings, "metric-consistency-system-tps", document, summary, "system_tps", summary.system_tps)
    if not point.dedicated:
        if p90 is None or not math.isfinite(p90) or p90 <= 0:
            says = "TPOT has no p90." if p90 is None else f"TPOT's p90 is {p90:g} ns."
            findings.error("metric-consistency-tpot-p90", document.at("tpot", "percentiles", "90"), says)
        else:
            _compare(findings, "metric-consistency-tps-per-user", document, summary, "tps_per_user", 1e9 / p90)
    interactivity = summary.interactivity
    if interactivity is None and "e2e_avg_interactivity" in summary.stated:
        says = "e2e_avg_interactivity is stated, but nothing that it could come from."
        findings.error("agentic-metric-consistency", document.at("e2e_avg_interactivity"), says)
    elif interactivity is not None:
        _compare(findings, "agentic-metric-consistency", document, summary, "e2e_avg_interactivity", interactivity)


def _compare(
    findings: Findings, rule: str, document: Document, summary: SummaryFacts, key: str, derived: float
) -> None:
    stated = summary.stated.get(key)
    if stated is not None and stated_differs(stated, derived):
        findings.error(rule, document.at(key), f"{key} is {stated:g}; the run gives {derived:g}.")


def _block(fields: Fields, name: str) -> tuple[float, float | None]:
    """A statistics block's total and p90, from whichever spelling of 90 it uses."""
    block = fields.mapping(name)
    if block is None:
        return 0.0, None
    total = block.number("total") or 0.0
    percentiles = block.mapping("percentiles")
    found: dict[float, float] = {}
    for key in percentiles.data if percentiles is not None else {}:
        value = percentiles.number(key) if percentiles is not None else None
        rank = _rank(key)
        if percentiles is None or value is None:
            continue
        if rank is None:
            percentiles.says(key, "is no percentile from 0 to 100")
        elif found.setdefault(rank, value) != value:
            percentiles.says(key, "is given twice with different values")
    return total, found.get(90.0)


def _rank(key: str) -> float | None:
    try:
        rank = float(key)
    except ValueError:
        return None
    return rank if 0 <= rank <= 100 else None


def _lenient(value: Any) -> float | None:
    """A stated figure: a number, or a text that reads as one."""
    if isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            return None
        return number if math.isfinite(number) else None
    return plain_number(value)


def _full_run_osl(data: dict[str, Any]) -> float | None:
    """Mean output tokens of all turns of the full run, which agentic models are gated by (§4.3)."""
    outer = data.get("output_sequence_lengths_full_run")
    inner = cast(dict[str, Any], outer).get("output_sequence_lengths") if isinstance(outer, dict) else None
    return plain_number(cast(dict[str, Any], inner).get("avg")) if isinstance(inner, dict) else None
