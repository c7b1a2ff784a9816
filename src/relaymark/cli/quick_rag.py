"""``relaymark quickstart rag``: a world, an index, a real model server and a pipeline over them, on this machine."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

_PAGES = 60
_QUESTIONS = 40


def call_quick_rag(options: argparse.Namespace) -> int:
    """Makes everything, asks, scores; the exit code is that of the run."""
    with TemporaryDirectory(prefix="relaymark-rag-") as folder:
        return _run(options, Path(folder))


def _run(options: argparse.Namespace, folder: Path) -> int:
    from relaymark.bench import load_preset  # noqa: PLC0415 - lazy: start-up
    from relaymark.bench.rag_build import RagBuild  # noqa: PLC0415 - lazy: start-up
    from relaymark.cli.rag_build import build_and_report  # noqa: PLC0415 - lazy: start-up
    from relaymark.cli.session import run_and_report  # noqa: PLC0415 - lazy: start-up
    from relaymark.data.world import write_world  # noqa: PLC0415 - lazy: start-up
    from relaymark.emulate import LlamaConfig, smollm2_path, start_llama  # noqa: PLC0415 - lazy: start-up

    path = options.model_path or smollm2_path()
    _tell(f"Writing an encyclopedia of {_PAGES} pages, with questions whose answers are known…")
    write_world(folder / "world", seed=7, pages=_PAGES, questions=_QUESTIONS)
    corpus, index = str(folder / "world" / "pages"), str(folder / "index")
    build_and_report(RagBuild(name="quick-rag-build", corpus=corpus, index=index, window=400, stride=380), options.out)
    _tell(f"\nStarting llama.cpp with {path.name} on one thread…")
    with start_llama(LlamaConfig(model_path=path, slots=2, threads=1, ctx=4096)) as server:
        _tell(f"Serving at {server.url}; asking questions now.")
        laid = {
            "endpoint.url": server.url,
            "questions": str(folder / "world" / "questions.jsonl"),
            "index": index,
        }
        bench = load_preset("quick/rag", options.set, laid)
        code = run_and_report(bench, options.out, Path.cwd())
    _score(options.out)
    return code


def _score(out: Path) -> None:
    """Judges the answers of the run just made. A model of 135M parameters gets few of them right, and that is shown."""
    from relaymark.cli.front import enter  # noqa: PLC0415 - the command line as a user would type it

    newest = max(out.glob("*-quick-rag"), key=lambda run: run.name)
    _tell("")
    enter(["score", str(newest)])
    _tell("The pipeline's speed is measured; its answers are those of a model of 135 million parameters.")


def _tell(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
