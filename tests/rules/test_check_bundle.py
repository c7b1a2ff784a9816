"""Bundles against the official checker: what passes there passes here, and what is broken is refused by both."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from made_submission import SIZE, write_submission
from submission_checker.checker import SubmissionChecker

from relaymark.rules import Severity, build_bundle, check_bundle, read_submission
from relaymark.rules.rulebook import RULEBOOK

SAMPLE = Path("../shared/data/endpoints_sample_bundle")
LEVELS = (1, 4, 16, 32, 64, 128, 256)


def official(root: Path) -> tuple[set[str], set[str]]:
    report = SubmissionChecker(root).run()
    return {found.rule for found in report.errors}, {found.rule for found in report.warnings}


def ours(root: Path) -> tuple[set[str], set[str]]:
    """Rules that fail and rules that warn, as far as the official checker has them."""
    findings = check_bundle(root)
    known = [finding for finding in findings.found if not finding.ours]
    return (
        {finding.rule for finding in known if finding.severity is Severity.ERROR},
        {finding.rule for finding in known if finding.severity is Severity.WARNING},
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("submission")
    file = write_submission(folder, LEVELS, (1, 4, 16, 256))
    return build_bundle(read_submission(file), folder / "out")


@pytest.fixture
def bundle(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "bundle"))


def change(path: Path, edit: Callable[[Any], None]) -> None:
    """Edits a JSON or YAML file in place."""
    data = yaml.safe_load(path.read_text()) if path.suffix == ".yaml" else json.loads(path.read_text())
    edit(data)
    path.write_text(yaml.safe_dump(data) if path.suffix == ".yaml" else json.dumps(data))


def points(root: Path) -> Path:
    return root / "results" / "ACME_X100x8" / "llama3_1-8b"


def test_the_sample_bundle_passes_with_the_official_warning() -> None:
    if not SAMPLE.is_dir():
        pytest.skip("the sample bundle is not here")
    findings = check_bundle(SAMPLE)
    assert not findings.errors
    assert [finding.rule for finding in findings.warnings] == ["steady-state-basis"]


def test_what_we_build_passes_both_checkers(built: Path) -> None:
    assert official(built) == (set(), {"steady-state-basis"})
    assert ours(built) == official(built)
    assert not [finding for finding in check_bundle(built).errors if finding.ours]


def test_an_elected_offline_point_passes_without_warnings(tmp_path: Path) -> None:
    file = write_submission(tmp_path, LEVELS, (1, 4, 16, 256), offline=False)
    root = build_bundle(read_submission(file), tmp_path / "out")
    assert official(root) == (set(), set()) == ours(root)
    assert not check_bundle(root).found


def _set(path: tuple[Any, ...], value: Any) -> Callable[[Any], None]:
    def edit(data: Any) -> None:
        for key in path[:-1]:
            data = data[key]
        data[path[-1]] = value

    return edit


def _drop(key: str) -> Callable[[Any], None]:
    return lambda data: data.pop(key)


BROKEN: list[tuple[str, str, Callable[[Any], None]]] = [
    # rule, file under the curve, what is done to it
    ("seed-runtime-match", "r16/point.yaml", _set(("runtime_settings", "runtime", "model_seed"), 42)),
    ("point-config-valid", "r64/point.yaml", _set(("warmup", "requests_completed"), 10_000)),
    ("steady-state-consistency", "r4/point.yaml", _set(("steady_state", "window", "super_pass_end"), 2)),
    ("concurrency-in-range", "r128/point.yaml", _set(("concurrency",), 300)),
    ("model-name-valid", "r1/point.yaml", _set(("model_name",), "llama3.1-8b")),
    ("approved-drafter", "r1/point.yaml", _set(("speculative_decoding",), {"weight_checksum": "git-sha1:0"})),
    ("system-description-valid", "r1/system_desc.json", _set(("availability_url",), "")),
    ("maximal-engagement", "r64/system_desc.json", _set(("data_parallel",), 4)),
    ("tps-utilization", "r64/system_desc.json", _set(("tps_utilization",), 0.99)),
    ("metric-consistency-accounting", "r16/result_summary.json", _set(("n_samples_failed",), 5)),
    ("metric-consistency-tps-per-kw", "r16/result_summary.json", _set(("system_tps_per_kw",), 1.0)),
    ("result-file-valid", "r16/result_summary.json", _drop("duration_ns")),
    ("min-query-count", "r16/result_summary.json", _set(("n_samples_completed",), SIZE - 1)),
    ("accuracy-gate", "r16/accuracy_results.json", _set(("accuracy_scores", 0, "score", "rouge1"), 30.0)),
    ("accuracy-sample-count", "r4/accuracy_results.json", _set(("accuracy_scores", 0, "unit_samples"), 100)),
    ("power-descriptor", "../system_power.json", _set(("cooling",), "liquid")),
]


@pytest.mark.parametrize(("rule", "file", "edit"), BROKEN, ids=[rule for rule, _, _ in BROKEN])
def test_a_broken_bundle_is_refused_with_the_rule_named(
    bundle: Path, rule: str, file: str, edit: Callable[[Any], None]
) -> None:
    change(points(bundle) / file, edit)
    found = check_bundle(bundle).errors
    finding = next(each for each in found if each.rule == rule)
    assert {each.rule for each in found if not each.ours} == official(bundle)[0]
    assert finding.mend and finding.place and finding.says.endswith(".")


def test_missing_files_and_folders_are_refused_alike(bundle: Path) -> None:
    (points(bundle) / "r4" / "config.yaml").unlink()
    (points(bundle) / "r16" / "result_summary.json").unlink()
    (points(bundle) / "r32" / "system_desc.json").unlink()
    (points(bundle) / "r64" / "point.yaml").unlink()
    shutil.rmtree(bundle / "docs")
    errors, _ = ours(bundle)
    assert errors == official(bundle)[0]
    assert errors >= {
        "config-file-present",
        "result-summary-present",
        "system-description-present",
        "measurement-points-present",
        "required-dir",
    }


def test_a_curve_with_too_few_points_and_an_accuracy_result_too_many(bundle: Path) -> None:
    shutil.rmtree(points(bundle) / "r16")
    shutil.rmtree(points(bundle) / "r32")
    shutil.copyfile(points(bundle) / "r4" / "accuracy_results.json", points(bundle) / "r128" / "accuracy_results.json")
    errors, _ = ours(bundle)
    assert errors == official(bundle)[0] == {"point-count", "med-concurrency-coverage", "accuracy-coverage"}


GAPS: list[tuple[str, str, Callable[[Any], None]]] = [
    ("run-complete", "r16/result_summary.json", _set(("complete",), False)),
    ("ttft-present", "r16/result_summary.json", _set(("ttft",), {})),
    ("whole-passes", "r16/result_summary.json", lambda data: data.update(n_samples_issued=data["n_samples_issued"] + 1,
                                                                         n_samples_failed=1)),
    ("window-within-run", "r16/point.yaml", _set(("steady_state", "window", "duration_s"), 10.0**9)),
    ("declarations-agree", "r16/point.yaml", _set(("max_supported_concurrency",), 512)),
    ("declarations-agree", "r16/point.yaml", _set(("division",), "RDI")),
    ("dataset-type-known", "r16/point.yaml", _set(("dataset_type",), "Speed")),
    ("streaming-on", "r16/config.yaml", _set(("model_params", "streaming"), "off")),
    ("secret-redacted", "r16/config.yaml", _set(("endpoint_config", "api_key"), "sk-real")),
    ("accuracy-complete", "r16/accuracy_results.json", _set(("accuracy_scores", 0, "complete"), False)),
    ("accuracy-all-metrics", "r16/accuracy_results.json", _set(("accuracy_scores", 0, "score"), {"rouge1": 39.0})),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "file", "edit"), GAPS, ids=[f"{rule}-{n}" for n, (rule, _, _) in enumerate(GAPS)])
def test_what_the_official_checker_lets_pass_is_refused_here(
    bundle: Path, rule: str, file: str, edit: Callable[[Any], None]
) -> None:
    change(points(bundle) / file, edit)
    assert official(bundle)[0] == set()
    assert check_bundle(bundle).rules() == {rule}
    assert RULEBOOK[rule].ours


def test_a_dedicated_offline_run_covers_no_region(bundle: Path) -> None:
    for name in ("r128", "r256", "r64"):
        shutil.rmtree(points(bundle) / name)
    change(points(bundle) / f"r{SIZE}" / "point.yaml", _set(("concurrency",), 200))
    assert "high-concurrency-coverage" in check_bundle(bundle).rules()
    assert "high-concurrency-coverage" not in official(bundle)[0]
    assert "offline-cardinality" in check_bundle(bundle).rules()


def test_no_bundle_at_all(tmp_path: Path) -> None:
    assert check_bundle(tmp_path / "nowhere").rules() == {"path-exists"}
    assert check_bundle(tmp_path).rules() == {"required-dir", "src-dir"} == official(tmp_path)[0]
