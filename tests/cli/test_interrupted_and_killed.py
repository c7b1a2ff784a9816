"""Ctrl-C and kill -9 at any process: the run's folder stays readable and says what became of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from calling import COMMAND, call, call_here, clean_environment, only_run, processes_of, start, summary_of, wait_for

from relaymark.emulate import PacedServer
from relaymark.relay import live
from relaymark.trace import read_run_record
from relaymark.trace.table import Trace

Paced = Callable[..., PacedServer]


def running(server: PacedServer, cwd: Path, *words: object, ended: int = 10) -> tuple[subprocess.Popen[str], Path]:
    """A run in full swing: so many requests have ended."""
    process = start("run", "chat", "--url", server.url, "--duration", "60s", *words, cwd=cwd)

    def busy() -> bool:
        assert process.poll() is None, process.communicate()
        try:
            block = live.LiveBlock(only_run(cwd), 0)
            return block[live.ENDED] >= ended and block[live.SENT] > 0
        except (OSError, ValueError):
            return False

    wait_for(busy)
    return process, only_run(cwd)


def end(process: subprocess.Popen[str], seconds: float = 30) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=seconds)
    assert "Traceback" not in out + err, err
    return process.returncode, out, err


def test_ctrl_c_once_drains_and_saves_what_there_is(paced_server: Paced, tmp_path: Path) -> None:
    server = paced_server(ttft=0.05, itl=0.01, tokens=20)
    process, folder = running(server, tmp_path, "--load", "concurrency:4", "--workers", 2)
    early = call_here("report", folder, cwd=tmp_path)
    assert (early.returncode, "still at work" in early.stderr) == (2, True), "a run that goes on is not merged"
    os.killpg(process.pid, signal.SIGINT)  # as a terminal sends it: to the whole group
    code, out, _ = end(process)
    assert code == 130
    assert "interrupted" in out
    summary = summary_of(folder)
    assert summary["status"] == "interrupted"
    (stage,) = summary["stages"]
    assert stage["requests"] == sum(stage["outcomes"].values()) >= 10
    assert "cancelled" not in stage["outcomes"], "what was in flight was let to its end"
    server.stop()
    truth = server.truth()
    assert len(truth) == stage["requests"]
    assert {record.end for record in truth} == {"done"}
    assert not processes_of(folder)


def test_ctrl_c_twice_ends_long_streams_at_once(paced_server: Paced, tmp_path: Path) -> None:
    server = paced_server(ttft=0.02, itl=0.05, tokens=100_000)
    process, folder = running(server, tmp_path, "--load", "concurrency:3", "--max-tokens", 100_000, ended=0)
    wait_for(lambda: live.LiveBlock(folder, 0)[live.READS] > 10)
    os.killpg(process.pid, signal.SIGINT)
    time.sleep(0.2)
    os.killpg(process.pid, signal.SIGINT)
    code, _, _ = end(process, 15)  # without the second it would take an hour and a half
    assert code == 130
    (stage,) = summary_of(folder)["stages"]
    assert stage["outcomes"] == {"cancelled": 3}
    assert stage["partial_tokens"] > 0
    assert all(leg.first_token is not None for leg in Trace(folder / "trace.parquet").legs())


def test_sigterm_is_an_interrupt_too(paced_server: Paced, tmp_path: Path) -> None:
    server = paced_server(ttft=0.02, itl=0.002, tokens=5)
    process, folder = running(server, tmp_path, "--load", "poisson:100/s", "--json")
    process.terminate()
    code, _, _ = end(process)
    assert code == 130
    assert summary_of(folder)["status"] == "interrupted"


def test_a_killed_coordinator_leaves_a_run_that_opens(paced_server: Paced, tmp_path: Path) -> None:
    server = paced_server(ttft=0.02, itl=0.005, tokens=10)
    process, folder = running(server, tmp_path, "--load", "concurrency:6", "--workers", 2, ended=30)
    assert len(processes_of(folder)) >= 2
    process.kill()
    process.communicate()
    # The report may come at once: it waits for the last process of the run.
    done = call("report", folder, cwd=tmp_path)
    assert not processes_of(folder), "workers and decoders ended by themselves"
    assert done.returncode == 3
    assert "INVALID" in done.stdout
    assert "killed or crashed" in done.stdout
    summary = summary_of(folder)
    assert summary["status"] == "crashed"
    (stage,) = summary["stages"]
    legs = list(Trace(folder / "trace.parquet").legs())
    assert stage["requests"] == len(legs) >= 30
    assert len({leg.task_id for leg in legs}) == len(legs)
    assert any("ended before the run did" in note for note in summary["notes"])
    server.stop()
    finished = sum(1 for record in server.truth() if record.end == "done")
    # At most the last second may be missing: what ended and was not yet flushed, a few rounds of six.
    assert finished - len(legs) < 6 * 20
    again = call_here("report", folder, "--json", cwd=tmp_path)
    assert again.returncode == 3


@pytest.mark.parametrize("workers", [1, 2])
def test_a_killed_worker_ends_its_part_and_the_run_says_so(paced_server: Paced, tmp_path: Path, workers: int) -> None:
    server = paced_server(ttft=0.02, itl=0.005, tokens=10)
    process = start(
        "run", "chat", "--url", server.url, "--load", "concurrency:4", "--duration", "1500ms", "--workers", workers,
        cwd=tmp_path,
    )  # fmt: skip
    wait_for(lambda: (tmp_path / "runs").exists() and any((tmp_path / "runs").iterdir()))
    folder = only_run(tmp_path)

    def busy() -> bool:
        try:
            return live.LiveBlock(folder, 0)[live.ENDED] >= 8
        except (OSError, ValueError):
            return False

    wait_for(busy)
    victim = next(p for p in processes_of(folder) if "relaymark.relay.worker" in p.cmdline() and p.cmdline()[-1] == "0")
    victim.kill()
    code, out, _ = end(process)
    assert code == 3
    assert "INVALID" in out
    summary = summary_of(folder)
    assert summary["status"] == "crashed"
    assert "worker_crashed" in {reason["code"] for reason in summary["verdict"]["reasons"]}
    assert any("Worker 0 ended early: killed by signal 9" in note for note in summary["notes"])
    legs = list(Trace(folder / "trace.parquet").legs())
    assert {leg.worker for leg in legs} == set(range(workers))
    if workers == 2:
        assert max(leg.ended or 0 for leg in legs if leg.worker == 1) > max(
            leg.ended or 0 for leg in legs if leg.worker == 0
        )


def test_a_killed_decoder_loses_nothing(paced_server: Paced, tmp_path: Path) -> None:
    server = paced_server(ttft=0.01, itl=0.002, tokens=5)
    process = start(
        "run", "chat", "--url", server.url, "--load", "concurrency:4", "--requests", 400, "--json", cwd=tmp_path
    )
    wait_for(lambda: (tmp_path / "runs").exists() and any((tmp_path / "runs").iterdir()))
    folder = only_run(tmp_path)
    decoders: list[Any] = []

    def found() -> bool:
        decoders[:] = [p for p in processes_of(folder) if "relaymark.relay.beside" in p.cmdline()]
        return bool(decoders) and any(folder.glob("legs-0-*.journal"))

    wait_for(found)
    decoders[0].kill()
    code, _, _ = end(process)
    assert code in (0, 3)
    summary = summary_of(folder)
    assert summary["status"] == "complete"
    assert summary["stages"][0]["requests"] == 400
    assert len({leg.leg_id for leg in Trace(folder / "trace.parquet").legs()}) == 400


def test_a_trace_that_cannot_be_written_ends_the_run_and_keeps_what_was(paced_server: Paced, tmp_path: Path) -> None:
    """As on a full disk: the kernel refuses to let the worker's journal grow."""
    server = paced_server(ttft=0.005, itl=0.0005, tokens=150)
    words = ["run", "chat", "--url", server.url, "--load", "concurrency:4", "--duration", "30s", "--out", "runs"]
    words += ["--prompts", "synthetic:isl=10,unique=20"]
    done = subprocess.run(
        ["bash", "-c", 'ulimit -f 600; exec "$@"', "bash", *COMMAND, *words],
        cwd=tmp_path, env=clean_environment(), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    folder = only_run(tmp_path)
    assert read_run_record(folder).status == "crashed"
    assert any("cannot be written: File too large" in note for note in read_run_record(folder).notes)
    assert "Traceback" not in (folder / "worker.log").read_text()
    report = call_here("report", folder, "--json", cwd=tmp_path)
    assert report.returncode == 3
    stage = json.loads(report.stdout)["stages"][0]
    assert 0 < stage["requests"] == sum(stage["outcomes"].values())
