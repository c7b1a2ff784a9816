"""What the question-answering pipeline costs apart from models and index, and how busy it keeps an LLM.

python benchmarks/rag_ask.py [--repeat N] [--tasks N]

A scripted endpoint that answers at once plays every LLM role, on the first core; the worker and the retrieval server
share the second. CPU seconds are the worker's own, by its heartbeats, less those of a run with a tenth of the tasks.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from relaymark.data.world import write_world
from relaymark.emulate import Pace, ScriptedConfig, start_scripted
from relaymark.retrieval.build import BuildSpec, build_index
from relaymark.retrieval.specs import EmbedderSpec


def main() -> int:
    """Prints the bars with what was measured; always 0."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--tasks", type=int, default=2000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        world = Path(place)
        write_world(world, seed=7, pages=200, questions=100)
        embedder = EmbedderSpec(kind="static", path="wordllama")
        build_index(BuildSpec(corpus=str(world / "pages"), index_folder=str(world / "index"), embedder=embedder))
        print("| what | bar | measured | met |")
        print("|---|---|--:|---|")
        with start_scripted(ScriptedConfig(script=f"world:{world}")) as server:
            pin(server.pid, 0)
            few = run(world, server.url, 64, options.tasks // 10)
            many = [run(world, server.url, 64, options.tasks) for _ in range(options.repeat)]
        cpu = median((one["cpu"] - few["cpu"]) / (options.tasks - options.tasks // 10) for one in many) * 1000
        rate = median(one["rate"] for one in many)
        calls = median(one["calls"] for one in many)
        print(f"| CPU of the pipeline a task ({calls:.1f} LLM calls) | ≤ 5 ms | {cpu:.2f} ms | {yes(cpu <= 5)} |")
        print(f"| 64 tasks at a time on one core | ≥ 100 tasks/s | {rate:.0f} tasks/s | {yes(rate >= 100)} |")
        pace = {role: Pace(ttft=0.2, itl=0.0) for role in ("queries", "relevance", "sufficiency", "answer")}
        with start_scripted(ScriptedConfig(script=f"world:{world}", pace=pace)) as server:
            pin(server.pid, 0)
            busy = median(run(world, server.url, 16, 200)["busy"] for _ in range(options.repeat))
        print(f"| time with a call in flight, 16 tasks, 200 ms a call | ≥ 95 % | {busy:.1%} | {yes(busy >= 0.95)} |")
    return 0


def run(world: Path, url: str, concurrency: int, tasks: int) -> dict[str, Any]:
    """One run of the command line on the second core."""
    file = world / "ask.yaml"
    told = {
        "kind": "rag-ask",
        "questions": str(world / "questions.jsonl"),
        "index": str(world / "index"),
        "endpoint": {"url": url, "model": "scripted"},
        "load": f"concurrency:{concurrency}",
        "requests": tasks,
        "stream": False,
    }
    file.write_text(json.dumps(told))
    out = world / "runs"
    command = [sys.executable, "-m", "relaymark", "run", "rag-ask", str(file), "--json", "--out", str(out)]
    done = subprocess.run(["taskset", "-c", "1", *command], capture_output=True, text=True, check=False)
    summary = json.loads(done.stdout)
    folder = max(out.iterdir(), key=lambda one: one.stat().st_mtime)
    beats = [json.loads(line) for line in (folder / "health.jsonl").read_text().splitlines()]
    tasks_ = summary["stages"][0]["tasks"]
    return {
        "cpu": max(beat[3] for beat in beats) / 1e9,
        "rate": tasks_["rate"],
        "calls": tasks_["llm_calls"],
        "busy": tasks_["busy_share"],
    }


def pin(pid: int, core: int) -> None:
    """Keeps a process on one core."""
    os.sched_setaffinity(pid, {core})


def yes(met: bool) -> str:
    """How the table says it."""
    return "yes" if met else "**no**"


if __name__ == "__main__":
    sys.exit(main())
