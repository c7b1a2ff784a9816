"""The door to a retrieval server, for code in an event loop: one socket, any number of calls under way."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from relaymark.errors import RelaymarkError
from relaymark.retrieval import frames
from relaymark.retrieval.protocols import Passage


class RetrievalError(Exception):
    """A call was not served: the server said why, is gone or took too long, or the call was cancelled."""

    def __init__(self, why: str, how: Literal["refused", "gone", "timeout", "cancelled"] = "refused") -> None:
        super().__init__(why)
        self.how = how


class Call(NamedTuple):
    """What the server tells of a call: when it was taken in, begun and finished (CLOCK_MONOTONIC ns), and how many
    calls it was served with, itself included.
    """

    taken: int
    begun: int
    finished: int
    batch: int


class RetrievalClient(asyncio.Protocol):
    """Calls from one event loop. A server that goes away fails every call under way, and every later one.

    ``timeout_ns`` bounds one call; whoever sets it must call :meth:`sweep` a few times a second.
    """

    def __init__(self, timeout_ns: int | None = None) -> None:
        self._transport: asyncio.Transport | None = None
        self._unframer = frames.Unframer()
        self._waiting: dict[int, asyncio.Future[frames.Reply]] = {}
        self._since: dict[int, int] = {}  # of the same calls, the oldest first
        self._timeout_ns = timeout_ns
        self._next = 0
        self._gone = "not connected"

    @classmethod
    async def connect(cls, path: Path, timeout_ns: int | None = None) -> RetrievalClient:
        """Connects to a server's socket.

        Raises:
            RelaymarkError: Nobody listens there.
        """
        loop = asyncio.get_running_loop()
        try:
            _, client = await loop.create_unix_connection(lambda: cls(timeout_ns), str(path))
        except OSError as error:
            raise RelaymarkError(
                f"The retrieval server can't be reached: {error.strerror or error}", where=str(path)
            ) from None
        return client

    async def embed(self, query: str) -> tuple[bytes, Call]:
        """The vector of a query: float32, native byte order.

        Raises:
            RetrievalError: As all calls.
        """
        reply = await self._ask(frames.Embed(self._id(), query))
        return frames.decode_vector(reply.payload), _call(reply)

    async def search(self, vector: bytes, k: int) -> tuple[list[Passage], Call]:
        """The ``k`` passages nearest to a vector, nearest first; fewer where the index holds fewer."""
        reply = await self._ask(frames.Search(self._id(), vector, k))
        return frames.decode_passages(reply.payload), _call(reply)

    async def rerank(self, query: str, passages: list[str]) -> tuple[list[float], Call]:
        """One score for each passage, in input order; higher is better."""
        reply = await self._ask(frames.Rerank(self._id(), query, passages))
        return frames.decode_scores(reply.payload), _call(reply)

    def sweep(self) -> None:
        """Fails the calls that have run into the timeout."""
        if self._timeout_ns is None:
            return
        oldest = time.monotonic_ns() - self._timeout_ns
        for call, since in list(self._since.items()):
            if since > oldest:
                return
            self._fail(call, f"no reply within {self._timeout_ns / 1e9:g} s", "timeout")

    def cancel_all(self) -> None:
        """Fails every call under way as cancelled."""
        for call in list(self._waiting):
            self._fail(call, "cancelled", "cancelled")

    def _fail(self, call: int, why: str, how: Literal["gone", "timeout", "cancelled"]) -> None:
        self._since.pop(call, None)
        future = self._waiting.get(call)
        if future is not None and not future.done():
            future.set_exception(RetrievalError(why, how))

    def close(self) -> None:
        """Hangs up; calls under way fail."""
        if self._transport is not None:
            self._transport.close()

    def _id(self) -> int:
        self._next += 1
        return self._next

    async def _ask(self, request: frames.Request) -> frames.Reply:
        if self._gone or self._transport is None:
            raise RetrievalError(self._gone, "gone")
        future: asyncio.Future[frames.Reply] = asyncio.get_running_loop().create_future()
        self._waiting[request.id] = future
        self._since[request.id] = time.monotonic_ns()
        self._transport.write(frames.framed(frames.encode_request(request)))
        try:
            reply = await future
        finally:
            self._waiting.pop(request.id, None)
            self._since.pop(request.id, None)
        if reply.error:
            raise RetrievalError(reply.error)
        return reply

    # -- asyncio's side ---------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The server is there."""
        if isinstance(transport, asyncio.Transport):
            self._transport = transport
            self._gone = ""

    def data_received(self, data: bytes) -> None:
        """Replies have come."""
        try:
            replies = [frames.decode_reply(body) for body in self._unframer.feed(data)]
        except (ValueError, msgspec.MsgspecError) as error:
            self._end(f"the retrieval server speaks in riddles: {error}")
            self.close()
            return
        for reply in replies:
            future = self._waiting.get(reply.id)
            if future is not None and not future.done():
                future.set_result(reply)

    def connection_lost(self, exc: Exception | None) -> None:
        """The server is gone."""
        self._end(f"the retrieval server is gone{f': {exc}' if exc else ''}")

    def _end(self, why: str) -> None:
        self._gone = self._gone or why
        for call in list(self._waiting):
            self._fail(call, self._gone, "gone")


def _call(reply: frames.Reply) -> Call:
    return Call(reply.taken, reply.begun, reply.finished, reply.batch)
