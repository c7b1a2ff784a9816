"""What the rules ask for and the official checker (1.5.3.0) does not look at. Each was found by breaking a bundle."""

from __future__ import annotations

import re
from typing import Any, cast

from relaymark.rules.checks.accuracy import Accuracy, gated
from relaymark.rules.checks.system import DIVISIONS
from relaymark.rules.curve import THROUGHPUT, Curve, PointFacts
from relaymark.rules.findings import Findings
from relaymark.rules.regions import shortest_seconds

_DATASET_TYPES = ("Accuracy", "Performance", "Accuracy + Performance")
_ON = (True, "on", "auto", "true")
_SECRET = re.compile(r"(api_?key|token|secret|password|authorization)$", re.IGNORECASE)


def check_gaps(curve: Curve, accuracy: dict[int, Accuracy], findings: Findings) -> None:
    """All of them, point by point, then for the curve."""
    for point in curve.usable:
        _check_run(point, findings)
        _check_declarations(curve, point, findings)
        _check_passes(curve, point, findings)
        _check_offline(curve, point, findings)
        _check_config(point, findings)
    top = max((c for c in curve.fixed), default=0)
    if curve.c_max is not None and curve.points and curve.c_max > top:
        says = f"C_max is {curve.c_max}, but the highest point is {top}: nothing shows that it is supported."
        findings.warning("c-max-measured", curve.folder.place, says)
    _check_scores(curve, accuracy, findings)


def _check_run(point: PointFacts, findings: Findings) -> None:
    document, summary = point.folder.summary, point.summary
    data = document.mapping or {}
    for key, good in (("complete", (True, None)), ("state", ("complete", None))):
        if data.get(key) not in good:
            findings.error("run-complete", document.at(key), f"{key} is {data.get(key)!r}: the run did not end.")
            break
    if summary is None:
        return
    if summary.ttft_p90_ns is None and not point.dedicated:
        findings.error("ttft-present", document.at("ttft", "percentiles", "90"), "TTFT has no p90.")
    window, run = point.window.get("duration_s"), summary.duration_ns / 1e9
    if window is not None and window > run:
        place = point.folder.point.at("steady_state", "window", "duration_s")
        findings.error("window-within-run", place, f"The window lasts {window:,.1f} s, the run {run:,.1f} s.")
    inside = point.window.get("n_samples")
    if inside is not None and inside > summary.completed:
        place = point.folder.point.at("steady_state", "window", "n_samples")
        says = f"The window holds {inside:,.0f} samples, the run {summary.completed:,}."
        findings.error("window-within-run", place, says)


def _check_declarations(curve: Curve, point: PointFacts, findings: Findings) -> None:
    document = point.folder.point
    data, system = document.mapping or {}, point.folder.system.mapping or {}
    declared, described = data.get("max_supported_concurrency"), system.get("max_supported_concurrency")
    if declared is not None and described is not None and declared != described:
        says = f"max_supported_concurrency is {declared} here and {described} in system_desc.json."
        findings.error("declarations-agree", document.at("max_supported_concurrency"), says)
    one, other = str(data.get("division") or "").strip().lower(), str(system.get("division") or "").strip().lower()
    if one and other and one != other:
        says = f"division is {data.get('division')!r} here and {system.get('division')!r} in system_desc.json."
        findings.error("declarations-agree", document.at("division"), says)
    elif one and one not in [word.lower() for word in DIVISIONS]:
        says = f"division {data.get('division')!r} is none of {', '.join(DIVISIONS)}."
        findings.error("declarations-agree", document.at("division"), says)
    kind = data.get("dataset_type")
    if kind and kind not in _DATASET_TYPES:
        findings.error("dataset-type-known", document.at("dataset_type"), f"dataset_type is {kind!r}.")
    least = 1000 * shortest_seconds(point.concurrency, agentic=curve.agentic)
    if point.min_duration_ms is not None and point.min_duration_ms < least and not point.dedicated:
        place = document.at("runtime_settings", "min_duration_ms")
        says = f"min_duration_ms is {point.min_duration_ms}; {point.concurrency} users ask for {least}."
        findings.warning("min-duration-setting", place, says)
    if point.folder.system.mapping is not None and system.get("tps_utilization") is None:
        place = point.folder.system.at("tps_utilization")
        findings.warning("tps-utilization-present", place, "tps_utilization is not given.")


def _check_passes(curve: Curve, point: PointFacts, findings: Findings) -> None:
    model, summary = curve.model, point.summary
    if curve.agentic or model is None:
        return
    if point.dataset not in curve.tables.fewest_queries and model.datasets:
        says = f"The data set {point.dataset!r} is not one the official checker knows ({', '.join(model.datasets)})."
        findings.warning("dataset-known", point.folder.point.at("dataset"), says)
    size = curve.tables.fewest_queries.get(point.dataset) or model.performance_samples
    if summary is None or not size:
        return
    if summary.issued and summary.issued % size:
        says = f"{summary.issued:,} samples were issued, no multiple of {size:,}."
        findings.error("whole-passes", point.folder.summary.at("n_samples_issued"), says)
    if summary.completed < size and point.dataset not in curve.tables.fewest_queries:
        says = f"{summary.completed:,} samples completed of the {size:,} of one pass."
        findings.error("whole-passes", point.folder.summary.at("n_samples_completed"), says)


def _check_offline(curve: Curve, point: PointFacts, findings: Findings) -> None:
    if not point.dedicated:
        return
    document = point.folder.point
    if point.load_pattern != THROUGHPUT:
        place = document.at("runtime_settings", "load_pattern")
        findings.warning("offline-load-pattern", place, f"The dedicated Offline run's pattern is {point.load_pattern}.")
    size = curve.tables.fewest_queries.get(point.dataset) or (curve.model.performance_samples if curve.model else None)
    if size and point.concurrency != size:
        says = f"The dedicated Offline run's concurrency is {point.concurrency}; the data set holds {size:,}."
        findings.error("offline-cardinality", document.at("concurrency"), says)


def _check_config(point: PointFacts, findings: Findings) -> None:
    document = point.folder.config
    data = document.mapping or {}
    params = data.get("model_params")
    streaming = cast(dict[str, Any], params).get("streaming") if isinstance(params, dict) else None
    if not point.dedicated and streaming is not None and streaming not in _ON:
        says = f"model_params.streaming is {streaming!r} for a point at fixed concurrency."
        findings.error("streaming-on", document.at("model_params", "streaming"), says)
    datasets = data.get("datasets")
    first = cast(list[Any], datasets)[0] if isinstance(datasets, list) and datasets else None
    kind = cast(dict[str, Any], first).get("type") if isinstance(first, dict) else None
    if kind is not None and kind != "performance" and point.summary is not None:
        says = f"The first data set of config.yaml is of type {kind!r}."
        findings.warning("performance-first", document.at("datasets", 0, "type"), says)
    for keys, value in _secrets(data, ()):
        if value not in (None, "", "<redacted>"):
            findings.error("secret-redacted", document.at(*keys), f"{keys[-1]} is not redacted.")


def _secrets(value: Any, keys: tuple[str | int, ...]) -> list[tuple[tuple[str | int, ...], str]]:
    """Texts under a key that names a secret."""
    found: list[tuple[tuple[str | int, ...], str]] = []
    if isinstance(value, dict):
        for key, inner in cast(dict[str, Any], value).items():
            if isinstance(inner, str) and _SECRET.search(str(key)):
                found.append(((*keys, str(key)), inner))
            else:
                found += _secrets(inner, (*keys, str(key)))
    elif isinstance(value, list):
        for place, inner in enumerate(cast(list[Any], value)):
            found += _secrets(inner, (*keys, place))
    return found


def _check_scores(curve: Curve, accuracy: dict[int, Accuracy], findings: Findings) -> None:
    model = curve.model
    for result in accuracy.values():
        place = result.document.place
        for name, entry in result.entries.items():
            if entry.get("complete") not in (True, None):
                findings.error("accuracy-complete", place, f"{name} is not complete.")
            if not result.scores(name):
                findings.error("accuracy-complete", place, f"{name} has no score that reads as a number.")
        if model is not None and model.accuracy and not curve.agentic:
            scored, _ = gated(result, model)
            missing = [metric for metric in model.accuracy if metric not in scored]
            if missing:
                says = f"Not scored: {', '.join(missing)}."
                findings.error("accuracy-all-metrics", place, says)
