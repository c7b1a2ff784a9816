"""Checks MLPerf Inference v6.1 folders of edge agentic and end-to-end RAG: what the official checker reads there.

Our own reading of mlcommons/inference at b66003e1 (2026-08-20), which is not a package to run. Beyond it: the gate of
edge agentic on both BFCL scores, for which that checker holds a placeholder, and the TEST09 bounds.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

import msgspec

from relaymark.rules.bundle import Document, read_json, read_yaml
from relaymark.rules.fields import plain_number, whole_number
from relaymark.rules.findings import Findings
from relaymark.rules.inference_layout import (
    ACCURACY_LOG,
    ACCURACY_TEXT,
    DETAIL,
    EDGE,
    MEASUREMENTS,
    QNA,
    SCENARIO,
    SUMMARY,
    VERIFY,
)
from relaymark.rules.limits import InferenceBenchmark, Round, inference

_BFCL_SAMPLES = 995
_PERCENTILES = ("50", "90", "95", "99", "99.9")
_LARGEST_LOG = 10 * 1024
_ACCURACY = re.compile(r"^Accuracy:\s*([0-9]{1,6}(?:\.[0-9]{1,12})?)", re.MULTILINE)
_HASH = re.compile(r"^hash=[0-9a-f]{64}$", re.MULTILINE)


def check_inference(root: Path, round_name: str = "v6.1") -> Findings:
    """Checks a submitter's folder: it holds ``results``, ``systems`` and ``src``."""
    findings = Findings()
    if not (root / "results").is_dir():
        findings.error("inference-layout", str(root), "The folder has no results/.")
        return findings
    if not any((root / "src").glob("*")):
        findings.error("inference-layout", "src", "src/ is missing or empty.")
    rules = inference().rounds[round_name]
    found = 0
    for system in sorted(path for path in (root / "results").iterdir() if path.is_dir()):
        description = read_json(root / "systems" / f"{system.name}.json", root)
        if description.mapping is None:
            says = f"The system's description {description.problem or 'is not a mapping'}."
            findings.error("inference-layout", description.place, says)
        for benchmark in sorted(path for path in system.iterdir() if path.is_dir()):
            limits = inference().benchmark(benchmark.name, round_name)
            if benchmark.name not in SCENARIO or limits is None:
                says = f"{benchmark.name} is not one of {', '.join(SCENARIO)}: it was not looked at."
                findings.warning("inference-layout", benchmark.relative_to(root).as_posix(), says)
                continue
            found += 1
            _check_benchmark(benchmark, root, limits, rules, findings)
    if not found:
        findings.error("inference-layout", "results", "There is no result that could be checked.")
    return findings


def _check_benchmark(benchmark: Path, root: Path, limits: InferenceBenchmark, rules: Round, findings: Findings) -> None:
    folder = benchmark / SCENARIO[benchmark.name]
    place = folder.relative_to(root).as_posix()
    if not folder.is_dir():
        findings.error("inference-layout", place, f"The scenario {folder.name} is required and missing.")
        return
    if not (folder / "README.md").is_file():
        findings.error("inference-layout", place, "README.md is missing.")
    measurements = read_json(folder / "measurements.json", root)
    empty = [key for key in MEASUREMENTS if not (measurements.mapping or {}).get(key)]
    if empty:
        findings.error("inference-measurements", measurements.place, f"Empty or missing: {', '.join(empty)}.")
    if benchmark.name == EDGE:
        _check_edge(folder, root, limits, rules, findings)
    else:
        _check_rag(folder, root, benchmark.name, limits, rules, findings)


def _check_edge(folder: Path, root: Path, limits: InferenceBenchmark, rules: Round, findings: Findings) -> None:
    config = read_yaml(folder / "config.yaml", root)
    runtime = _inner(_inner(config.mapping or {}, "settings"), "runtime")
    if config.mapping is None:
        findings.error("inference-layout", config.place, f"config.yaml {config.problem or 'is not a mapping'}.")
    wanted = {"scheduler_random_seed": "schedule_rng_seed", "dataloader_random_seed": "sample_index_rng_seed"}
    for name, seed in wanted.items():
        if runtime.get(name) != rules.seeds[seed]:
            says = f"{name} is {runtime.get(name)}; the round's is {rules.seeds[seed]}."
            findings.error("inference-seeds", config.at("settings", "runtime", name), says)
    least, asked = 1000 * rules.min_duration_s, whole_number(runtime.get("min_duration_ms"))
    if asked is None or asked < least:
        place = config.at("settings", "runtime", "min_duration_ms")
        findings.error("inference-duration", place, f"min_duration_ms is {asked}; at least {least} must be configured.")
    summary = read_json(folder / "performance" / "result_summary.json", root)
    latency = _inner(summary.mapping or {}, "latency")
    if summary.mapping is None or plain_number(latency.get("avg")) is None:
        says = "The result is latency.avg, which is missing."
        findings.error("inference-layout", summary.at("latency", "avg"), says)
    given = {f"{float(key):g}" for key in _inner(latency, "early_stopping_percentiles") if _is_number(key)}
    missing = [p for p in _PERCENTILES if p not in given]
    if missing:
        place = summary.at("latency", "early_stopping_percentiles")
        findings.error("inference-percentiles", place, f"No early-stopping estimate is given for {', '.join(missing)}.")
    _check_bfcl(read_json(folder / "accuracy" / "accuracy_results.json", root), limits, findings)


def _check_bfcl(document: Document, limits: InferenceBenchmark, findings: Findings) -> None:
    scores = (document.mapping or {}).get("accuracy_scores")
    rows = [cast(dict[str, Any], row) for row in cast(list[Any], scores)] if isinstance(scores, list) else []
    runs = [row for row in rows if row.get("dataset_type", "accuracy") == "accuracy"]
    total = sum(whole_number(row.get("total_samples")) or 0 for row in runs)
    if total != _BFCL_SAMPLES:
        says = f"{total} accuracy samples; exactly {_BFCL_SAMPLES} are asked for."
        findings.error("inference-counts", document.at("accuracy_scores"), says)
    breakdown = _inner(runs[0], "breakdown") if runs else {}
    names = {"bfcl_overall": "overall_accuracy", "bfcl_normalized": "normalized_single_turn_score"}
    for metric, (low, _) in limits.targets("SingleStream").items():
        value = plain_number(breakdown.get(names[metric]))
        if value is None and metric == "bfcl_overall" and runs:
            value = plain_number(runs[0].get("score"))
        percent = None if value is None else 100 * value if 0 <= value <= 1 else value
        place = document.at("accuracy_scores", 0, "breakdown", names[metric])
        if percent is None:
            findings.error("inference-accuracy-target", place, f"{names[metric]} is missing.")
        elif low is not None and percent < low:
            findings.error("inference-accuracy-target", place, f"{percent:.2f} %; {low:.2f} % is asked for.")


def _check_rag(
    folder: Path, root: Path, name: str, limits: InferenceBenchmark, rules: Round, findings: Findings
) -> None:
    if not (folder / "user.conf").is_file():
        findings.error("inference-layout", folder.relative_to(root).as_posix(), "user.conf is missing.")
    performance = _read_log(folder / "performance" / "run_1", root, findings)
    accuracy = _read_log(folder / "accuracy", root, findings)
    place = (folder / "performance" / "run_1" / DETAIL).relative_to(root).as_posix()
    if performance is not None:
        _check_log(performance, place, limits, rules, findings)
    if accuracy is not None:
        count = accuracy.get("effective_accuracy_sample_count", accuracy.get("qsl_reported_total_count"))
        if count != limits.samples:
            says = f"{count} accuracy samples; exactly {limits.samples} are asked for."
            findings.error("inference-counts", (folder / "accuracy" / DETAIL).relative_to(root).as_posix(), says)
    _check_accuracy_text(folder / "accuracy", root, limits, findings)
    if name == QNA:
        verify = folder / "TEST09" / VERIFY
        text = verify.read_text(encoding="utf-8", errors="replace")[:10_000] if verify.is_file() else ""
        if "TEST PASS" not in text:
            says = "TEST09 did not pass." if text else "TEST09 is missing."
            findings.error("inference-test09", verify.relative_to(root).as_posix(), says)


def _check_log(log: dict[str, Any], place: str, limits: InferenceBenchmark, rules: Round, findings: Findings) -> None:
    for name, value in rules.seeds.items():
        if log.get(f"effective_{name}") != value:
            says = f"effective_{name} is {log.get(f'effective_{name}')}; the round's is {value}."
            findings.error("inference-seeds", place, says)
    if log.get("effective_scenario") != "Offline":
        findings.error("inference-layout", place, f"effective_scenario is {log.get('effective_scenario')!r}.")
    least = {
        "effective_performance_sample_count": limits.performance_samples,
        "effective_samples_per_query": limits.samples,
        "effective_min_query_count": 1,
    }
    for key, value in least.items():
        given = whole_number(log.get(key))
        if given is None or given < value:
            findings.error("inference-counts", place, f"{key} is {given}; at least {value} is asked for.")
    if plain_number(log.get("result_samples_per_second")) is None:
        findings.error("inference-layout", place, "result_samples_per_second is missing.")
    if whole_number(log.get("num_errors")):
        findings.error("inference-counts", place, f"The log counts {log.get('num_errors')} errors.")


def _check_accuracy_text(folder: Path, root: Path, limits: InferenceBenchmark, findings: Findings) -> None:
    path = folder / ACCURACY_TEXT
    place = path.relative_to(root).as_posix()
    text = path.read_text(encoding="utf-8", errors="replace")[:10_000] if path.is_file() else ""
    match = _ACCURACY.search(text)
    if match is None:
        findings.error("inference-accuracy-file", place, "No line begins with `Accuracy: <number>`.")
    else:
        low = next((bounds[0] for bounds in limits.targets("Offline").values()), None)
        if low is not None and float(match[1]) < low:
            findings.error("inference-accuracy-target", place, f"{match[1]} %; {low:g} % is asked for.")
    if _HASH.search(text) is None:
        findings.error("inference-accuracy-file", place, "There is no line hash=<sha256>.")
    log = folder / ACCURACY_LOG
    if not log.is_file() or log.stat().st_size > _LARGEST_LOG:
        says = f"{ACCURACY_LOG} is missing, or larger than {_LARGEST_LOG >> 10} KiB."
        findings.error("inference-accuracy-file", log.relative_to(root).as_posix(), says)


def _read_log(folder: Path, root: Path, findings: Findings) -> dict[str, Any] | None:
    """Key → value of a detail log; later lines win."""
    place = folder.relative_to(root).as_posix()
    if not (folder / SUMMARY).is_file():
        findings.error("inference-layout", place, f"{SUMMARY} is missing.")
    path = folder / DETAIL
    if not path.is_file():
        findings.error("inference-layout", place, f"{DETAIL} is missing.")
        return None
    found: dict[str, Any] = {}
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            if not line.startswith(":::MLLOG "):
                continue
            try:
                entry: Any = msgspec.json.decode(line[9:])
            except (msgspec.DecodeError, RecursionError):
                findings.error("inference-layout", f"{place}/{DETAIL}", "A line of the log is not JSON.")
                return None
            if isinstance(entry, dict):
                row = cast(dict[str, Any], entry)
                found[str(row.get("key"))] = row.get("value")
    return found


def _inner(data: dict[str, Any], key: str) -> dict[str, Any]:
    value = data.get(key)
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
