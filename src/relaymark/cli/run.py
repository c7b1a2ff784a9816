"""``relaymark run``: one benchmark, from options, a file or a preset."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relaymark.errors import ConfigError, ExitCode

if TYPE_CHECKING:
    from relaymark.bench import Benchmark

_ABOUT = """\
Runs one benchmark.

  relaymark run chat --url http://127.0.0.1:8000 --model my-model --load poisson:4/s --duration 60s
  relaymark run my-benchmark.yaml --set load.rate=8
  relaymark run quick/chat --url http://127.0.0.1:8000
  relaymark run rag-build my-corpus.yaml
  relaymark run rag-ask my-questions.yaml --url http://127.0.0.1:8000 --load concurrency:16
  relaymark run agent-live --url http://127.0.0.1:8000 --load concurrency:4
  relaymark run mlperf/v6.1/edge-agentic --url http://127.0.0.1:8000 --set trajectories=FILE.jsonl

TARGET is `chat` or `agent-live` (everything from options), a YAML file, or a preset's name."""

_PROMPTS = "synthetic:isl=200±50"
_MAX_TOKENS = 128
_LOADS = (
    "single | concurrency:8 | poisson:4/s | constant:4/s | gamma:4/s,burstiness=0.5 | offline | "
    "ramp:1..16/s | step:1,2,4/s@10s"
)


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    """Adds the command to the parser."""
    parser = commands.add_parser(
        "run",
        help="run one benchmark against an endpoint",
        description=_ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("target", metavar="TARGET", help="chat, a YAML file, or a preset such as quick/chat")
    parser.add_argument("file", metavar="FILE", nargs="?", type=Path, help="the file of rag-ask or rag-build")
    parser.add_argument("--url", help="base URL of the endpoint, e.g. http://127.0.0.1:8000")
    parser.add_argument("--model", help="model to ask for; may be left out where the endpoint serves just one")
    parser.add_argument("--dialect", help="openai-chat (default) | openai-completions | openai-responses | …")
    parser.add_argument("--load", metavar="LOAD", help=_LOADS)
    parser.add_argument("--duration", metavar="TIME", help="how long each load is held, e.g. 60s")
    parser.add_argument("--requests", metavar="N", help="how many requests to send")
    parser.add_argument(
        "--prompts", metavar="SOURCE", help=f"FILE.jsonl or synthetic:isl=512±64,osl=128 (chat: {_PROMPTS})"
    )
    parser.add_argument("--max-tokens", metavar="N", help=f"most tokens of an answer (chat: {_MAX_TOKENS})")
    parser.add_argument("--slo", metavar="BOUND", action="append", help="e.g. ttft_p99=500ms; may be repeated")
    parser.add_argument("--no-stream", action="store_true", help="ask for answers in one piece")
    parser.add_argument("--seed", metavar="N", help="of arrivals and generated prompts")
    parser.add_argument("--workers", metavar="N", help="worker processes: a number or auto")
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], help="any setting of the file")
    parser.add_argument("--name", help="name of the run")
    parser.add_argument("--out", metavar="FOLDER", type=Path, default=Path("runs"), help="where runs go (default runs)")
    parser.add_argument("--resume", dest="resumed", metavar="RUN", help="go on with a replay that was cut short")
    parser.add_argument("--print-config", action="store_true", help="print the resolved file and stop")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON and nothing else")
    parser.set_defaults(call=call)


def call(options: argparse.Namespace) -> int:
    """Runs the benchmark that the options name; returns the exit code."""
    if (build := _build_target(options)) is not None:
        from relaymark.cli.rag_build import call_build  # noqa: PLC0415 - lazy: start-up

        return call_build(build, options.set, options.out, as_json=options.json, name=options.name)
    bench, base_dir = resolve_benchmark(options)
    if options.print_config:
        from relaymark.bench import dump_benchmark  # noqa: PLC0415 - lazy: start-up

        sys.stdout.write(dump_benchmark(bench))
        return int(ExitCode.GOOD)
    from relaymark.cli.session import run_and_report  # noqa: PLC0415 - lazy: start-up

    return run_and_report(bench, options.out, base_dir, as_json=options.json)


def _build_target(options: argparse.Namespace) -> str | None:
    """The file or preset of an index build, where that is what was asked for."""
    if options.target == "rag-build" and not Path("rag-build").is_file():
        if options.file is None:
            raise ConfigError(
                "No file was named.", where="relaymark run rag-build", mend="relaymark run rag-build FILE.yaml"
            )
        return str(options.file)
    if options.target == "chat":
        return None
    from relaymark.bench.files import kind_of  # noqa: PLC0415 - lazy: start-up

    return options.target if kind_of(options.target) == "rag-build" else None


def resolve_benchmark(options: argparse.Namespace) -> tuple[Benchmark, Path]:
    """The benchmark the options name, and the folder its relative files count from.

    Raises:
        ConfigError: As the benchmark's own checks, naming key and line or option.
    """
    from relaymark.bench import build_benchmark, list_presets, load_benchmark, load_preset  # noqa: PLC0415 - start-up

    laid = _laid_over(options)
    target: str = options.target
    if target == "rag-ask" and not Path(target).is_file():
        if options.file is None:
            raise ConfigError(
                "No benchmark file was named.", where="relaymark run rag-ask", mend="relaymark run rag-ask FILE.yaml"
            )
        target = str(options.file)
    path = Path(target)
    here = Path.cwd()
    if target == "agent-live" and not path.is_file():
        if not options.url:
            raise ConfigError("No endpoint was named.", where="relaymark run agent-live", mend="Name one with --url.")
        laid.setdefault("load", "single")
        laid.setdefault("name", "agent-live")
        return build_benchmark({"kind": "agent-live", **laid}, options.set), here
    if target == "chat" and not path.is_file():
        if not options.url:
            raise ConfigError("No endpoint was named.", where="relaymark run chat", mend="Name one with --url.")
        laid.setdefault("load", "single")
        # Distinct prompts, so that a prefix cache is not flattered by default.
        laid.setdefault("prompts", _PROMPTS)
        if options.dialect != "openai-embeddings" and options.prompts is None:
            laid.setdefault("sampling.max_tokens", _MAX_TOKENS)
        laid.setdefault("name", "chat")
        return build_benchmark(laid, options.set), here
    if target in list_presets():
        return load_preset(target, options.set, laid), here
    if path.suffix.lower() not in (".yaml", ".yml") and not path.exists():
        # Neither kind of target: let the preset's error name what there is.
        return load_preset(target, options.set, laid), here
    return load_benchmark(path, options.set, laid), here


def _laid_over(options: argparse.Namespace) -> dict[str, Any]:
    given: dict[str, Any] = {
        "name": options.name,
        "endpoint.url": options.url,
        "endpoint.model": options.model,
        "endpoint.dialect": options.dialect,
        "load": options.load,
        "duration": options.duration,
        "requests": options.requests,
        "prompts": options.prompts,
        "sampling.max_tokens": options.max_tokens,
        "slo": options.slo,
        "stream": False if options.no_stream else None,
        "seed": options.seed,
        "workers": options.workers,
        "resume": getattr(options, "resumed", None),
    }
    return {key: value for key, value in given.items() if value is not None}
