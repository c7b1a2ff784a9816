"""``relaymark quickstart agent``: made-up conversations of an agent, replayed against a real model server here."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

_CONVERSATIONS = 4


def call_quick_agent(options: argparse.Namespace) -> int:
    """Makes the conversations, replays them; the exit code is that of the run."""
    from relaymark.bench import load_preset  # noqa: PLC0415 - lazy: start-up
    from relaymark.cli.session import run_and_report  # noqa: PLC0415 - lazy: start-up
    from relaymark.data.trajectories import write_trajectories  # noqa: PLC0415 - lazy: start-up
    from relaymark.data.trajectories.synthesis import small_profile, synthesise  # noqa: PLC0415 - lazy: start-up
    from relaymark.emulate import LlamaConfig, smollm2_path, start_llama  # noqa: PLC0415 - lazy: start-up

    path = options.model_path or smollm2_path()
    with TemporaryDirectory(prefix="relaymark-agent-") as folder:
        trajectories = Path(folder) / "trajectories.jsonl"
        write_trajectories(trajectories, synthesise(small_profile(), seed=7, conversations=_CONVERSATIONS))
        _tell(f"Starting llama.cpp with {path.name} on one thread…")
        with start_llama(LlamaConfig(model_path=path, slots=1, threads=1, ctx=4096)) as server:
            _tell(f"Serving at {server.url}; replaying {_CONVERSATIONS} conversations turn by turn.")
            laid = {"endpoint.url": server.url, "trajectories": str(trajectories)}
            bench = load_preset("quick/agent", options.set, laid)
            code = run_and_report(bench, options.out, Path.cwd())
    _tell("The turns' speed is measured; what they say is the word of a model of 135 million parameters.")
    return code


def _tell(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
