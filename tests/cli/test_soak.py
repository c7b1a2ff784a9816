"""Ten thousand requests to a server that does everything wrong that a server can do, at random, 200 at a time."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from relaymark.emulate import FaultyConfig, PacedConfig, list_faults, start_faulty
from relaymark.trace import Outcome
from relaymark.trace.table import Trace

REQUESTS = 10_000
STREAMS = 200
MB = 1 << 20


class Watch(threading.Thread):
    """Samples descriptors and resident memory of the worker process of a run."""

    def __init__(self, parent: int) -> None:
        super().__init__(daemon=True)
        self._parent = psutil.Process(parent)
        self._over = threading.Event()
        self.samples: list[tuple[int, int]] = []

    def run(self) -> None:
        while not self._over.wait(0.2):
            try:
                for child in self._parent.children():
                    if "relaymark.relay.worker" in child.cmdline():
                        self.samples.append((child.num_fds(), child.memory_info().rss))
            except psutil.Error:
                continue

    def stop(self) -> None:
        self._over.set()
        self.join()


@pytest.fixture(scope="module")
def soaked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], list[tuple[int, int]]]:
    out = tmp_path_factory.mktemp("soak")
    names = [fault.name for fault in list_faults()]
    share = 1 / (len(names) + 5)
    config = FaultyConfig(
        paced=PacedConfig(ttft=0.01, itl=0.002, tokens=12), faults=tuple(f"{name}:rate={share:.5f}" for name in names)
    )
    with start_faulty(config) as server:
        command = [sys.executable, "-m", "relaymark", "run", "chat", "--url", server.url, "--model", "paced", "--json"]
        command += ["--load", f"concurrency:{STREAMS}", "--requests", str(REQUESTS), "--out", str(out)]
        for setting in (
            "timeouts.first_byte=500ms",
            "timeouts.idle=500ms",
            "timeouts.total=2s",
            "limits.max_body=4MiB",
        ):
            command += ["--set", setting]
        process = subprocess.Popen([*command, "--set", "workers=1"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        watch = Watch(process.pid)
        watch.start()
        printed, _ = process.communicate(timeout=240)
        watch.stop()
    assert process.returncode == 3  # so many failures are no valid measurement
    folder = next(out.iterdir())
    return folder, msgspec.json.decode(printed), watch.samples


def test_every_request_sent_has_one_outcome(soaked: tuple[Path, dict[str, Any], Any]) -> None:
    folder, summary, _ = soaked
    stage = summary["stages"][0]
    assert summary["status"] == "complete"
    assert stage["requests"] == REQUESTS == sum(stage["outcomes"].values())
    assert stage["in_flight_at_end"] == 0
    assert len(stage["outcomes"]) >= 9, stage["outcomes"]
    assert {*stage["outcomes"]} <= {*Outcome}
    seen = [leg.task_id for leg in Trace(folder / "trace.parquet").legs()]
    assert len(seen) == len(set(seen)) == REQUESTS


def test_failed_requests_give_no_tokens_to_the_throughput(soaked: tuple[Path, dict[str, Any], Any]) -> None:
    folder, summary, _ = soaked
    counted = sum(leg.completion_tokens or 0 for leg in Trace(folder / "trace.parquet").legs() if leg.outcome.good)
    assert summary["stages"][0]["completion_tokens"] == counted > 0


def test_descriptors_and_memory_of_the_worker_do_not_grow(soaked: tuple[Path, Any, list[tuple[int, int]]]) -> None:
    _, _, samples = soaked
    assert len(samples) > 20
    third = len(samples) // 3
    early, late = samples[third : 2 * third], samples[2 * third :]
    # One descriptor for each stream and a handful of the worker's own; a leak would be hundreds by now.
    assert max(fds for fds, _ in samples) <= STREAMS + 60
    assert max(fds for fds, _ in late) <= max(fds for fds, _ in early) + 20
    assert max(rss for _, rss in late) <= max(rss for _, rss in early) + 20 * MB
