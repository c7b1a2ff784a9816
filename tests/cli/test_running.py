"""Good runs from the command line: what is printed, what is written, and that both say the same."""

from __future__ import annotations

import csv
import io
import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from calling import COMMAND, call, call_here, clean_environment, only_run, start, summary_of

from relaymark.emulate import LlamaServer, PacedServer
from relaymark.trace.table import Trace

Paced = Callable[..., PacedServer]


def expected(summary: dict[str, Any], *, gates: bool = True) -> int:
    """The exit code a run must have: a busy machine may spoil the measurement, and then it is 3 and says so."""
    if not summary["verdict"]["valid"]:
        assert summary["verdict"]["reasons"]
        return 3
    return 0 if gates else 1


def test_a_run_prints_its_table_writes_its_files_and_can_be_reported_again(paced_server: Paced, tmp_path: Path) -> None:
    server = paced_server(ttft=0.05, itl=0.03, tokens=6)
    words = ["run", "chat", "--url", server.url, "--load", "concurrency:4", "--requests", 24, "--name", "my run"]
    done = call(*words, cwd=tmp_path)
    folder = only_run(tmp_path)
    summary = summary_of(folder)
    assert done.returncode == expected(summary), done.stdout
    assert ("VALID" in done.stdout) and (str(folder.relative_to(tmp_path) / "report.html") in done.stdout)
    assert folder.name.endswith("-my-run")
    (stage,) = summary["stages"]
    assert stage["requests"] == sum(stage["outcomes"].values()) == 24
    assert summary["status"] == "complete"

    written = {name: (folder / name).read_bytes() for name in ("summary.json", "summary.csv")}
    trace = (folder / "trace.parquet").read_bytes()
    (folder / "report.html").unlink()
    (folder / "summary.json").unlink()
    perfetto = tmp_path / "trace.json"
    again = call("report", folder, "--json", "--perfetto", perfetto, cwd=tmp_path)
    assert again.returncode == done.returncode
    assert again.stdout.encode() == written["summary.json"], "nothing but JSON, and the same numbers"
    assert json.loads(again.stdout) == summary
    assert {name: (folder / name).read_bytes() for name in written} == written
    assert (folder / "trace.parquet").read_bytes() == trace
    assert b"<html" in (folder / "report.html").read_bytes()

    events = json.loads(perfetto.read_text())
    assert len(events["traceEvents"]) >= 24
    for nowhere in ("absent/x.json", "."):
        failed = call_here("report", folder, "--perfetto", nowhere, cwd=tmp_path)
        assert failed.returncode == 2
        assert failed.stderr.startswith("relaymark: ")

    shown = call_here("report", folder, "--csv", cwd=tmp_path)
    assert shown.stdout.encode() == written["summary.csv"]
    rows = list(csv.DictReader(io.StringIO(shown.stdout)))
    value = next(row["value"] for row in rows if (row["metric"], row["statistic"]) == ("ttft", "p50"))
    ttft = next(q["value"] for q in stage["distributions"]["ttft"]["quantiles"] if q["q"] == 0.5)
    assert float(value) == ttft


def test_a_missed_slo_is_exit_1_and_json_is_all_that_is_printed(paced_server: Paced, tmp_path: Path) -> None:
    server = paced_server(ttft=0.1, itl=0.05, tokens=3)
    words = ["run", "chat", "--url", server.url, "--load", "concurrency:3", "--requests", 12, "--json"]
    done = call(*words, "--slo", "ttft_p90=20ms", "--slo", "ttft_p50=30s", cwd=tmp_path)
    summary = json.loads(done.stdout)
    assert summary == summary_of(only_run(tmp_path))
    assert [slo["met"] for slo in summary["stages"][0]["slos"]] == [False, True]
    assert done.returncode == expected(summary, gates=False)


def test_a_file_and_the_same_options_are_the_same_run(paced_server: Paced, tmp_path: Path) -> None:
    server = paced_server(ttft=0.01, itl=0.002, tokens=3)
    (tmp_path / "prompts.jsonl").write_text('{"prompt": "eins"}\n{"prompt": "zwei", "max_tokens": 2}\n')
    (tmp_path / "bench.yaml").write_text(
        f"name: f\nendpoint: {{url: '{server.url}/v1'}}\nload: poisson:40/s\nduration: 500ms\nseed: 4\n"
        "prompts: {file: prompts.jsonl}\n"
    )
    away = tmp_path / "elsewhere"
    away.mkdir()
    call("run", tmp_path / "bench.yaml", "--json", cwd=away)
    one = summary_of(only_run(away))
    words = ["--url", server.url, "--load", "poisson:40/s", "--duration", "500ms", "--seed", 4]
    call("run", "chat", *words, "--prompts", "prompts.jsonl", "--json", cwd=tmp_path)
    two = summary_of(only_run(tmp_path))
    assert one["schedule_sha256"] == two["schedule_sha256"]
    assert one["stages"][0]["requests"] == two["stages"][0]["requests"]
    assert one["stages"][0]["unique_prompts"] == 2


def test_a_server_that_fails_every_request_is_invalid_and_not_a_crash(
    faulty_server: Callable[..., Any], tmp_path: Path
) -> None:
    server = faulty_server(ttft=0.01, itl=0.001, tokens=4)
    url = server.fault_url("json-error-200")
    done = call("run", "chat", "--url", url, "--requests", 8, "--json", cwd=tmp_path)
    summary = json.loads(done.stdout)
    assert done.returncode == 3
    assert summary["stages"][0]["outcomes"] == {"protocol_error": 8}
    assert "no_success" in {reason["code"] for reason in summary["verdict"]["reasons"]}
    assert summary["stages"][0]["errors"]


def test_without_streaming_nothing_is_said_of_tokens_in_time(paced_server: Paced, tmp_path: Path) -> None:
    server = paced_server(ttft=0.02, itl=0.002, tokens=5)
    done = call("run", "chat", "--url", server.url, "--requests", 5, "--no-stream", "--json", cwd=tmp_path)
    stage = json.loads(done.stdout)["stages"][0]
    assert stage["outcomes"] in ({"ok": 5}, {"ok_length": 5})
    assert stage["completion_tokens"] == 25
    assert not {"ttft", "tpot", "itl"} & set(stage["distributions"])
    assert "latency" in stage["distributions"]


def test_llama_cpp_agrees_with_our_numbers(llama_server: LlamaServer, tmp_path: Path) -> None:
    words = ["run", "chat", "--url", llama_server.url, "--load", "single", "--requests", 12, "--max-tokens", 64]
    done = call(*words, "--prompts", "synthetic:isl=60,osl=64", "--json", cwd=tmp_path)
    summary = json.loads(done.stdout)
    assert summary["model"] == llama_server.model
    legs = [leg for leg in Trace(only_run(tmp_path) / "trace.parquet").legs() if leg.outcome.good]
    assert len(legs) == 12
    ours: list[float] = []
    for leg in legs:
        assert leg.sent is not None and leg.first_token is not None and leg.last_token is not None
        assert leg.server_prefill_ns and leg.server_decode_ns
        assert leg.completion_tokens == leg.server_completion_tokens == 64
        assert leg.first_token - leg.sent >= leg.server_prefill_ns
        # The server's decode time covers the tokens after the first.
        ours.append((leg.last_token - leg.first_token) / leg.server_decode_ns)
    assert 0.8 < sorted(ours)[len(ours) // 2] < 1.2


def test_emulate_serves_until_it_is_told_to_stop(tmp_path: Path) -> None:
    server = start("emulate", "--ttft", "5ms", "--itl", "1ms", "--tokens", 4, "--log", "truth.jsonl", cwd=tmp_path)
    assert server.stdout is not None and server.stderr is not None
    url = server.stdout.readline().strip()
    done = call("run", "chat", "--url", url, "--requests", 5, "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["stages"][0]["requests"] == 5
    server.send_signal(signal.SIGINT)
    out, err = server.communicate(timeout=20)
    assert server.returncode == 0
    assert "Traceback" not in out + err
    assert len((tmp_path / "truth.jsonl").read_text().splitlines()) == 5


def test_running_out_of_descriptors_is_our_fault_and_makes_the_run_invalid(paced_server: Paced, tmp_path: Path) -> None:
    server = paced_server(ttft=0.5, itl=0.001, tokens=2)
    words = ["run", "chat", "--url", server.url, "--load", "offline", "--requests", "150", "--json"]
    script = 'ulimit -n 64; exec "$@"'
    done = subprocess.run(
        ["bash", "-c", script, "bash", *COMMAND, *words],
        cwd=tmp_path, env=clean_environment(), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    summary = json.loads(done.stdout)
    (stage,) = summary["stages"]
    assert stage["requests"] == sum(stage["outcomes"].values()) == 150
    assert stage["outcomes"]["client_error"] > 50
    assert (
        stage["outcomes"]["client_error"] + stage["outcomes"].get("ok", 0) + stage["outcomes"].get("ok_length", 0)
        == 150
    )
    reasons = {reason["code"]: reason["text"] for reason in summary["verdict"]["reasons"]}
    assert str(stage["outcomes"]["client_error"]) in reasons["backpressure"]
    assert stage["slos"] == []
