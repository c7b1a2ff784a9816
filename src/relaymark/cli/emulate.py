"""``relaymark emulate``: an endpoint with known timing, faults or a real small model, until Ctrl-C."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from relaymark.cli import scripted

if TYPE_CHECKING:
    from relaymark.emulate import FaultyConfig, PacedConfig
    from relaymark.emulate.served import EmulatedServer


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    """Adds the command to the parser."""
    parser = commands.add_parser(
        "emulate",
        help="an OpenAI-compatible endpoint with known timing, on loopback",
        description="Serves an OpenAI-compatible endpoint on loopback whose timing is known and logged, so that a "
        "client can be checked against the truth. Stops on Ctrl-C.",
    )
    parser.add_argument("--port", type=int, default=0, help="0 (default) takes a free one")
    parser.add_argument("--ttft", metavar="TIME", help="time to first token (default 50ms)")
    parser.add_argument("--itl", metavar="TIME", help="time between tokens (default 20ms)")
    parser.add_argument("--prefill", default="0ms", metavar="TIME", help="added to TTFT per prompt token")
    parser.add_argument("--tokens", type=int, default=64, metavar="N", help="length of an answer (default 64)")
    parser.add_argument("--tokens-per-chunk", type=int, default=1, metavar="N", help="tokens in each event")
    parser.add_argument("--jitter", default="0ms", metavar="TIME", help="standard deviation of each gap")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the jitter")
    parser.add_argument("--slots", type=int, metavar="N", help="requests served at once; others queue")
    parser.add_argument(
        "--usage", choices=("asked", "on", "off", "continuous"), default="asked", help="when token counts are sent"
    )
    parser.add_argument("--model", metavar="NAME", help="name of the model it serves")
    parser.add_argument("--log", type=Path, metavar="FILE", help="truth log: what it really did, as JSON lines")
    parser.add_argument(
        "--fault",
        metavar="NAME[:PARAMS]",
        action="append",
        default=[],
        help="misbehave, e.g. rst:after=3,rate=0.1; may be repeated (see --list-faults)",
    )
    parser.add_argument("--list-faults", action="store_true", help="list the faults and stop")
    scripted.add_options(parser)
    parser.set_defaults(call=call)


def call(options: argparse.Namespace) -> int:
    """Serves until interrupted."""
    from relaymark.emulate import start_faulty, start_paced, start_scripted  # noqa: PLC0415 - lazy: start-up

    if options.list_faults:
        _list_faults()
        return 0
    if options.script is not None:
        return _serve(start_scripted(scripted.scripted_config(options)))
    config = _paced_config(options)
    faulty = _faulty_config(options, config)
    return _serve(start_paced(config) if faulty is None else start_faulty(faulty))


def _paced_config(options: argparse.Namespace) -> PacedConfig:
    from relaymark.emulate import PacedConfig  # noqa: PLC0415 - lazy: start-up
    from relaymark.units import parse_duration  # noqa: PLC0415 - lazy: start-up

    return PacedConfig(
        ttft=parse_duration(options.ttft or "50ms") / 1e9,
        itl=parse_duration(options.itl or "20ms") / 1e9,
        prefill=parse_duration(options.prefill) / 1e9,
        tokens=options.tokens,
        tokens_per_chunk=options.tokens_per_chunk,
        jitter=parse_duration(options.jitter) / 1e9,
        seed=options.seed,
        slots=options.slots,
        usage=options.usage,
        model="paced" if options.model is None else options.model,
        port=options.port,
        log_path=options.log,
    )


def _faulty_config(options: argparse.Namespace, config: PacedConfig) -> FaultyConfig | None:
    from relaymark.emulate import FaultyConfig  # noqa: PLC0415 - lazy: start-up

    return FaultyConfig(paced=config, faults=tuple(options.fault), seed=options.seed) if options.fault else None


def _serve(starting: EmulatedServer) -> int:
    """Says where the server is, and waits until it is told to stop."""
    done = threading.Event()

    def stop(number: int, frame: object) -> None:
        del number, frame
        done.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    with starting as server:
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        sys.stderr.write(f"Serving {server.model!r} until Ctrl-C; try: relaymark run chat --url {server.url}\n")
        while server.alive and not done.wait(0.5):
            pass
    return 0


def _list_faults() -> None:
    from relaymark.emulate import list_faults  # noqa: PLC0415 - lazy: start-up
    from relaymark.report.findings import print_listing  # noqa: PLC0415 - lazy: start-up

    print_listing(
        ("fault", "a right client reports", "what it stands for"),
        [(fault.name, str(fault.outcome), fault.about) for fault in list_faults()],
    )
