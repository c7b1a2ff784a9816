"""A server that does exactly what a test says, byte for byte, in threads of its own; and a client to meet it with."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
import threading
from array import array
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self, TypeVar

import uvloop

from relaymark.trace import Capture
from relaymark.wire import Client, Limits, Target, Timeouts, parse_url, resolve
from relaymark.wire.loop import HotLoop

T = TypeVar("T")
Handler = Callable[["Peer"], None]


class Peer:
    """One accepted connection, blocking."""

    def __init__(self, sock: socket.socket, number: int) -> None:
        self.sock = sock
        self.number = number  # 0 for the first connection the server accepted
        self.requests: list[tuple[bytes, bytes]] = []
        self._buffer = b""

    def request(self) -> tuple[bytes, bytes] | None:
        """Head and body of the next request; None when the client closed."""
        while b"\r\n\r\n" not in self._buffer:
            if not self._more():
                return None
        head, _, rest = self._buffer.partition(b"\r\n\r\n")
        self._buffer = rest
        size = 0
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                size = int(value)
        while len(self._buffer) < size:
            if not self._more():
                return None
        body, self._buffer = self._buffer[:size], self._buffer[size:]
        self.requests.append((head, body))
        return head, body

    def _more(self) -> bool:
        try:
            data = self.sock.recv(1 << 16)
        except OSError:
            return False
        self._buffer += data
        return bool(data)

    def send(self, *pieces: bytes) -> None:
        for piece in pieces:
            self.sock.sendall(piece)

    def reset(self) -> None:
        """Close with a RST."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def wait_closed(self) -> None:
        """Wait until the client closes its side."""
        with contextlib.suppress(OSError):
            while self.sock.recv(1 << 16):
                pass


class RawServer:
    """Serves each connection with ``handler`` in a thread; the connection is closed when the handler returns."""

    def __init__(
        self,
        handler: Handler,
        host: str = "127.0.0.1",
        context: ssl.SSLContext | None = None,
    ) -> None:
        self._handler = handler
        self._context = context
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, 0), family=family, backlog=128)
        self.port: int = self._listener.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        self.url = f"{'https' if context else 'http'}://{shown}:{self.port}"
        self.peers: list[Peer] = []
        self.errors: list[BaseException] = []
        self._threads: list[threading.Thread] = []
        self._acceptor = threading.Thread(target=self._accept, daemon=True)

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            peer = Peer(sock, len(self.peers))
            self.peers.append(peer)
            thread = threading.Thread(target=self._serve, args=(peer,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, peer: Peer) -> None:
        try:
            peer.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._context is not None:
                peer.sock = self._context.wrap_socket(peer.sock, server_side=True)
            self._handler(peer)
        except OSError:
            pass  # the client went away, which many tests want
        except BaseException as error:
            self.errors.append(error)
        finally:
            with contextlib.suppress(OSError):
                peer.sock.close()

    def __enter__(self) -> Self:
        self._acceptor.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for peer in self.peers:
            with contextlib.suppress(OSError):
                peer.sock.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)
        assert not self.errors, self.errors


def answers(*pieces: bytes) -> Handler:
    """Answers every request of a connection with these writes, until the client closes."""

    def handler(peer: Peer) -> None:
        while peer.request() is not None:
            peer.send(*pieces)

    return handler


def head(*lines: str, status: str = "200 OK") -> bytes:
    return ("\r\n".join([f"HTTP/1.1 {status}", *lines]) + "\r\n\r\n").encode()


def with_length(body: bytes, *lines: str, status: str = "200 OK") -> bytes:
    return head(f"Content-Length: {len(body)}", *lines, status=status) + body


def chunked(*pieces: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def target_of(url: str, *, verify_tls: bool = True) -> Target:
    return resolve(parse_url(url, verify_tls=verify_tls))


def capture() -> Capture:
    return Capture(leg_id=1, task_id=1, request=0)


async def post(client: Client, body: bytes = b"{}") -> Capture:
    """One POST, with a sweep for timeouts running beside it."""
    request = b"POST /v1/chat/completions HTTP/1.1\r\nHost: t\r\nContent-Length: %d\r\n\r\n" % len(body)
    sending = asyncio.ensure_future(client.send(capture(), request, body))
    while not sending.done():
        await asyncio.wait({sending}, timeout=0.01)
        client.sweep()
    return sending.result()


def run(work: Callable[[], Awaitable[T]], *, loop: str = "hot") -> T:
    """Run ``work`` in a fresh event loop, for at most 20 s."""

    async def bounded() -> T:
        return await asyncio.wait_for(work(), 20)

    factory = {"hot": HotLoop, "uvloop": uvloop.new_event_loop, "asyncio": asyncio.new_event_loop}[loop]
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(bounded())


def meet(
    url: str,
    *,
    times: int = 1,
    loop: str = "hot",
    body: bytes = b"{}",
    timeouts: Timeouts | None = None,
    limits: Limits | None = None,
    keep_alive: bool = True,
    verify_tls: bool = True,
) -> list[Capture]:
    """Send ``times`` requests one after the other over one client; the captures of them."""
    target = target_of(url, verify_tls=verify_tls)

    async def work() -> list[Capture]:
        client = Client(target, timeouts=timeouts, limits=limits, keep_alive=keep_alive)
        try:
            return [await post(client, body) for _ in range(times)]
        finally:
            client.close()

    return run(work, loop=loop)


def user_stamps(captured: Capture) -> list[int]:
    return list(array("q", captured.user_ns))


def kernel_stamps(captured: Capture) -> list[int]:
    """Kernel stamps mapped to CLOCK_MONOTONIC ns."""
    parts = array("q", captured.kernel_ts)
    return [s * 1_000_000_000 + n - captured.wall_offset_ns for s, n in zip(parts[::2], parts[1::2], strict=True)]


def sizes(captured: Capture) -> list[int]:
    return list(array("I", captured.sizes))
