"""Main module of the paced endpoint's process: ``python -m relaymark.emulate.pacedchild``, started by start_paced."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import ssl
import sys

import msgspec

from relaymark.emulate.child import read_config_line, say_ready, watch_parent
from relaymark.emulate.endpoint import serve_paced
from relaymark.emulate.pacedconfig import PacedConfig, decode_config
from relaymark.errors import RelaymarkError

try:
    import uvloop
except ImportError:  # Windows has none; asyncio does the same, more slowly
    uvloop = None


async def run(config: PacedConfig) -> None:
    """Serve until the parent goes or a SIGTERM arrives."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    with contextlib.suppress(NotImplementedError):
        loop.add_signal_handler(signal.SIGTERM, stop.set)

    def gone() -> None:
        loop.call_soon_threadsafe(stop.set)

    def ready(port: int) -> None:
        say_ready({"port": port})
        watch_parent(gone)

    await serve_paced(config, ready, stop)


def main() -> int:
    """Read the configuration from stdin, serve, report trouble on stdout's one line."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        config = decode_config(read_config_line())
    except (msgspec.MsgspecError, RelaymarkError) as problem:
        say_ready({"error": str(problem)})
        return 2
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop if uvloop else None) as runner:
            runner.run(run(config))
    except ssl.SSLError as problem:
        say_ready({"error": f"TLS: {problem.reason or problem}", "where": f"{config.tls_cert}, {config.tls_key}"})
        return 2
    except OSError as problem:
        where = f"{config.host}:{config.port}"
        say_ready({"error": problem.strerror or str(problem), "where": problem.filename or where})
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
