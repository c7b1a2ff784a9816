"""The benchmark script: a quick session end to end, and the parts that figures hang on."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the benchmarks need Linux")


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports a module of the script."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return import_module


def test_a_quick_session(tmp_path: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not os.environ.get("CI") and (len(os.sched_getaffinity(0)) < 2 or not compiler or not shutil.which("taskset")):
        pytest.skip("needs two cores, a C compiler and taskset")
    command = [sys.executable, BENCHMARKS / "run.py", "--quick", "--case", "unpaced", "--out", tmp_path]
    reader = f"bare={BENCHMARKS / '.build' / 'reader'} {{port}} {{streams}} {{requests}} 1 {{tokens}}"
    done = subprocess.run([*command, "--peer", reader], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "| unpaced | events/s |" in done.stdout
    assert "| bare | unpaced |" in done.stdout
    (path,) = tmp_path.glob("*.json")
    found = json.loads(path.read_text())
    (row,) = found["rows"]
    assert row["ratio"] == pytest.approx(row["relaymark"] / row["reader"])
    assert row["reader"] == found["raw"]["unpaced"]["reader"][0]["events_s"]
    assert row["relaymark"] == found["raw"]["unpaced"]["relaymark"][0]["token_rate"]
    assert found["failures"] == {}


def test_memory_counts_every_process_of_the_tree(module: Any) -> None:
    hold = "import sys; held = b'x' * 80_000_000; print('there', flush=True); sys.stdin.read()"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {hold!r}])"
    with subprocess.Popen(
        [sys.executable, "-c", parent], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "there\n"
        assert len(module("memory").descendants(process.pid)) == 2
        peak = module("memory").PeakMemory(process.pid)
        end = time.monotonic() + 20
        while peak.pss == 0 and time.monotonic() < end:
            time.sleep(0.01)
        peak.stop()
        process.communicate()
    assert 80e6 < peak.pss <= peak.rss < 200e6


def test_a_command_is_charged_for_its_children(module: Any) -> None:
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    used = module("programs").timed(
        [sys.executable, "-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {burn!r}])"]
    )
    assert used.status == 0
    assert used.cpu >= 0.3
    assert used.wall >= 0.3


def test_a_missing_command_is_told(module: Any) -> None:
    programs = module("programs")
    with pytest.raises(programs.CannotRunError, match="no-such-command"):
        programs.timed(["no-such-command"])


def test_peers_are_commands_with_open_places(module: Any) -> None:
    peer = module("peers").Peer.parse("fast one=tool --url {url}/v1 -c {streams} -n {requests} 'a b'")
    assert peer.name == "fast one"
    assert peer.command(8000, 4, 40, 8) == ["tool", "--url", "http://127.0.0.1:8000/v1", "-c", "4", "-n", "40", "a b"]
    with pytest.raises(ValueError, match="name=command"):
        module("peers").Peer.parse("tool")
    with pytest.raises(module("programs").CannotRunError, match="nowhere"):
        module("peers").Peer.parse("x=tool {nowhere}").command(1, 1, 1, 1)


def test_the_table_shows_ratio_and_bar(module: Any) -> None:
    row = module("session").Row
    text = module("table").table(
        [
            row("paced-20", "TTFT p50", "ms", 50.5, 50.0, "within 1% of reader", True),
            row("start", "`relaymark --help`", "s", 0.4, None, "≤ 0.3 s", False),
            row("start", "peak RSS", "MB", 145.2),
        ]
    )
    assert text.splitlines()[2:] == [
        "| paced-20 | TTFT p50 | 50.00 ms | 50.50 ms | 1.010 | within 1% of reader | yes |",
        "| start | `relaymark --help` |  | 0.40 s |  | ≤ 0.3 s | **no** |",
        "| start | peak RSS |  | 145 MB |  |  |  |",
    ]
