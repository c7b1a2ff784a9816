"""Relaymark's own runs in the reference client's words: what is written is what was measured."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from relaymark.cli import main
from relaymark.emulate import PacedServer
from relaymark.measure.run import summarise_run
from relaymark.rules.events import write_run_archive
from relaymark.rules.official_run import import_run
from relaymark.rules.resultfile import stat_block
from relaymark.rules.runsource import read_run
from relaymark.rules.yamltext import yaml_text


def test_percentiles_are_the_clients_and_estimates_loadgens() -> None:
    values = np.arange(1000, dtype=np.float64)[::-1]
    block = stat_block(values, estimates=True)
    for p in (99.9, 99.0, 90.0, 50.0, 1.0):
        assert block["percentiles"][str(p)] == np.percentile(values, p, method="lower")
    assert block["total"] == values.sum()
    assert block["std_dev"] == pytest.approx(values.std(ddof=1))
    assert sum(block["histogram"]["counts"]) == 1000
    # P[Bin(1000, 0.01) ≤ 2] = 0.0027 < 0.01 ≤ 0.0103 = P[… ≤ 3]: the second largest; too few for p99.9
    assert block["early_stopping_percentiles"]["99.0"] == 1000 - 2
    assert block["early_stopping_percentiles"]["99.9"] is None
    assert stat_block(np.array([])) == {}
    assert stat_block(np.array([5.0]))["percentiles"]["90.0"] == 5.0


def test_a_run_there_and_back(
    tmp_path: Path, paced_server: Callable[..., PacedServer], capsys: pytest.CaptureFixture[str]
) -> None:
    server = paced_server(ttft=0.02, itl=0.003, tokens=12)
    load = ["--load", "concurrency:3", "--requests", "30", "--duration", "20s"]
    assert main(["run", "chat", "--url", server.url, "--out", str(tmp_path / "runs"), *load]) == 0
    capsys.readouterr()
    (run,) = (tmp_path / "runs").iterdir()
    source, stage = read_run(run, super_pass=10), summarise_run(run).stages[0]
    summary = source.summary
    assert (source.concurrency, source.load_pattern) == (3, "concurrency")
    assert (summary["n_samples_issued"], summary["n_samples_completed"], summary["n_samples_failed"]) == (30, 30, 0)
    assert summary["output_sequence_lengths"]["total"] == 30 * 12
    assert summary["duration_ns"] == stage.duration
    assert summary["tps"] == pytest.approx(stage.output_token_rate)
    assert summary["latency"]["avg"] == pytest.approx(stage.distributions["latency"].mean)
    assert 20e6 <= summary["ttft"]["percentiles"]["50.0"] < 35e6
    assert source.config["endpoint_config"]["api_key"] == "<redacted>"
    # three passes of ten: too few for a window
    assert source.steady == {"status": "insufficient_passes", "verdict": "not found"}
    archive = write_run_archive(run, tmp_path / "archive")
    back, _ = import_run(archive, tmp_path / "back")
    again = summarise_run(back).stages[0]
    assert again.outcomes == stage.outcomes
    for metric in ("ttft", "latency"):
        assert again.distributions[metric].mean == pytest.approx(stage.distributions[metric].mean)
        assert again.distributions[metric].maximum == stage.distributions[metric].maximum


def test_yaml_that_every_reader_reads_alike() -> None:
    import yaml

    from relaymark.bench._source import parse_source

    data = {
        "on": "on", "date": "2026-12-01", "time": "1:30", "number": "12", "empty": "", "none": None, "flag": True,
        "colon": "a: b", "hash": "a #b", "dash": "- a", "text": "x y z", "float": 1.5, "lists": [1, "yes", [], {}],
        "rows": [{"a": 1, "b": {"c": "d"}}, {"a": 2}], "unicode": "µ – \u2028", "big": 10487924139932647040,
    }  # fmt: skip
    text = yaml_text(data)
    assert yaml.safe_load(text) == data
    assert parse_source(text, "x").data == data
    assert json.loads(json.dumps(data)) == data
