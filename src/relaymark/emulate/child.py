"""The child's side of a server process: handshake, the watch on the parent, the serving loop. See ``process``."""

from __future__ import annotations

import asyncio
import contextlib
import os
import selectors
import signal
import ssl
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from relaymark.errors import RelaymarkError

try:
    import resource
except ImportError:  # Windows
    resource = None
try:
    import uvloop
except ImportError:  # Windows has none; asyncio does the same, more slowly
    uvloop = None

Serve = Callable[[Callable[[int], None], asyncio.Event], Awaitable[None]]


def read_config_line() -> bytes:
    """Child: the configuration. Read byte-wise from the descriptor, so that the watch finds stdin unbuffered."""
    line = bytearray()
    while not line.endswith(b"\n"):
        data = os.read(0, 65_536)
        if not data:
            break
        line += data
    return bytes(line)


def say_ready(answer: dict[str, Any], descriptor: int = 1) -> None:
    """Child: the one line of the handshake."""
    with contextlib.suppress(BrokenPipeError):
        os.write(descriptor, msgspec.json.encode(answer) + b"\n")


def watch_parent(gone: Callable[[], None]) -> None:
    """Child: call ``gone`` (from another thread) when stdin ends or the parent is another process than at the start."""
    parent = os.getppid()

    def watch() -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(0, selectors.EVENT_READ)
            while os.getppid() == parent:
                if selector.select(1.0) and not os.read(0, 4096):
                    break
        gone()

    threading.Thread(target=watch, name="parent-watch", daemon=True).start()


def _allow_many_connections() -> None:
    """Raise the soft limit of open files to the hard one: a stream is a descriptor, and the usual limit is 1,024."""
    if resource is None:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):  # macOS says "unlimited" and refuses it
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


async def _until_told(serve: Serve) -> None:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    with contextlib.suppress(NotImplementedError):
        loop.add_signal_handler(signal.SIGTERM, stop.set)

    def gone() -> None:
        loop.call_soon_threadsafe(stop.set)

    def ready(port: int) -> None:
        say_ready({"port": port})
        watch_parent(gone)

    await serve(ready, stop)


def serve_for_parent(prepare: Callable[[bytes], tuple[Serve, str]]) -> int:
    """Read the configuration from stdin, serve until the parent goes, report trouble on stdout's one line.

    Args:
        prepare: Turns the configuration line into a server coroutine function and the address for error messages.

    Returns:
        The exit code.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _allow_many_connections()
    try:
        serve, address = prepare(read_config_line())
    except (msgspec.MsgspecError, RelaymarkError) as problem:
        say_ready({"error": str(problem)})
        return 2
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop if uvloop else None) as runner:
            runner.run(_until_told(serve))
    except ssl.SSLError as problem:
        say_ready({"error": f"TLS: {problem.reason or problem}", "where": address})
        return 2
    except OSError as problem:
        say_ready({"error": problem.strerror or str(problem), "where": problem.filename or address})
        return 2
    return 0
