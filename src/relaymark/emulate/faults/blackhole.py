"""Places where no server answers: a port nobody listens on, and one that never completes a connection."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Generator


@contextlib.contextmanager
def black_hole() -> Generator[int]:
    """A loopback port that lets connections hang, as a host behind a dropping firewall does (Linux).

    The accept queue of a listener that never accepts is filled; the kernel then drops further handshakes. A client's
    right report is ``timeout_connect``.
    """
    with contextlib.ExitStack() as opened:
        listener = opened.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        address = listener.getsockname()
        for _ in range(4):
            filler = opened.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(address)
        yield address[1]


@contextlib.contextmanager
def closed_port() -> Generator[int]:
    """A loopback port that refuses connections: it is bound, so nobody else gets it, but nobody listens."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]
