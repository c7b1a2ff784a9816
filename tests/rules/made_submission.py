"""A made-up submission in the reference client's files: every value invented, every rule of the round met."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

SIZE = 13368
SEEDS = (10487924139932647040, 586478644936801402, 9315206023656308754)


def stat(value: float, count: int) -> dict[str, Any]:
    percentiles = {str(p): value * (1 + (p - 50) / 250) for p in (99.9, 99.0, 95.0, 90.0, 50.0, 10.0, 1.0)}
    return {"total": value * count, "min": value * 0.8, "max": value * 1.3, "avg": value, "percentiles": percentiles}


def result_summary(concurrency: int, passes: int, rate: float, *, latencies: bool = True) -> dict[str, Any]:
    count = passes * SIZE
    summary: dict[str, Any] = {
        "n_samples_issued": count,
        "n_samples_completed": count,
        "n_samples_failed": 0,
        "duration_ns": int(count / rate * 1e9),
        "state": "complete",
        "complete": True,
        "ttft": stat(20e6 + concurrency * 1e5, count) if latencies else {},
        "tpot": stat(4e6 + concurrency * 2e4, count) if latencies else {},
        "latency": stat(5e8 + concurrency * 1e6, count),
        "output_sequence_lengths": {"total": 128.0 * count, "avg": 128.0},
    }
    return summary


def client_config(concurrency: int | None, pattern: str = "concurrency") -> dict[str, Any]:
    return {
        "name": f"point-c{concurrency}",
        "type": "online" if pattern == "concurrency" else "offline",
        "model_params": {"name": "m", "seed": SEEDS[2], "streaming": "on", "max_new_tokens": 128},
        "datasets": [{"name": "perf", "type": "performance", "path": "made-up.jsonl"}],
        "settings": {
            "runtime": {"scheduler_random_seed": SEEDS[0], "dataloader_random_seed": SEEDS[1]},
            "load_pattern": {"type": pattern, "target_concurrency": concurrency},
        },
        "endpoint_config": {"endpoints": ["http://sut.local:8000"], "api_key": "<redacted>", "api_type": "openai"},
    }


def accuracy() -> dict[str, Any]:
    score = {"rouge1": "38.70", "rouge2": "15.90", "rougeL": "24.45", "rougeLsum": "35.70", "gen_len": "8167000"}
    entry = {
        "dataset_name": "cnn_dailymail::llama3_8b",
        "dataset_type": "accuracy",
        "score": score,
        "unit_samples": SIZE,
        "num_repeats": 1,
        "complete": True,
    }
    return {"accuracy_scores": [entry]}


def system_desc(c_max: int) -> dict[str, Any]:
    node = {
        "system_node_ensemble_id": 0,
        "number_of_nodes": 1,
        "host_processor_model_name": "AMD EPYC 9654",
        "host_processors_per_node": 2,
        "host_processor_core_count": 96,
        "host_memory_configuration": "24x 64GB DDR5-4800",
        "host_network_card_count": "2x 400GbE",
        "driver": "acme-driver 1.0",
        "filesystem": "ext4",
        "cooling": "Air-cooled",
        "accelerator_info": [{"accelerator_model_name": "ACME X100", "accelerators_per_node": 8}],
    }
    return {
        "system_name": "ACME X100x8",
        "shortened_system_name": "X100x8",
        "system_size": "8 accelerators",
        "system_availability_status": "Available",
        "availability_url": "https://acme.example/order",
        "max_supported_concurrency": c_max,
        "system_node_ensemble_count": 1,
        "system_node_ensemble_total": 1,
        "division": "Standardized",
        "node_types": [node],
        "tensor_parallel": 1,
        "pipeline_parallel": 1,
        "expert_parallel": 1,
        "data_parallel": 8,
        "disaggregated": False,
        "config_summary": "TP1 DP8",
    }


def system_power() -> dict[str, Any]:
    def sourced(watts: float) -> dict[str, Any]:
        return {"value_w": watts, "source_type": "vendor_spec", "source": "https://acme.example/spec"}

    components = {
        "cpu": {"model": "AMD EPYC 9654", "count_per_node": 2, "tdp_per_unit": sourced(360)},
        "accelerator": {"model": "ACME X100", "count_per_node": 8, "tdp_per_unit": sourced(700)},
        "scale_up_network": {"method": "declared_tdp", "switch_count": 4, "tdp_per_switch": sourced(100)},
    }
    node_set = {
        "node_set_id": 0,
        "system_node_ensemble_id": 0,
        "nodes_provisioned": 1,
        "power_method": "component_sum",
        "components": components,
    }
    return {
        "system_desc_id": "ACME_X100x8",
        "cooling": "air",
        "node_sets": [node_set],
        "scale_out": {"present": False},
    }


POINT = """\
  dataset: cnn_dailymail
  model_name: llama3_1-8b
  model_precision: FP8
  link_to_model: https://huggingface.co/meta-llama/Llama-3.1-8B-Instruct
  dataset_name: CNN/DailyMail 3.0.0 validation
  dataset_type: Accuracy + Performance
  dataset_link: https://huggingface.co/datasets/abisee/cnn_dailymail
  seed_set: A
  target_cohort: 2026-12-C0
  warmup: {duration_s: 60.0, requests_issued: 200, requests_completed: 200, data_source: random prompts,
           concurrency: 4, initialization_steps: [engine loaded], logs_retained: true}
"""


def write_submission(
    folder: Path, concurrencies: Sequence[int], scored: Sequence[int], *, offline: bool = True
) -> Path:
    """Run folders of the reference client, and the submission file that names them; returns the file."""
    (folder / "impl" / "vllm").mkdir(parents=True)
    (folder / "impl" / "vllm" / "README.md").write_text("# How to launch\n")
    (folder / "papers").mkdir()
    (folder / "papers" / "software_disclosure.md").write_text("# Software\n")
    c_max = max(concurrencies)
    (folder / "system_desc.json").write_text(json.dumps(system_desc(c_max)))
    (folder / "system_power.json").write_text(json.dumps(system_power()))
    (folder / "accuracy.json").write_text(json.dumps(accuracy()))
    rows = ""
    for concurrency in concurrencies:
        rate = 1.73 * concurrency**0.72
        flat = max(4, int(1250 * rate / SIZE) + 1)
        _write_run(folder / f"c{concurrency}", concurrency, result_summary(concurrency, flat + 2, rate))
        window = (
            f"{{super_pass_start: 1, super_pass_end: {flat}, "
            f"super_pass_size: {SIZE}, n_samples: {flat * SIZE}, duration_s: {flat * SIZE / rate:.1f}}}"
        )
        rows += (
            f"  - run: c{concurrency}\n"
            f"    point: {{steady_state: {{status: windowable, verdict: STEADY STATE, window: {window}, "
            "state: {tpot_p50: Plateau, tpot_p90: Plateau}}}\n"
        )
        rows += "    accuracy: accuracy.json\n" if concurrency in scored else ""
        rows += "    offline: elected\n" if concurrency == c_max and not offline else ""
    if offline:
        rate = 2.0 * c_max**0.72
        summary = result_summary(SIZE, int(1300 * rate / SIZE) + 1, rate, latencies=False)
        _write_run(folder / "offline", None, summary, "max_throughput")
        rows += "  - {run: offline, accuracy: accuracy.json}\n"
    file = folder / "submission.yaml"
    head = "organisation: Acme Example\nsubmission: draft-1\nsystem: system_desc.json\npower: system_power.json\n"
    file.write_text(f"{head}src: impl\ndocs: papers\npoint:\n{POINT}points:\n{rows}")
    return file


def _write_run(folder: Path, concurrency: int | None, summary: dict[str, Any], pattern: str = "concurrency") -> None:
    (folder / "performance").mkdir(parents=True)
    (folder / "performance" / "result_summary.json").write_text(json.dumps(summary))
    # JSON is YAML
    (folder / "config.yaml").write_text(json.dumps(client_config(concurrency, pattern)))
    (folder / "report.txt").write_text("made up\n")
