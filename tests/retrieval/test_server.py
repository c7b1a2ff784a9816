"""The retrieval server: batches across callers, errors in words, and a death that nobody waits for."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_models import colbert_folder

from relaymark.data.world import write_world
from relaymark.errors import RelaymarkError
from relaymark.retrieval import frames
from relaymark.retrieval.batching import Batcher, Served
from relaymark.retrieval.build import BuildSpec, build_index
from relaymark.retrieval.client import RetrievalClient, RetrievalError
from relaymark.retrieval.embedding import open_embedder
from relaymark.retrieval.process import RetrievalServer
from relaymark.retrieval.specs import EmbedderSpec, RerankerSpec, ServerSpec

WORDLLAMA = EmbedderSpec(kind="static", path="wordllama")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served")
    write_world(folder, seed=2, pages=40, questions=3)
    build_index(BuildSpec(corpus=str(folder / "pages"), index_folder=str(folder / "i"), embedder=WORDLLAMA))
    return folder / "i"


def test_many_callers_are_answered_right_and_in_batches(index: Path, tmp_path: Path) -> None:
    reranker = RerankerSpec(kind="plain", path=str(colbert_folder(tmp_path / "c")))
    queries = [f"query number {number} about a river" for number in range(60)]
    with RetrievalServer(ServerSpec(index=str(index), embedder=WORDLLAMA, reranker=reranker)) as server:

        async def work() -> None:
            client = await RetrievalClient.connect(server.socket)
            answers = await asyncio.gather(*(client.embed(query) for query in queries))
            expected = open_embedder(WORDLLAMA).embed_queries(queries)
            for (vector, call), wanted in zip(answers, expected, strict=True):
                assert np.allclose(np.frombuffer(vector, np.float32), wanted, atol=1e-6)
                assert call.taken <= call.begun <= call.finished
            assert max(call.batch for _, call in answers) > 5
            passages, _ = await client.search(answers[0][0], 4)
            assert len(passages) == 4
            assert passages[0].text and passages[0].url.startswith("https://")
            scores, _ = await client.rerank("red fish", ["red", "blue blue", "."])
            assert len(scores) == 3
            client.close()
            with pytest.raises(RetrievalError):
                await client.embed("x")

        asyncio.run(work())
    assert not server.alive
    assert not server.socket.exists()


def test_a_server_that_dies_fails_every_call_under_way(index: Path) -> None:
    server = RetrievalServer(ServerSpec(index=str(index), embedder=WORDLLAMA, wait_ms=60_000))
    try:

        async def work() -> None:
            client = await RetrievalClient.connect(server.socket)
            waiting = [asyncio.ensure_future(client.embed(f"q {number}")) for number in range(5)]
            await asyncio.sleep(0.1)
            os.kill(server.process.pid, signal.SIGKILL)
            for one in waiting:
                with pytest.raises(RetrievalError, match="gone"):
                    await asyncio.wait_for(one, 10)
            with pytest.raises(RetrievalError, match="gone"):
                await client.embed("later")

        asyncio.run(work())
    finally:
        server.stop()


def test_what_a_stage_cannot_do_is_an_error_of_that_call_alone(index: Path) -> None:
    with RetrievalServer(ServerSpec(index=str(index), embedder=WORDLLAMA)) as server:

        async def work() -> None:
            client = await RetrievalClient.connect(server.socket)
            with pytest.raises(RetrievalError, match="no reranker"):
                await client.rerank("q", ["p"])
            with pytest.raises(RetrievalError, match="dimensions"):
                await client.search(b"\0" * 12, 3)
            vector, _ = await client.embed("still here")
            assert len(vector) == 4 * 256
            client.close()

        asyncio.run(work())


def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    with pytest.raises(RelaymarkError, match="no published index"):
        RetrievalServer(ServerSpec(index=str(tmp_path), embedder=WORDLLAMA))


@given(st.lists(st.binary(max_size=50), max_size=8), st.lists(st.integers(1, 40), max_size=30))
def test_frames_in_any_split(bodies: list[bytes], steps: list[int]) -> None:
    stream = b"".join(map(frames.framed, bodies))
    unframer, got, begin = frames.Unframer(), [], 0
    for step in [*steps, len(stream)]:
        got += unframer.feed(stream[begin : begin + step])
        begin += step
    assert got == bodies


def test_what_waits_while_a_batch_is_served_is_the_next_batch() -> None:
    gate = threading.Event()
    batches: list[list[int]] = []

    def serve(queries: Sequence[int]) -> list[int]:
        batches.append(list(queries))
        gate.wait(10)
        if -1 in queries:
            raise ValueError("minus one")
        return [query * 2 for query in queries]

    async def work() -> list[Served]:
        done: list[Served] = []
        batcher = Batcher(serve, abs, budget=10, most=6)
        batcher.call(1, done.append)
        while not batches:
            await asyncio.sleep(0.001)
        for query in (4, 5, 6, -1, 20, 2, 3):
            batcher.call(query, done.append)
        gate.set()
        while len(done) < 8:
            await asyncio.sleep(0.001)
        batcher.close()
        return done

    done = asyncio.run(work())
    assert batches == [[1], [4, 5], [6, -1], [20], [2]]  # by weight; what is heavier than the budget goes alone
    assert {one.answer for one in done if not one.error} == {2, 8, 10, 40, 4}
    assert sum("minus one" in one.error for one in done) == 2
    assert sum("are waiting" in one.error for one in done) == 1


def test_a_call_that_takes_too_long_is_given_up_and_so_is_a_cancelled_one(index: Path) -> None:
    with RetrievalServer(ServerSpec(index=str(index), embedder=WORDLLAMA, wait_ms=60_000)) as server:

        async def work() -> None:
            client = await RetrievalClient.connect(server.socket, timeout_ns=50_000_000)
            slow = asyncio.ensure_future(client.embed("q"))
            await asyncio.sleep(0.02)
            client.sweep()
            assert not slow.done()
            await asyncio.sleep(0.05)
            client.sweep()
            with pytest.raises(RetrievalError, match=r"within 0\.05 s") as error:
                await slow
            assert error.value.how == "timeout"
            other = asyncio.ensure_future(client.embed("q"))
            await asyncio.sleep(0)
            client.cancel_all()
            with pytest.raises(RetrievalError) as error:
                await other
            assert error.value.how == "cancelled"
            client.close()

        asyncio.run(work())
