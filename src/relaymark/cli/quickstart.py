"""``relaymark quickstart``: a real model server on this machine, benchmarked, with a report to look at."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    """Adds the command to the parser."""
    parser = commands.add_parser(
        "quickstart",
        help="start a real llama.cpp server with a 135M model here, benchmark it, write a report",
        description="Starts llama.cpp's own server with SmolLM2-135M-Instruct on a free loopback port (one thread), "
        "runs the quick/chat benchmark against it, prints the table, writes the report and stops the server. "
        "About a minute and a half.",
    )
    parser.add_argument(
        "what",
        nargs="?",
        choices=("chat", "rag", "agent"),
        default="chat",
        help="chat (default); rag: a whole pipeline over a generated encyclopedia, with its answers scored; "
        "agent: made-up coding conversations replayed turn by turn",
    )
    parser.add_argument("--out", metavar="FOLDER", type=Path, default=Path("runs"), help="where runs go (default runs)")
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], help="any setting of the benchmark")
    parser.add_argument("--model-path", metavar="GGUF", type=Path, help="serve this model instead")
    parser.set_defaults(call=call)


def call(options: argparse.Namespace) -> int:
    """Runs it; the exit code is that of the run."""
    if options.what == "rag":
        from relaymark.cli.quick_rag import call_quick_rag  # noqa: PLC0415 - lazy: start-up

        return call_quick_rag(options)
    if options.what == "agent":
        from relaymark.cli.quick_agent import call_quick_agent  # noqa: PLC0415 - lazy: start-up

        return call_quick_agent(options)
    from relaymark.bench import load_preset  # noqa: PLC0415 - lazy: start-up
    from relaymark.cli.session import run_and_report  # noqa: PLC0415 - lazy: start-up
    from relaymark.emulate import LlamaConfig, smollm2_path, start_llama  # noqa: PLC0415 - lazy: start-up

    path = options.model_path or smollm2_path()
    _tell(f"Starting llama.cpp with {path.name} on one thread…")
    with start_llama(LlamaConfig(model_path=path, slots=4, threads=1, ctx=1024)) as server:
        _tell(f"Serving at {server.url}; benchmarking it now.")
        laid = {"endpoint.url": server.url, "name": "quickstart"}
        bench = load_preset("quick/chat", options.set, laid)
        return run_and_report(bench, options.out, Path.cwd())


def _tell(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
