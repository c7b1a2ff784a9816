"""Builds a submission bundle of MLPerf Endpoints from runs and a submission file.

What a run measured goes in as it is. What only the submitter knows comes from the submission file; nothing is made up
to please a check, so a bundle that lacks something is written all the same and `check_bundle` names it.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from relaymark import __version__
from relaymark.errors import ConfigError
from relaymark.rules.bundle import read_json
from relaymark.rules.curve import CONCURRENCY, THROUGHPUT
from relaymark.rules.fields import Fields, plain_number
from relaymark.rules.limits import Endpoints, Model, endpoints
from relaymark.rules.power import Provisioned, provisioned
from relaymark.rules.regions import shortest_seconds
from relaymark.rules.runsource import RunSource, read_run
from relaymark.rules.submission import Submission, SubmittedPoint
from relaymark.rules.yamltext import yaml_text


def build_bundle(
    submission: Submission,
    out: Path,
    tables: Endpoints | None = None,
    tell: Callable[[int, int], None] | None = None,
) -> Path:
    """Writes ``out/<organisation>/<submission>/``; returns that folder.

    Args:
        submission: What to build.
        out: Folder to build in; the submission's own folder must not be there yet.
        tables: Limits to go by; the packaged ones by default.
        tell: Called with (points done, points in all).

    Raises:
        ConfigError: Two points have one concurrency, a file is missing, or the folder is there already.
        TraceError: A run cannot be read.
    """
    known = tables or endpoints()
    root = out / _slug(submission.organisation) / _slug(submission.submission)
    if root.exists():
        raise ConfigError("The bundle is there already.", where=str(root), mend="Remove it, or name another --out.")
    model = known.model(str(submission.point.get("model_name", "")))
    sources = _read_points(submission, known, model, tell)
    power = _power(submission, known)
    fresh = root.with_name(f".{root.name}.part")
    shutil.rmtree(fresh, ignore_errors=True)
    _write_shared(submission, fresh)
    system = _slug(str(submission.system.get("system_name", "system")))
    curve = fresh / "results" / system / (_slug(str(submission.point.get("model_name", ""))) or "model")
    if submission.power is not None:
        _write_json(fresh / "results" / system / "system_power.json", submission.power)
    peak = max((_system_tps(source.summary) or 0.0) for _, source, _ in sources)
    for each, source, concurrency in sources:
        _write_point(curve / f"r{concurrency}", submission, each, source, concurrency, model, peak, power)
    fresh.replace(root)  # whole or not at all
    return root


def _read_points(
    submission: Submission, tables: Endpoints, model: Model | None, tell: Callable[[int, int], None] | None
) -> list[tuple[SubmittedPoint, RunSource, int]]:
    dataset = str(submission.point.get("dataset", ""))
    size = tables.fewest_queries.get(dataset) or (model.performance_samples if model else None)
    agentic = model is not None and model.agentic
    found: list[tuple[SubmittedPoint, RunSource, int]] = []
    seen: dict[int, Path] = {}
    for count, each in enumerate(submission.points, 1):
        source = read_run(each.run, stage=each.stage, super_pass=size, agentic=agentic)
        concurrency = each.point.get("concurrency", source.concurrency)
        if source.load_pattern == THROUGHPUT or each.offline == "dedicated":
            concurrency = each.point.get("concurrency", size)  # §5.7.1: the data set's cardinality
        if not isinstance(concurrency, int) or concurrency < 1:
            raise ConfigError(
                "The point's concurrency cannot be told from its run.",
                where=str(each.run),
                mend="Give it in the submission file: point: {concurrency: 64}.",
            )
        if concurrency in seen:
            raise ConfigError(f"Two points have concurrency {concurrency}.", where=f"{seen[concurrency]}, {each.run}")
        seen[concurrency] = each.run
        found.append((each, source, concurrency))
        if tell is not None:
            tell(count, len(submission.points))
    return found


def _write_shared(submission: Submission, root: Path) -> None:
    for path, name in ((submission.src, "src"), (submission.docs, "docs")):
        if not path.is_dir():
            raise ConfigError("There is no such folder.", where=str(path), mend=f"{name}: names it.")
        # links are followed by nobody: they would carry files from elsewhere into what is made public
        shutil.copytree(path, root / name, symlinks=True)
    metadata = {"command": "relaymark rules build", "cli_version": __version__, "built_by": "relaymark"}
    _write_json(root / "cli_metadata.json", metadata)


def _write_point(
    folder: Path,
    submission: Submission,
    each: SubmittedPoint,
    source: RunSource,
    concurrency: int,
    model: Model | None,
    peak: float,
    power: Provisioned | None,
) -> None:
    folder.mkdir(parents=True)
    tps = _system_tps(source.summary)
    description = {**submission.system, **each.system}
    if tps is not None and peak > 0:
        description["tps_utilization"] = tps / peak
    description.setdefault("submitter_org_names", submission.organisation)
    _write_json(folder / "system_desc.json", description)
    point = _point_yaml(submission, each, source, concurrency, model, description)
    (folder / "point.yaml").write_text(yaml_text(point), encoding="utf-8")
    (folder / "config.yaml").write_text(yaml_text(source.config), encoding="utf-8")
    _write_json(folder / "result_summary.json", _with_rates(source.summary, point, power))
    if each.accuracy is not None:
        document = read_json(each.accuracy, each.accuracy.parent)
        if document.problem:
            raise ConfigError(f"{each.accuracy.name} {document.problem}.", where=str(each.accuracy))
        _write_json(folder / "accuracy_results.json", document.data)
    for path, name in source.copied:
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(path, folder / name)
    if each.server_configs is not None and each.server_configs.is_dir():
        shutil.copytree(each.server_configs, folder / "server_configs", symlinks=True)


def _point_yaml(
    submission: Submission,
    each: SubmittedPoint,
    source: RunSource,
    concurrency: int,
    model: Model | None,
    description: dict[str, Any],
) -> dict[str, Any]:
    given = {**submission.point, **each.point}
    agentic = model is not None and model.agentic
    settings: dict[str, Any] = dict(given.pop("runtime_settings", None) or {})
    offline = each.offline or ("dedicated" if source.load_pattern == THROUGHPUT else None)
    pattern = source.load_pattern if source.load_pattern != CONCURRENCY or not agentic else "agentic_inference"
    settings.setdefault("load_pattern", pattern)
    settings.setdefault("min_duration_ms", 1000 * shortest_seconds(concurrency, agentic=agentic))
    settings.setdefault("stream_all_chunks", True)
    settings.setdefault("runtime", {key: value for key, value in source.seeds.items() if value is not None})
    point: dict[str, Any] = {"concurrency": concurrency, "dataset": "", "runtime_settings": settings}
    point.update({key: value for key, value in given.items() if key != "concurrency"})
    if source.warmup is not None:
        point.setdefault("warmup", source.warmup)
    point.setdefault("division", description.get("division"))
    point.setdefault("max_supported_concurrency", description.get("max_supported_concurrency"))
    if offline is not None:
        point["offline"] = offline
    if source.steady is not None and offline != "dedicated":
        point.setdefault("steady_state", source.steady)
    implementations = sorted(path.name for path in submission.src.iterdir() if path.is_dir())
    if len(implementations) == 1:
        point.setdefault("shared_src", f"src/{implementations[0]}")
    point.setdefault("shared_docs", "docs")
    return point


def _with_rates(summary: dict[str, Any], point: dict[str, Any], power: Provisioned | None) -> dict[str, Any]:
    """The summary with tokens a kilowatt, where the power is known (§4.5.3)."""
    kw = None
    if power is not None and not power.problems:
        used = {row.get("system_node_ensemble_id"): row.get("nodes") for row in point.get("nodes_used") or []}
        sets = {
            each.node_set_id: used[each.ensemble] for each in power.sets if isinstance(used.get(each.ensemble), int)
        }
        kw = power.point_kw(sets)
    tps = _system_tps(summary)
    return {**summary, "system_tps_per_kw": round(tps / kw, 1)} if kw and tps and tps / kw >= 10 else summary


def _system_tps(summary: dict[str, Any]) -> float | None:
    """Output tokens/s of the whole run (§4.1)."""
    lengths = summary.get("output_sequence_lengths")
    total = plain_number(lengths.get("total")) if isinstance(lengths, dict) else None
    duration = plain_number(summary.get("duration_ns"))
    return int(total) / (duration / 1e9) if total is not None and duration else None


def _power(submission: Submission, tables: Endpoints) -> Provisioned | None:
    return None if submission.power is None else provisioned(Fields(submission.power), tables.power, {})


def _write_json(path: Path, data: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(data), indent=2) + b"\n")


def _slug(text: str) -> str:
    """A folder's name: spaces and what a path could be misread by become underscores."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", text).strip("._")[:64] or "unnamed"
