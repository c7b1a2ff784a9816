"""``relaymark run rag-build`` as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path

from calling import call

from relaymark.data.world import write_world
from relaymark.trace.table import Trace


def test_a_build_prints_what_it_took_and_publishes(tmp_path: Path) -> None:
    write_world(tmp_path / "w", seed=3, pages=40, questions=10)
    file = tmp_path / "build.yaml"
    file.write_text("corpus: w/pages\nindex: db\nprobe: {questions: w/questions.jsonl, against: db}\n")
    done = call("run", "rag-build", file, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "BUILT" in done.stdout and "40 documents" in done.stdout
    assert "probe overlap: 100%" in done.stdout
    assert (tmp_path / "db" / "manifest.json").is_file()
    folder = next((tmp_path / "runs").iterdir())
    summary = json.loads((folder / "build.json").read_text())
    assert summary["manifest"]["documents"] == 40
    assert {stage["name"] for stage in summary["stages"]} == {"parse", "embed", "index"}
    legs = list(Trace(folder / "trace.parquet").legs())
    assert sum(leg.items or 0 for leg in legs if leg.kind == "embed") == summary["passages"]


def test_a_count_that_is_not_the_one_asked_for_is_a_failed_gate(tmp_path: Path) -> None:
    write_world(tmp_path / "w", seed=3, pages=30, questions=5)
    file = tmp_path / "build.yaml"
    file.write_text("kind: rag-build\ncorpus: w/pages\nindex: db\npassages: 108711\n")
    done = call("run", file, "--json", cwd=tmp_path)  # the file says what it is
    assert done.returncode == 1
    checks = {check["what"]: check for check in json.loads(done.stdout)["checks"]}
    assert checks["passages"]["met"] is False
    assert checks["documents taken in"]["met"] is True


def test_what_is_missing_is_said_without_a_traceback(tmp_path: Path) -> None:
    assert "No file was named" in call("run", "rag-build", cwd=tmp_path).stderr
    file = tmp_path / "build.yaml"
    file.write_text("corpus: nowhere\nindex: db\n")
    done = call("run", "rag-build", file, cwd=tmp_path)
    assert done.returncode == 2
    assert "no such folder" in done.stderr
    ask = tmp_path / "ask.yaml"
    ask.write_text(
        'kind: rag-ask\nquestions: q.jsonl\nindex: db\nendpoint: {url: "http://127.0.0.1:9"}\nload: single\n'
    )
    done = call("run", "rag-ask", ask, cwd=tmp_path)
    assert done.returncode == 2
    assert "q.jsonl" in done.stderr
