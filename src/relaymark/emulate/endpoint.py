"""The paced endpoint's server: HTTP/1.1 in, answers out, in one process on one core."""

from __future__ import annotations

import asyncio
import gc
import os
import ssl
import time
from collections import deque
from collections.abc import Callable
from time import monotonic_ns
from typing import Any, cast

import msgspec

from relaymark.emulate.answer import Answer, response_head
from relaymark.emulate.ask import PATHS, BadAsk, read_ask
from relaymark.emulate.pacedconfig import PacedConfig
from relaymark.emulate.pacer import Pacer
from relaymark.emulate.truth import TruthLog, TruthRecord
from relaymark.emulate.voice import ResponsesVoice, Voice

_MAX_HEAD = 64 * 1024
_MAX_BODY = 64 * 1024 * 1024


class PacedEndpoint:
    """What all connections share: the pacer, the slots, the truth log, the counters."""

    def __init__(self, config: PacedConfig, loop: asyncio.AbstractEventLoop) -> None:
        self.config = config
        self.pacer = Pacer(loop)
        self.truth = TruthLog(config.log_path)
        self.voices = {
            "chat": Voice(config, "chat"),
            "completions": Voice(config, "completions"),
            "responses": ResponsesVoice(config, "responses"),
            "embeddings": Voice(config, "embeddings"),
        }
        self.answers: set[Answer] = set()
        self.connections: set[Connection] = set()
        self._waiting: deque[tuple[Answer, TruthRecord]] = deque()
        self._active = 0
        self._requests = 0
        self._finished = 0
        self._events = 0
        self._tokens = 0
        self._late_max = 0
        self._peak = 0

    def next_seq(self) -> int:
        """Number of the next request."""
        self._requests += 1
        return self._requests - 1

    def admit(self, answer: Answer, truth: TruthRecord) -> None:
        """Start an answer now, or queue it behind the others when every slot is taken."""
        self.answers.add(answer)
        if self.config.slots is not None and self._active >= self.config.slots:
            self._waiting.append((answer, truth))
        else:
            self._begin(answer, truth.arrived)

    def _begin(self, answer: Answer, at: int) -> None:
        self._active += 1
        self._peak = max(self._peak, self._active)
        self.pacer.add(answer.start(at), answer)

    def release(self, answer: Answer, truth: TruthRecord, freed: int) -> None:
        """An answer is over: note the truth, and give its slot to the one that has waited longest."""
        self.answers.discard(answer)
        self._finished += 1
        self._events += len(truth.sent_at)
        self._tokens += truth.completion_tokens
        if truth.sent_at:
            late = max(map(int.__sub__, truth.sent_at, truth.due))
            self._late_max = max(self._late_max, late)
        self.truth.add(truth)
        if truth.started == 0:
            return  # it left while it queued and never had a slot
        self._active -= 1
        while self._waiting:
            following, its_truth = self._waiting.popleft()
            if not following.ended:
                # The slot came free when the last token was due: a late send must not slow the next request.
                self._begin(following, max(freed, its_truth.arrived))
                break

    def stats(self) -> dict[str, Any]:
        """Counters, for GET /stats."""
        return {
            "requests": self._requests,
            "finished": self._finished,
            "active": self._active,
            "queued": sum(not answer.ended for answer, _ in self._waiting),
            "peak_active": self._peak,
            "connections": len(self.connections),
            "events": self._events,
            "tokens": self._tokens,
            "late_max_ns": self._late_max,
            "cpu_ns": time.process_time_ns(),
        }

    def close(self) -> None:
        """End every answer, write the rest of the truth."""
        for answer in list(self.answers):
            answer.abandon("stopped")
        for connection in list(self.connections):
            connection.abort()
        self.pacer.close()
        self.truth.close()


class Connection(asyncio.Protocol):
    """One client connection: finds requests, answers them one after the other."""

    def __init__(self, endpoint: PacedEndpoint) -> None:
        self._endpoint = endpoint
        self._buffer = bytearray()
        self._need = 0  # bytes the buffer must hold before it is worth another look
        self._transport: asyncio.Transport | None = None
        self._fd = -1
        self._backlog = False
        self._answer: Answer | None = None
        self._continued = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember the socket: events of plain connections are written to it directly."""
        self._transport = cast("asyncio.Transport", transport)
        self._endpoint.connections.add(self)
        # asyncio and uvloop may put writes off to the end of the loop's turn; the truth log's stamp must be taken
        # right before the kernel gets the bytes, so we write to the descriptor. TLS has to go through the transport.
        if transport.get_extra_info("ssl_object") is None:
            self._fd = transport.get_extra_info("socket").fileno()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client went away."""
        del exc
        self._gone()
        self._transport = None

    def eof_received(self) -> bool:
        """The client closed its side; nobody reads on, so the answer ends."""
        self._gone()
        return False

    def _gone(self) -> None:
        self._fd = -1
        self._endpoint.connections.discard(self)
        answer, self._answer = self._answer, None
        if answer is not None:
            answer.abandon("client_gone")

    def abort(self) -> None:
        """Close without ceremony."""
        self._fd = -1
        if self._transport is not None:
            self._transport.abort()

    def _write(self, data: bytes) -> bool:
        transport = self._transport
        if transport is None:
            return False
        if self._fd < 0:
            if transport.is_closing():
                return False
            transport.write(data)
            return True
        if self._backlog:
            if transport.get_write_buffer_size():
                transport.write(data)
                return True
            self._backlog = False
        try:
            written = os.write(self._fd, data)
        except BlockingIOError:
            written = 0
        except OSError:
            return False
        if written < len(data):
            self._backlog = True
            transport.write(data[written:])
        return True

    def data_received(self, data: bytes) -> None:
        """Collect bytes until a request is whole."""
        now = monotonic_ns()
        self._buffer += data
        if len(self._buffer) > _MAX_HEAD + _MAX_BODY:
            self.abort()
            return
        if self._answer is None and len(self._buffer) >= self._need:
            self._look(now)

    def _look(self, now: int) -> None:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > _MAX_HEAD:
                self._refuse("431 Request Header Fields Too Large", "headers too large")
            return
        first, headers = _read_head(bytes(self._buffer[:end]))
        size = headers.get("content-length", "0")
        if "transfer-encoding" in headers or not size.isdecimal():
            self._refuse("411 Length Required", "send the body with a content-length")
            return
        if int(size) > _MAX_BODY:
            self._refuse("413 Content Too Large", "body too large")
            return
        whole = end + 4 + int(size)
        if len(self._buffer) < whole:
            self._need = whole
            if headers.get("expect", "").lower() == "100-continue" and not self._continued:
                self._continued = True
                self._write(b"HTTP/1.1 100 Continue\r\n\r\n")
            return
        body = bytes(self._buffer[end + 4 : whole])
        del self._buffer[:whole]
        self._need = 0
        self._continued = False
        self._handle(first, headers, body, now)

    def _handle(self, first: list[str], headers: dict[str, str], body: bytes, now: int) -> None:
        if len(first) != 3 or not first[2].startswith("HTTP/1."):
            self._refuse("400 Bad Request", "not an HTTP/1.1 request")
            return
        config = self._endpoint.config
        method, path = first[0], first[1].partition("?")[0]
        wish = headers.get("connection", "").lower()
        close = wish == "close" or (first[2] == "HTTP/1.0" and wish != "keep-alive")
        if config.api_key is not None and headers.get("authorization") != f"Bearer {config.api_key}":
            self._reply("401 Unauthorized", _error("invalid API key", "authentication_error"), close, now)
        elif method == "GET":
            self._get(path, close, now)
        elif method == "POST" and path in PATHS:
            self._post(path, headers, body, close, now)
        else:
            self._reply("404 Not Found", _error(f"no such path: {method} {path}", "not_found_error"), close, now)

    def _get(self, path: str, close: bool, now: int) -> None:
        model = self._endpoint.config.model
        if path == "/v1/models":
            entry = {"id": model, "object": "model", "created": 1_700_000_000, "owned_by": "relaymark"}
            self._reply("200 OK", {"object": "list", "data": [entry]}, close, now)
        elif path == "/health":
            self._reply("200 OK", {"status": "ok"}, close, now)
        elif path == "/stats":
            self._reply("200 OK", self._endpoint.stats(), close, now)
        else:
            self._reply("404 Not Found", _error(f"no such path: GET {path}", "not_found_error"), close, now)

    def _post(self, path: str, headers: dict[str, str], body: bytes, close: bool, now: int) -> None:
        endpoint = self._endpoint
        config = endpoint.config
        try:
            ask = read_ask(PATHS[path], body)
        except BadAsk as problem:
            self._reply("400 Bad Request", _error(str(problem), "invalid_request_error"), close, now)
            return
        if config.strict_model and ask.model != config.model:
            self._reply(
                "404 Not Found", _error(f"The model `{ask.model}` does not exist.", "not_found_error"), close, now
            )
            return
        truth = TruthRecord(
            seq=endpoint.next_seq(),
            id=headers.get("x-relaymark-id"),
            user=ask.user,
            prompt_sha=ask.prompt_sha,
            api=ask.api,
            streamed=ask.streamed,
            prompt_tokens=ask.prompt_tokens,
            arrived=now,
        )

        def done(freed: int) -> None:
            endpoint.release(answer, truth, freed)
            if self._answer is answer:
                self._answer = None
                self._next_request(close)

        answer = Answer(
            config,
            endpoint.voices[ask.api],
            ask,
            truth,
            write=self._write,
            done=done,
            gzip=config.gzip and "gzip" in headers.get("accept-encoding", ""),
            close=close,
        )
        self._answer = answer
        endpoint.admit(answer, truth)

    def _next_request(self, close: bool) -> None:
        if self._transport is None:
            return
        if close:
            self._fd = -1  # close() may release the descriptor at once, and the next connection may get its number
            self._transport.close()
        elif self._buffer:
            asyncio.get_running_loop().call_soon(self.data_received, b"")

    def _reply(self, status: str, body: dict[str, Any], close: bool, now: int) -> None:
        del now
        data = msgspec.json.encode(body)
        self._write(response_head(status, "application/json", length=len(data), gzip=False, close=close) + data)
        self._next_request(close)

    def _refuse(self, status: str, why: str) -> None:
        self._reply(status, _error(why, "invalid_request_error"), True, 0)


def _read_head(head: bytes) -> tuple[list[str], dict[str, str]]:
    lines = head.decode("latin-1").split("\r\n")
    headers: dict[str, str] = {}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    return lines[0].split(" "), headers


def _error(message: str, kind: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


async def serve_paced(config: PacedConfig, ready: Callable[[int], None], stop: asyncio.Event) -> None:
    """Serve until ``stop`` is set. ``ready`` is called with the port once the socket listens.

    Raises:
        OSError: The port is taken, or the certificate cannot be read.
    """
    loop = asyncio.get_running_loop()
    context = None
    if config.tls_cert is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(config.tls_cert, config.tls_key)
    endpoint = PacedEndpoint(config, loop)
    try:
        server = await loop.create_server(
            lambda: Connection(endpoint), config.host, config.port, ssl=context, backlog=4096
        )
        # A collection in the middle of a burst would make events late: what exists now is never garbage, and
        # answers leave no cycles behind.
        gc.freeze()
        gc.set_threshold(50_000, 50, 1000)
        ready(server.sockets[0].getsockname()[1])
        while not stop.is_set():
            endpoint.truth.flush()
            try:
                await asyncio.wait_for(stop.wait(), 1.0)
            except TimeoutError:
                continue
        server.close()
    finally:
        endpoint.close()
