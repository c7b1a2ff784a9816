"""What a fault plays on: one request, the plain answer to it in pieces, and full control of the socket."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from time import monotonic_ns
from typing import Any, Literal, NamedTuple

import msgspec

from relaymark.emulate.ask import Ask
from relaymark.emulate.pacedconfig import PacedConfig
from relaymark.emulate.truth import TruthRecord
from relaymark.emulate.voice import ResponsesVoice, Voice, embeddings_body, usage_fields, words

_SECOND = 1_000_000_000
SSE = "text/event-stream; charset=utf-8"
JSON = "application/json"
DONE = b"data: [DONE]\n\n"
# Long enough for a reader on the same host to have read what was written before.
APART = 0.003

Framing = Literal["chunked", "length", "close"]


class Piece(NamedTuple):
    """Bytes of the body that belong together (an event), and how many tokens they bear."""

    data: bytes
    tokens: int = 0


class Stage:
    """One request on one connection. Faults call its methods in whatever wrong order they stand for.

    Attributes:
        n: Tokens of the answer.
        params: The fault's numbers.
        nth: How many requests came before on this connection.
        keep: False once this connection must not serve another request.
    """

    def __init__(
        self,
        config: PacedConfig,
        ask: Ask,
        truth: TruthRecord,
        *,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        params: dict[str, float],
        nth: int,
        keep: bool,
    ) -> None:
        self.config = config
        self.ask = ask
        self.truth = truth
        self.params = params
        self.nth = nth
        self.keep = keep
        self.n = min(config.tokens, ask.limit) if ask.limit is not None else config.tokens
        self._reader = reader
        self._writer = writer
        self._chunked = False
        self._due = truth.arrived + round(config.ttft * _SECOND)
        self._voice = ResponsesVoice(config, "responses") if ask.api == "responses" else Voice(config, ask.api)
        self.rid = self._voice.request_id(truth.seq)

    # what is said

    def count(self, name: str) -> int:
        """A parameter as a whole number."""
        return int(self.params[name])

    def usage(self, completion: int | None = None, reasoning: int = 0) -> dict[str, Any]:
        """The usage object."""
        return usage_fields(self.truth.prompt_tokens, self.n if completion is None else completion, reasoning)

    def chat(self, delta: dict[str, Any] | None, *, finish: str | None = None, index: int = 0, **extra: Any) -> bytes:
        """One chat chunk; ``delta`` None makes ``choices`` empty."""
        choices = [] if delta is None else [{"index": index, "delta": delta, "finish_reason": finish}]
        chunk = {
            "id": self.rid,
            "object": "chat.completion.chunk",
            "created": 1_700_000_000,
            "model": self.config.model,
            "choices": choices,
            **extra,
        }
        return b"data: " + msgspec.json.encode(chunk) + b"\n\n"

    def chat_ending(self, finish: str = "stop", *, reasoning: int = 0) -> list[Piece]:
        """The finish_reason chunk, the usage chunk and the terminator."""
        return [
            Piece(self.chat({}, finish=finish)),
            Piece(self.chat(None, usage=self.usage(reasoning=reasoning))),
            Piece(DONE),
        ]

    def words(self, index: int, count: int = 1) -> str:
        """The text of token ``index`` and of those after it."""
        return words(index, count)

    def pieces(self) -> list[Piece]:
        """The plain answer: its events when streaming, else its body in four parts."""
        if not self.ask.streamed:
            body = self.body()
            cut = max(1, len(body) // 4)
            parts = [body[:cut], body[cut : 2 * cut], body[2 * cut : 3 * cut], body[3 * cut :]]
            return [*map(Piece, parts[:3]), Piece(parts[3], self.n if self.ask.api != "embeddings" else 0)]
        opening = self._voice.opening(self.rid, self.ask) if self.ask.api == "responses" else b""
        found = [Piece(opening)] if opening else []
        rid = self.rid.encode()
        found += [Piece(self._voice.token(rid, index, 1, False), 1) for index in range(self.n)]
        closing = self._voice.closing(self.rid, "stop", self.usage(), self.n, 0)
        return found + [Piece(event + b"\n\n") for event in closing.split(b"\n\n")[:-1]]

    def body(self) -> bytes:
        """The plain non-streaming answer."""
        if self.ask.api == "embeddings":
            return embeddings_body(self.config, self.ask, True)
        return self._voice.whole(self.rid, "stop", self.usage(), self.n, 0)

    # how it is sent

    async def head(
        self,
        *headers: str,
        status: str = "200 OK",
        kind: str | None = None,
        framing: Framing = "chunked",
        length: int = 0,
        version: str = "1.1",
    ) -> None:
        """Status line and headers."""
        await self.raw(self.head_bytes(*headers, status=status, kind=kind, framing=framing, length=length,
                                       version=version))  # fmt: skip

    def head_bytes(
        self,
        *headers: str,
        status: str = "200 OK",
        kind: str | None = None,
        framing: Framing = "chunked",
        length: int = 0,
        version: str = "1.1",
    ) -> bytes:
        """The same without sending it; from here on :meth:`send` frames as it says."""
        self._chunked = framing == "chunked"
        lines = [f"HTTP/{version} {status}", f"content-type: {kind or (SSE if self.ask.streamed else JSON)}"]
        if framing == "chunked":
            lines.append("transfer-encoding: chunked")
        elif framing == "length":
            lines.append(f"content-length: {length}")
        if framing == "close":
            self.keep = False
        return "\r\n".join([*lines, *headers, "", ""]).encode()

    def framed(self, data: bytes) -> bytes:
        """``data`` as an HTTP chunk where the body is chunked."""
        return b"%x\r\n%b\r\n" % (len(data), data) if self._chunked and data else data

    async def raw(self, data: bytes) -> None:
        """Write bytes as they are, at once."""
        self._writer.write(data)
        await self._writer.drain()

    async def send(self, data: bytes, tokens: int = 0) -> None:
        """Write a part of the body when its tokens are due."""
        await self.due(tokens)
        await self.raw(self.framed(data))

    async def due(self, tokens: int) -> None:
        """Wait until ``tokens`` more tokens are due, and note them as sent."""
        if tokens <= 0:
            return
        if self.truth.due:
            self._due += round(self.config.itl * _SECOND) * tokens
        delay = self._due - monotonic_ns()
        if delay > 0:
            await asyncio.sleep(delay / _SECOND)
        self.truth.due.append(self._due)
        self.truth.tokens.append(tokens)
        self.truth.sent_at.append(monotonic_ns())

    async def finish(self, trailer: bytes = b"") -> None:
        """End the body as its framing asks."""
        self.truth.ended = monotonic_ns()
        if self._chunked:
            await self.raw(b"0\r\n" + trailer + b"\r\n")

    async def answer(self, pieces: list[Piece] | None = None, turn: Callable[[bytes], bytes] | None = None) -> None:
        """A whole answer: headers, pieces (the plain ones unless given, each passed through ``turn``), end."""
        await self.head()
        for piece in self.pieces() if pieces is None else pieces:
            await self.send(turn(piece.data) if turn else piece.data, piece.tokens)
        await self.finish()

    async def first(self, after: int) -> list[Piece]:
        """Send the head and ``after`` token events of a stream (half a body when not streaming); returns the rest."""
        await self.head()
        left = self.pieces()
        if not self.ask.streamed:
            for piece in left[:2]:
                await self.send(piece.data)
            return left[2:]
        sent = 0
        while left and sent < after:
            piece = left.pop(0)
            await self.send(piece.data, piece.tokens)
            sent += piece.tokens
        return left

    # how it ends badly

    async def reset(self) -> None:
        """Reset the connection (TCP RST), after what was written has gone out."""
        await asyncio.sleep(0.02)
        self.keep = False
        transport = self._writer.transport
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()

    def close(self) -> None:
        """Close the connection in order (TCP FIN) once this request is over."""
        self.keep = False

    async def until_gone(self) -> None:
        """Say nothing more until the client gives up."""
        self.keep = False
        while await self._reader.read(4096):
            pass
