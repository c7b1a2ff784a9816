"""Connections opened before the requests that will need them."""

from __future__ import annotations

import asyncio
import time

import pytest
from raw_server import Peer, RawServer, answers, chunked, head, post, run, target_of

from relaymark.trace import Capture, TransferEnd
from relaymark.wire import Client

SECOND = 1_000_000_000
ANSWER = head("Transfer-Encoding: chunked") + chunked(b"a", b"b")


@pytest.mark.parametrize("loop", ["hot", "uvloop", "asyncio"])
def test_the_first_requests_find_their_connections_open(loop: str) -> None:
    with RawServer(answers(ANSWER)) as server:
        target = target_of(server.url)

        async def work() -> list[Capture]:
            client = Client(target)
            await client.open_ahead(5, time.monotonic_ns() + 5 * SECOND)
            assert client.counters.sent == 0
            done = await asyncio.gather(*(post(client) for _ in range(5)))
            await client.open_ahead(5, time.monotonic_ns() + 5 * SECOND)  # they are there
            client.close()
            return done

        captures = run(work, loop=loop)
        assert len(server.peers) == 5
    assert all(capture.end is TransferEnd.COMPLETE and capture.reconnects == 0 for capture in captures)


def test_a_server_that_closes_what_was_opened_ahead_costs_one_reconnect() -> None:
    def handler(peer: Peer) -> None:
        if peer.number == 0:
            peer.request()
            peer.reset()  # with the request in hand and no byte of an answer, as a race looks from here
        else:
            answers(ANSWER)(peer)

    with RawServer(handler) as server:
        target = target_of(server.url)

        async def work() -> Capture:
            client = Client(target)
            await client.open_ahead(1, time.monotonic_ns() + 5 * SECOND)
            captured = await post(client)
            assert client.counters.reconnects == 1
            client.close()
            return captured

        captured = run(work)
    assert (captured.end, captured.reconnects) == (TransferEnd.COMPLETE, 1)


def test_where_nobody_listens_the_request_finds_out_for_itself() -> None:
    with RawServer(answers(ANSWER)) as server:
        target = target_of(server.url)

    async def work() -> Capture:
        client = Client(target)
        await client.open_ahead(3, time.monotonic_ns() + 5 * SECOND)
        captured = await post(client)
        client.close()
        return captured

    assert run(work).end is TransferEnd.REFUSED


def test_it_waits_no_longer_than_told_and_opens_nothing_without_keep_alive() -> None:
    with RawServer(answers(ANSWER)) as server:
        target = target_of(server.url)

        async def work() -> Capture:
            client = Client(target, keep_alive=False)
            await client.open_ahead(3, time.monotonic_ns() + 5 * SECOND)
            late = Client(target)
            await late.open_ahead(3, 0)
            captured = await post(late)
            client.close()
            late.close()
            return captured

        assert run(work).end is TransferEnd.COMPLETE
