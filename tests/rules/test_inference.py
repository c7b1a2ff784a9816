"""MLPerf Inference v6.1: limits against the shared figures, layouts built, and each broken part named."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from made_submission import client_config, result_summary

from relaymark.bench import load_preset
from relaymark.data.trajectories import write_trajectories
from relaymark.data.trajectories.synthesis import small_profile, synthesise
from relaymark.emulate import ScriptedConfig, start_scripted
from relaymark.errors import ConfigError
from relaymark.measure.run import summarise_run
from relaymark.relay import Coordinator, finish, prepare
from relaymark.rules import inference
from relaymark.rules.edge_accuracy import accuracy_results
from relaymark.rules.inference_check import check_inference
from relaymark.rules.inference_layout import build_inference, read_inference_submission
from relaymark.score.bfcl.scoring import score_of
from relaymark.score.bfcl.selection import SUBSETS
from relaymark.score.result import write_score
from relaymark.score.turns import score_turns

FIGURES = Path("../shared/data/mlperf_rounds.json")
MEASUREMENTS = {
    "input_data_types": "fp16",
    "retraining": "no",
    "starting_weights_filename": "https://example.org/weights",
    "weight_data_types": "int4",
    "weight_transformations": "none",
}


def test_the_tables_hold_the_figures_of_the_rounds() -> None:
    if not FIGURES.is_file():
        pytest.skip("the figures of the rounds are not here")
    figures = json.loads(FIGURES.read_text())
    for name, rules in figures["rounds"].items():
        ours = inference().rounds[name]
        assert ours.seeds == rules["seeds"]
        assert 1000 * ours.min_duration_s == rules["min_duration_ms"]
        for benchmark, given in rules["benchmarks"].items():
            mine = inference().benchmark(benchmark, name)
            assert mine is not None
            assert mine.samples == given["dataset_size"]
            for scenario, limit in given.get("latency_limit_ms", {}).items():
                assert mine.limits[scenario].latency_ms == limit
            for scenario, limit in given.get("token_latency_p99_limit_ms", {}).items():
                assert (mine.limits[scenario].ttft_p99_ms, mine.limits[scenario].tpot_p99_ms) == (
                    limit["ttft"],
                    limit["tpot"],
                )
            for scenario, fewest in given.get("min_queries", {}).items():
                assert mine.limits[scenario].fewest_queries == fewest
            if isinstance(given.get("accuracy_at_least"), list) and benchmark != "qwen3.6-27b":
                lows = {metric: bounds[0] for metric, bounds in mine.accuracy.items() if bounds[0] is not None}
                assert lows == {each["metric"]: pytest.approx(each["value"]) for each in given["accuracy_at_least"]}
    assert inference().benchmark("llama3.1-405b", "v6.1") is None


def test_edge_agentic_is_held_to_what_the_rules_gate() -> None:
    # the checker's table has a placeholder there; the rules: 0.97 of 86.23 overall and of 87.96 normalised
    edge = inference().benchmark("qwen3.6-27b", "v6.1")
    assert edge is not None
    assert edge.accuracy["bfcl_overall"][0] == pytest.approx(0.97 * 86.23)
    assert edge.accuracy["bfcl_normalized"][0] == pytest.approx(0.97 * 87.96)


def shared_files(folder: Path) -> None:
    (folder / "code").mkdir(parents=True)
    (folder / "code/run.py").write_text("print('made up')\n")
    (folder / "acme-1.json").write_text('{"submitter": "Acme"}')
    (folder / "README.md").write_text("# How it was run\n")


def submission(folder: Path, benchmark: str, performance: str, accuracy: object) -> Path:
    file = folder / f"{benchmark}.yaml"
    data = {
        "round": "v6.1", "division": "closed", "submitter": "Acme", "system": "acme-1.json", "benchmark": benchmark,
        "src": "code", "readme": "README.md", "performance": performance, "accuracy": accuracy,
        "measurements": MEASUREMENTS,
    }  # fmt: skip
    file.write_text(json.dumps(data))
    return file


@pytest.fixture
def edge(tmp_path: Path) -> Path:
    shared_files(tmp_path)
    seeds = inference().rounds["v6.1"].seeds
    config = client_config(1, "agentic_inference")
    config["settings"]["runtime"] = {
        "scheduler_random_seed": seeds["schedule_rng_seed"],
        "dataloader_random_seed": seeds["sample_index_rng_seed"],
        "min_duration_ms": 600000,
    }
    summary = result_summary(1, 1, 2.0)
    summary["latency"]["early_stopping_percentiles"] = dict.fromkeys(("50", "90", "95", "99", "99.9"), 1000000000.0)
    (tmp_path / "run/performance").mkdir(parents=True)
    (tmp_path / "run/performance/result_summary.json").write_text(json.dumps(summary))
    (tmp_path / "run/config.yaml").write_text(json.dumps(config))
    scores = {"overall_accuracy": 0.8623, "normalized_single_turn_score": 0.8796}
    bfcl = {"dataset_name": "bfcl", "dataset_type": "accuracy", "score": 0.8623, "total_samples": 995}
    (tmp_path / "bfcl.json").write_text(json.dumps({"accuracy_scores": [{**bfcl, "breakdown": scores}]}))
    file = submission(tmp_path, "qwen3.6-27b", "run", "bfcl.json")
    return build_inference(read_inference_submission(file), tmp_path / "out")


def change(path: Path, edit: Callable[[Any], None]) -> None:
    data = yaml.safe_load(path.read_text()) if path.suffix == ".yaml" else json.loads(path.read_text())
    edit(data)
    path.write_text(yaml.safe_dump(data) if path.suffix == ".yaml" else json.dumps(data))


def test_edge_agentic_is_built_and_passes(edge: Path) -> None:
    assert not check_inference(edge).found
    folder = edge / "results/acme-1/qwen3.6-27b/SingleStream"
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    assert names == [
        "README.md",
        "accuracy/accuracy_results.json",
        "config.yaml",
        "measurements.json",
        "performance/result_summary.json",
    ]
    assert (edge / "systems/acme-1.json").is_file()
    assert (edge / "src/run.py").is_file()


EDGE_BROKEN: list[tuple[str, str, Callable[[Any], Any]]] = [
    ("inference-seeds", "config.yaml", lambda data: data["settings"]["runtime"].update(scheduler_random_seed=42)),
    ("inference-duration", "config.yaml", lambda data: data["settings"]["runtime"].update(min_duration_ms=0)),
    ("inference-measurements", "measurements.json", lambda data: data.update(retraining="")),
    ("inference-percentiles", "performance/result_summary.json",
     lambda data: data["latency"].pop("early_stopping_percentiles")),
    ("inference-counts", "accuracy/accuracy_results.json",
     lambda data: data["accuracy_scores"][0].update(total_samples=994)),
    ("inference-accuracy-target", "accuracy/accuracy_results.json",
     lambda data: data["accuracy_scores"][0]["breakdown"].update(overall_accuracy=832 / 995)),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "file", "edit"), EDGE_BROKEN, ids=[rule for rule, _, _ in EDGE_BROKEN])
def test_what_breaks_edge_agentic_is_named(edge: Path, rule: str, file: str, edit: Callable[[Any], Any]) -> None:
    change(edge / "results/acme-1/qwen3.6-27b/SingleStream" / file, edit)
    assert check_inference(edge).rules() == {rule}


@pytest.fixture
def database(tmp_path: Path) -> Path:
    shared_files(tmp_path)
    (tmp_path / "build").mkdir()
    built = {"documents": 2515, "documents_per_second": 12.5, "seconds": 201.2, "resumed": 0}
    (tmp_path / "build/build.json").write_text(json.dumps(built))
    file = submission(tmp_path, "e2e-rag-db", "build", 98.6)
    return build_inference(read_inference_submission(file), tmp_path / "out")


def test_an_index_build_is_laid_out_and_passes(database: Path) -> None:
    assert not check_inference(database).found
    folder = database / "results/acme-1/e2e-rag-db/Offline"
    detail = (folder / "performance/run_1/mlperf_log_detail.txt").read_text()
    assert '"key":"result_samples_per_second","value":12.5' in detail
    assert "not LoadGen" in detail
    assert (folder / "accuracy/accuracy.txt").read_text().startswith("Accuracy: 98.6000\nhash=")


@pytest.mark.parametrize(
    ("rule", "file", "old", "new"),
    [
        ("inference-seeds", "performance/run_1/mlperf_log_detail.txt", "2085463073848966840", "42"),
        ("inference-counts", "performance/run_1/mlperf_log_detail.txt", "2515", "2514"),
        ("inference-counts", "accuracy/mlperf_log_detail.txt", "2515", "2516"),
        ("inference-accuracy-target", "accuracy/accuracy.txt", "98.6000", "97.9"),
        ("inference-accuracy-file", "accuracy/accuracy.txt", "Accuracy:", "accuracy is"),
        ("inference-accuracy-file", "accuracy/accuracy.txt", "hash=", "sum="),
    ],
)
def test_what_breaks_an_index_build_is_named(database: Path, rule: str, file: str, old: str, new: str) -> None:
    path = database / "results/acme-1/e2e-rag-db/Offline" / file
    path.write_text(path.read_text().replace(old, new))
    assert check_inference(database).rules() == {rule}


def test_missing_parts_are_named(database: Path) -> None:
    folder = database / "results/acme-1/e2e-rag-db/Offline"
    (folder / "user.conf").unlink()
    shutil.rmtree(database / "systems")
    findings = check_inference(database).errors
    assert {finding.rule for finding in findings} == {"inference-layout"}
    assert any("user.conf" in finding.says for finding in findings)
    assert check_inference(database / "systems").rules() == {"inference-layout"}


def test_a_build_that_was_taken_up_again_is_no_measurement(tmp_path: Path) -> None:
    shared_files(tmp_path)
    (tmp_path / "build").mkdir()
    built = {"documents": 2515, "documents_per_second": 12.5, "seconds": 201.2, "resumed": 7}
    (tmp_path / "build/build.json").write_text(json.dumps(built))
    file = submission(tmp_path, "e2e-rag-db", "build", 98.6)
    with pytest.raises(ConfigError, match="no measurement"):
        build_inference(read_inference_submission(file), tmp_path / "out")
    assert not (tmp_path / "out/closed/Acme/results/acme-1/e2e-rag-db/Offline").exists()


def test_edge_agentic_of_our_own_run_is_built_from_what_it_left(tmp_path: Path) -> None:
    """A replay scored with BFCL: seeds and result are the run's, accuracy the score's."""
    shared_files(tmp_path)
    trajectories = list(synthesise(small_profile(), seed=1, conversations=2))
    write_trajectories(tmp_path / "t.jsonl", trajectories)
    script = tmp_path / "script.jsonl"
    with script.open("w") as file:
        for one in trajectories:
            file.writelines(json.dumps({"key": one.id, "reply": {"content": "ok"}}) + "\n" for _ in one.turns)
    with start_scripted(ScriptedConfig(script=f"record:{script}", settings={"key": "header:X-Session-ID"})) as server:
        bench = load_preset(
            "mlperf/v6.1/edge-agentic",
            [],
            {"endpoint.url": server.url, "trajectories": str(tmp_path / "t.jsonl")},
        )
        run = prepare(bench, tmp_path, tmp_path)
        Coordinator(run, None).run()
    finish(run)
    write_score(run, score_turns(run))
    counts = {subset.name: samples for subset, samples in zip(SUBSETS, BFCL_COUNTS, strict=True)}
    score = score_of({name: [True] * count for name, count in counts.items()}, 0)
    (run / "bfcl.json").write_bytes(msgspec.json.encode(score))
    file_ = submission(tmp_path, "qwen3.6-27b", run.name, run.name)
    built = build_inference(read_inference_submission(file_), tmp_path / "out")
    folder = built / "results/acme-1/qwen3.6-27b/SingleStream"
    # 16 turns are too few for any of LoadGen's estimates, and the duration is for the submitter to declare.
    assert check_inference(built).rules() == {"inference-duration"}
    change(folder / "config.yaml", lambda data: data["settings"]["runtime"].update(min_duration_ms=600000))
    assert not check_inference(built).found
    told = json.loads((folder / "performance/result_summary.json").read_text())
    summary = summarise_run(run).stages[0].turns
    assert summary is not None
    assert told["n_samples_issued"] == sum(len(one.turns) for one in trajectories) == summary.turns
    assert told["latency"]["avg"] == pytest.approx(summary.latency_mean)
    entries = json.loads((folder / "accuracy/accuracy_results.json").read_text())["accuracy_scores"]
    assert [entry["dataset_type"] for entry in entries] == ["accuracy", "performance"]
    assert entries[0]["total_samples"] == 995


BFCL_COUNTS = (24, 88, 105, 16, 24, 25, 124, 124, 124, 62, 31, 248)


def test_a_run_without_bfcl_is_no_edge_entry(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no BFCL score"):
        accuracy_results(tmp_path)
