"""The retrieval server: embedder, index and reranker in a process of their own, on a Unix socket.

CPU stages of a pipeline must never hold up the event loop that times its LLM calls. ``python -m
relaymark.retrieval.server FOLDER`` reads ``retrieval.json`` (:class:`~relaymark.retrieval.specs.ServerSpec`) there,
serves ``retrieval.sock``, says ``ready`` or ``error …`` on standard output, and ends when its standard input is closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from relaymark.errors import RelaymarkError
from relaymark.retrieval import frames
from relaymark.retrieval.batching import Batcher, Served
from relaymark.retrieval.embedding import open_embedder
from relaymark.retrieval.index import open_published
from relaymark.retrieval.process import SOCKET_FILE, SPEC_FILE
from relaymark.retrieval.protocols import Passage
from relaymark.retrieval.reranking import open_reranker
from relaymark.retrieval.specs import ServerSpec

_CHARACTERS_A_TOKEN = 4  # about; a budget needs no more
_QUERY_TOKENS = 4096
_SEARCHES = 256
_RERANK_TOKENS = 32_768


class Stages:
    """What is served, and a batcher for each stage.

    Raises:
        RelaymarkError: A part is missing, or the parts don't fit each other.
    """

    def __init__(self, spec: ServerSpec) -> None:
        self._embedder = open_embedder(spec.embedder)
        published = open_published(Path(spec.index), ef_search=spec.ef_search, dimension=self._embedder.dimension)
        self._index, self._passages = published.index, published.passages
        self._reranker = open_reranker(spec.reranker)
        wait = spec.wait_ms / 1000
        self._embeds = Batcher(self._embed, _length, budget=_QUERY_TOKENS, wait=wait)
        self._searches = Batcher(self._search, _one, budget=_SEARCHES, wait=wait)
        self._reranks = Batcher(self._rerank, _rerank_length, budget=_RERANK_TOKENS, wait=wait)

    def take(self, request: frames.Request, answer: asyncio.WriteTransport) -> None:
        """Serves one request; the reply goes to ``answer``."""

        def reply(served: Served) -> None:
            if answer.is_closing():
                return
            body = frames.Reply(
                request.id,
                served.taken,
                served.begun,
                served.finished,
                served.batch,
                served.error,
                msgspec.Raw(frames.encode_payload(served.answer)),
            )
            answer.write(frames.framed(frames.encode_reply(body)))

        if isinstance(request, frames.Embed):
            self._embeds.call(request.text, reply)
        elif isinstance(request, frames.Search):
            self._searches.call((request.vector, request.k), reply)
        else:
            self._reranks.call((request.query, request.passages), reply)

    def _embed(self, texts: Sequence[str]) -> list[bytes]:
        return [vector.tobytes() for vector in self._embedder.embed_queries(texts)]

    def _search(self, wanted: Sequence[tuple[bytes, int]]) -> list[list[Passage]]:
        queries = np.stack([np.frombuffer(vector, np.float32) for vector, _ in wanted])
        _, rows = self._index.search(queries, max(k for _, k in wanted))
        return [
            [self._passages[int(row)] for row in found[:k] if row >= 0]
            for (_, k), found in zip(wanted, rows, strict=True)
        ]

    def _rerank(self, wanted: Sequence[tuple[str, list[str]]]) -> list[list[float]]:
        if self._reranker is None:
            raise RelaymarkError("There is no reranker.")
        return self._reranker.scores([query for query, _ in wanted], [texts for _, texts in wanted])


def _one(_: object) -> int:
    return 1


def _length(text: str) -> int:
    return 1 + len(text) // _CHARACTERS_A_TOKEN


def _rerank_length(wanted: tuple[str, list[str]]) -> int:
    return 1 + sum(map(len, wanted[1])) // _CHARACTERS_A_TOKEN


class _Connection(asyncio.Protocol):
    def __init__(self, stages: Stages) -> None:
        self._stages = stages
        self._unframer = frames.Unframer()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            self._transport = transport

    def data_received(self, data: bytes) -> None:
        transport = self._transport
        if transport is None:
            return
        try:
            for body in self._unframer.feed(data):
                self._stages.take(frames.decode_request(body), transport)
        except (ValueError, msgspec.MsgspecError):
            transport.close()  # only our own client speaks here; what it cannot have said ends the call


async def _serve(folder: Path) -> None:
    spec = msgspec.json.decode((folder / SPEC_FILE).read_bytes(), type=ServerSpec)
    stages = Stages(spec)
    loop = asyncio.get_running_loop()
    server = await loop.create_unix_server(lambda: _Connection(stages), str(folder / SOCKET_FILE))
    over = asyncio.Event()
    loop.add_reader(0, lambda: os.read(0, 4096) or over.set())
    os.write(1, b"ready\n")
    async with server:
        await over.wait()


def main() -> int:
    """Process main; 0 after an orderly end."""
    folder = Path(sys.argv[1])
    try:
        asyncio.run(_serve(folder))
    except RelaymarkError as error:
        with contextlib.suppress(OSError):
            os.write(1, b"error " + str(error).replace("\n", " ").encode() + b"\n")
        return int(error.exit_code)
    return 0


if __name__ == "__main__":
    sys.stdout.flush()
    os._exit(main())  # threads of the runtimes may still hold batches nobody waits for
