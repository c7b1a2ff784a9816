"""``relaymark data import``, ``profile`` and ``synth``: recorded conversations of agents."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from relaymark.errors import ConfigError, ExitCode

_GENERAL = """\
Turns logs of your own agent into a trajectory file that `relaymark run FILE.yaml` (kind: agent-replay) replays.

  relaymark data import chats.jsonl --out mine.jsonl
  relaymark data import runs/*.traj --anonymise --name acme --out shared.jsonl

The general form is a line a conversation: {"id": "a", "messages": [...], "tools": [...]} with messages as OpenAI's API
has them; a message of the user or a tool may say what it took ("delay_seconds": 1.5). Logs of single requests fit too:
a request that goes on with an earlier one takes its place, and the answer is read from "response" or "choices".
Files that end in .traj or .traj.json are read as mini-swe-agent's."""


def add(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    """Adds the subcommands to the parser of ``relaymark data``."""
    importing = kinds.add_parser(
        "import",
        help="your own agent's logs as a trajectory file, anonymised if you like",
        description=_GENERAL,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    importing.add_argument("logs", metavar="FILE", type=Path, nargs="+", help="JSON lines of chats, or .traj files")
    importing.add_argument(
        "--form", choices=("openai", "mini-swe-agent"), help="of the logs; told by their names if absent"
    )
    importing.add_argument("--out", metavar="FILE", type=Path, required=True, help="where the trajectories go")
    importing.add_argument("--anonymise", action="store_true", help="replace names, paths, addresses, hosts and keys")
    importing.add_argument(
        "--name", metavar="WORD", action="append", default=[], help="also replace this name; may be repeated"
    )
    importing.set_defaults(call=call_import)
    profile = kinds.add_parser(
        "profile",
        help="the lengths and pauses of a trajectory file, without a word of its text",
        description="Writes the profile of a trajectory file as JSON: every length in characters and every pause. "
        "It holds no text, so it can be given away where the conversations can't; `relaymark data synth` makes a "
        "workload of it.",
    )
    profile.add_argument("file", metavar="FILE", type=Path, help="a trajectory file")
    profile.add_argument("--out", metavar="FILE", type=Path, help="where the profile goes (default: standard output)")
    profile.set_defaults(call=call_profile)
    synth = kinds.add_parser(
        "synth",
        help="a look-alike workload of any size from a profile",
        description="Makes conversations with the lengths and pauses of a profile, in made-up words. The same seed "
        "gives the same bytes.",
    )
    synth.add_argument("--profile", metavar="FILE", type=Path, required=True, help="from `relaymark data profile`")
    synth.add_argument("--out", metavar="FILE", type=Path, required=True, help="where the trajectories go")
    synth.add_argument("--seed", metavar="S", type=int, default=0, help="which of all such workloads (default 0)")
    synth.add_argument("--conversations", metavar="N", type=int, help="how many (default: as many as the profile has)")
    synth.add_argument("--scale", metavar="X", type=float, default=1.0, help="multiply every length, e.g. 0.1")
    synth.add_argument("--turns", metavar="N", type=int, help="cut conversations after so many turns")
    synth.set_defaults(call=call_synth)


def call_import(options: argparse.Namespace) -> int:
    """Imports; says what came of it and what was left out."""
    from relaymark.data.trajectories import write_trajectories  # noqa: PLC0415 - lazy: start-up
    from relaymark.data.trajectories.importing import import_logs  # noqa: PLC0415 - lazy: start-up

    if options.name and not options.anonymise:
        raise ConfigError("names are replaced only with --anonymise", where="--name", mend="add --anonymise")
    imported = import_logs(options.logs, options.form)
    trajectories, counts = imported.trajectories, dict[str, int]()
    if options.anonymise:
        from relaymark.data.trajectories.anonymising import anonymise  # noqa: PLC0415 - lazy: start-up

        trajectories, counts = anonymise(trajectories, names=options.name)
    _write(options.out, lambda: write_trajectories(options.out, trajectories))
    turns = sum(len(one.turns) for one in trajectories)
    sys.stdout.write(
        f"{len(trajectories):,} conversations with {turns:,} turns in {options.out}, of {imported.lines:,} records\n"
    )
    for what, count in imported.left_out.items():
        sys.stdout.write(f"  left out: {count:,} {what}\n")
    if options.anonymise:
        told = ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items()) if count) or "nothing"
        sys.stdout.write(f"  replaced: {told}\n  Look through it before you give it away: no rule knows every name.\n")
    return int(ExitCode.GOOD)


def call_profile(options: argparse.Namespace) -> int:
    """Writes the profile."""
    import msgspec  # noqa: PLC0415 - lazy: start-up

    from relaymark.data.trajectories import load_trajectories  # noqa: PLC0415 - lazy: start-up
    from relaymark.data.trajectories.profiling import profile_of  # noqa: PLC0415 - lazy: start-up

    profile = profile_of(load_trajectories(options.file))
    data = msgspec.json.format(msgspec.json.encode(profile), indent=1) + b"\n"
    if options.out is None:
        sys.stdout.buffer.write(data)
        return int(ExitCode.GOOD)
    _write(options.out, lambda: options.out.write_bytes(data))
    turns = sum(len(one.turns) for one in profile.conversations)
    sys.stdout.write(f"profile of {len(profile.conversations):,} conversations, {turns:,} turns, in {options.out}\n")
    return int(ExitCode.GOOD)


def call_synth(options: argparse.Namespace) -> int:
    """Writes the workload."""
    from relaymark.data.trajectories import write_trajectories  # noqa: PLC0415 - lazy: start-up
    from relaymark.data.trajectories.profiling import read_profile  # noqa: PLC0415 - lazy: start-up
    from relaymark.data.trajectories.synthesis import synthesise  # noqa: PLC0415 - lazy: start-up

    profile = read_profile(options.profile)
    count = options.conversations if options.conversations is not None else len(profile.conversations)
    made = synthesise(profile, seed=options.seed, conversations=count, scale=options.scale, most_turns=options.turns)
    _write(options.out, lambda: write_trajectories(options.out, made))
    sys.stdout.write(f"{count:,} conversations in {options.out}\n")
    return int(ExitCode.GOOD)


def _write(path: Path, write: Callable[[], object]) -> None:
    try:
        write()
    except OSError as error:
        raise ConfigError(f"the file can't be written: {error.strerror or error}", where=str(path)) from None
