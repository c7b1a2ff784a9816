"""What can become of a connection: reuse, races, resets, refusals, uploads, timeouts, addresses."""

from __future__ import annotations

import asyncio
import socket
import threading
import time

import pytest
from raw_server import (
    Peer,
    RawServer,
    answers,
    chunked,
    head,
    meet,
    post,
    run,
    target_of,
    user_stamps,
    with_length,
)

from relaymark.errors import UnreachableError
from relaymark.trace import Capture, TransferEnd
from relaymark.wire import Address, Client, Target, Timeouts, parse_url, resolve

MS = 1_000_000
LOOPS = pytest.mark.parametrize("loop", ["uvloop", "asyncio"])


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@LOOPS
def test_one_connection_carries_many_requests_in_turn(loop: str) -> None:
    with RawServer(answers(head("Transfer-Encoding: chunked"), chunked(b"a", b"b"))) as server:
        captures = meet(server.url, times=50, loop=loop)
        assert len(server.peers) == 1
        assert len(server.peers[0].requests) == 50
    assert all(c.end is TransferEnd.COMPLETE and c.reconnects == 0 for c in captures)


def test_as_many_connections_as_requests_in_flight_and_no_more() -> None:
    gate = threading.Barrier(20, timeout=10)

    def handler(peer: Peer) -> None:
        while peer.request() is not None:
            gate.wait()  # answers only when 20 requests are in flight: a hidden cap would wait for ever
            peer.send(with_length(b"x"))

    with RawServer(handler) as server:
        target = target_of(server.url)

        async def work() -> list[Capture]:
            client = Client(target)
            done: list[Capture] = []
            for _ in range(3):
                done += await asyncio.gather(*(post(client) for _ in range(20)))
                assert client.in_flight == 0
            assert client.counters.sent == client.counters.ended == 60
            assert client.counters.failed == 0
            client.close()
            return done

        captures = run(work)
        assert len(server.peers) == 20
    assert all(captured.end is TransferEnd.COMPLETE for captured in captures)


def closes_idle(how: str) -> tuple[RawServer, list[int]]:
    """A server that answers once on a connection, then meets the next request there with a close."""
    met: list[int] = []

    def handler(peer: Peer) -> None:
        peer.request()
        peer.send(with_length(b"first"))
        if peer.number < 2:
            peer.sock.recv(1)  # the next request is on its way: this is the race
            met.append(peer.number)
            if how == "rst":
                peer.reset()
            else:
                peer.sock.shutdown(socket.SHUT_WR)
                peer.wait_closed()
        else:
            while peer.request() is not None:
                peer.send(with_length(b"later"))

    return RawServer(handler), met


@LOOPS
@pytest.mark.parametrize("how", ["rst", "fin"])
def test_a_keep_alive_race_is_exactly_one_reconnect(how: str, loop: str) -> None:
    server, met = closes_idle(how)
    with server:
        first, second = meet(server.url, times=2, loop=loop)
        assert len(server.peers) == 2
    assert met[0] == 0
    assert (first.end, first.reconnects) == (TransferEnd.COMPLETE, 0)
    assert (second.end, second.reconnects) == (TransferEnd.COMPLETE, 1)
    assert second.raw == with_length(b"first")
    assert second.connected is not None and second.sent is not None and second.started is not None
    assert second.connected <= second.sent <= user_stamps(second)[0]
    assert second.bytes_out == first.bytes_out, "bytes of the attempt that counted"


def test_a_reset_on_a_fresh_connection_is_no_race() -> None:
    def handler(peer: Peer) -> None:
        peer.request()
        peer.reset()

    with RawServer(handler) as server:
        (captured,) = meet(server.url)
        assert len(server.peers) == 1
    assert (captured.end, captured.reconnects, captured.raw) == (TransferEnd.RESET, 0, b"")


def test_a_race_after_which_the_server_is_gone_is_not_retried_for_ever() -> None:
    def handler(peer: Peer) -> None:
        peer.request()
        if peer.number == 0:
            peer.send(with_length(b"first"))
            peer.sock.recv(1)
        peer.reset()

    with RawServer(handler) as server:
        _, second = meet(server.url, times=2)
        assert len(server.peers) == 2
    assert (second.end, second.reconnects) == (TransferEnd.RESET, 1)


def test_a_connection_that_died_while_idle_is_replaced_without_a_reconnect() -> None:
    closed = threading.Event()

    def handler(peer: Peer) -> None:
        peer.request()
        peer.send(with_length(b"x"))
        if peer.number == 0:
            peer.sock.close()
            closed.set()
        else:
            peer.wait_closed()

    with RawServer(handler) as server:
        target = target_of(server.url)

        async def work() -> Capture:
            client = Client(target)
            await post(client)
            await asyncio.to_thread(closed.wait, 10)
            while client._idle:  # the close must have been noticed, or this is the race of another test
                await asyncio.sleep(0.002)
            captured = await post(client)
            client.close()
            return captured

        captured = run(work)
    assert (captured.end, captured.reconnects) == (TransferEnd.COMPLETE, 0)


@LOOPS
@pytest.mark.parametrize(("how", "end"), [("rst", TransferEnd.RESET), ("fin", TransferEnd.EOF)])
def test_a_stream_cut_in_the_middle_keeps_what_came(how: str, end: TransferEnd, loop: str) -> None:
    part = head("Transfer-Encoding: chunked") + b"5\r\nhello\r\n"
    seen = threading.Event()

    def handler(peer: Peer) -> None:
        peer.request()
        peer.send(part)
        seen.wait(10)
        if how == "rst":
            peer.reset()

    with RawServer(handler) as server:
        target = target_of(server.url)

        async def work() -> Capture:
            client = Client(target)
            sending = asyncio.ensure_future(post(client))
            while not client.reads_in_flight:
                await asyncio.sleep(0.005)
            seen.set()
            captured = await sending
            assert client.counters.failed == 1
            client.close()
            return captured

        captured = run(work, loop=loop)
        assert len(server.peers) == 1, "bytes came, so it is no keep-alive race"
    assert (captured.end, captured.raw) == (end, part)
    assert captured.error


def test_nobody_listening_is_refused() -> None:
    (captured,) = meet(f"http://127.0.0.1:{free_port()}")
    assert captured.end is TransferEnd.REFUSED
    assert "refused" in captured.error.lower()
    assert captured.sent is None and captured.connected is None
    assert captured.bytes_out == 0


@LOOPS
def test_a_big_upload_is_sent_when_its_last_byte_goes(loop: str) -> None:
    body = bytes(range(256)) * (5 << 12)  # 5 MiB
    began = threading.Event()
    read_on: list[int] = []
    got: list[bytes] = []

    def handler(peer: Peer) -> None:
        peer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        began.wait(10)
        time.sleep(0.15)  # nothing is read for this long, so the last byte cannot have gone before
        read_on.append(time.monotonic_ns())
        request = peer.request()
        assert request is not None
        got.append(request[1])
        peer.send(with_length(b"thanks"))

    with RawServer(handler) as server:
        target = target_of(server.url)

        async def work() -> Capture:
            client = Client(target)
            began.set()
            captured = await post(client, body)
            client.close()
            return captured

        captured = run(work, loop=loop)
    assert got == [body]
    assert captured.end is TransferEnd.COMPLETE
    assert captured.connected is not None and captured.sent is not None
    assert captured.connected < read_on[0] < captured.sent <= user_stamps(captured)[0]
    assert captured.bytes_out > len(body)


@pytest.mark.parametrize("then", ["keep", "close"])
def test_an_answer_before_the_upload_ended_is_the_answer(then: str) -> None:
    """A server that refuses a long request answers 413 and closes, while we still write."""
    refusal = with_length(b"too large", "Connection: close", status="413 Content Too Large")

    def handler(peer: Peer) -> None:
        peer.sock.recv(1000)
        peer.send(refusal)
        if then == "keep":
            peer.wait_closed()

    with RawServer(handler) as server:
        captures = [meet(server.url, body=bytes(8 << 20))[0] for _ in range(5)]
    assert [captured.raw for captured in captures] == [refusal] * 5
    assert all(captured.end is TransferEnd.COMPLETE for captured in captures)


def test_each_timeout_is_an_end_of_its_own() -> None:
    def handler(peer: Peer) -> None:
        request = peer.request()
        assert request is not None
        if request[1] == b"stall":
            peer.send(head("Transfer-Encoding: chunked") + b"1\r\nx\r\n")
        elif request[1] == b"drip":
            peer.send(head("Transfer-Encoding: chunked"))
            for _ in range(400):
                peer.send(b"1\r\nx\r\n")
                time.sleep(0.02)
        peer.wait_closed()

    bounds = Timeouts(first_byte=150 * MS, idle=300 * MS, total=900 * MS)
    with RawServer(handler) as server:
        target = target_of(server.url)

        async def work() -> list[Capture]:
            client = Client(target, timeouts=bounds)
            done = await asyncio.gather(*(post(client, body) for body in (b"mute", b"stall", b"drip")))
            client.close()
            return list(done)

        mute, stall, drip = run(work)
    assert (mute.end, stall.end, drip.end) == (
        TransferEnd.TIMEOUT_FIRST_BYTE,
        TransferEnd.TIMEOUT_IDLE,
        TransferEnd.TIMEOUT_TOTAL,
    )
    for captured, since, bound in (
        (mute, mute.connected, 150),
        (stall, user_stamps(stall)[-1], 300),
        (drip, drip.started, 900),
    ):
        assert captured.ended is not None and since is not None
        assert captured.ended - since >= bound * MS
    assert stall.raw.endswith(b"1\r\nx\r\n")
    assert mute.raw == b""


def test_a_connect_timeout_is_its_own_end() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        address = listener.getsockname()
        fillers: list[socket.socket] = []
        for _ in range(4):  # fill the queue; further SYNs are dropped
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(address)
            fillers.append(filler)
        time.sleep(0.1)
        (captured,) = meet(f"http://127.0.0.1:{address[1]}", timeouts=Timeouts(connect=200 * MS))
        for filler in fillers:
            filler.close()
    assert captured.end is TransferEnd.TIMEOUT_CONNECT
    assert captured.connected is None and captured.sent is None
    assert captured.started is not None and captured.ended is not None
    assert captured.ended - captured.started >= 200 * MS


def test_cancel_all_ends_everything_now_and_the_client_stays_usable() -> None:
    def handler(peer: Peer) -> None:
        while (request := peer.request()) is not None:
            if request[1] == b"fine":
                peer.send(with_length(b"x"))
            else:
                peer.send(head("Transfer-Encoding: chunked") + b"1\r\nx\r\n")

    with RawServer(handler) as server:
        target = target_of(server.url)

        async def work() -> tuple[list[Capture], Capture]:
            client = Client(target)
            sending = [asyncio.ensure_future(post(client)) for _ in range(5)]
            while client.reads_in_flight < 5:
                await asyncio.sleep(0.005)
            client.cancel_all()
            assert client.in_flight == 0
            cut = [await future for future in sending]
            after = await post(client, b"fine")
            client.close()
            return cut, after

        cut, after = run(work)
    assert {captured.end for captured in cut} == {TransferEnd.CANCELLED}
    assert all(captured.raw.endswith(b"1\r\nx\r\n") for captured in cut)
    assert (after.end, after.reconnects) == (TransferEnd.COMPLETE, 0)


def test_ipv6_loopback() -> None:
    try:
        server = RawServer(answers(with_length(b"six")), host="::1")
    except OSError:
        pytest.skip("no IPv6 here")
    with server:
        captures = meet(server.url, times=2)
        assert len(server.peers) == 1
    assert all(captured.end is TransferEnd.COMPLETE for captured in captures)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_name_with_two_families_of_which_one_listens(host: str) -> None:
    """``localhost`` often resolves to ::1 first while the server listens on 127.0.0.1 only, and the other way round."""
    try:
        server = RawServer(answers(with_length(b"x")), host=host)
    except OSError:
        pytest.skip("no IPv6 here")
    with server:
        base = parse_url(f"http://localhost:{server.port}")
        both = (
            Address(socket.AF_INET6, ("::1", server.port, 0, 0)),
            Address(socket.AF_INET, ("127.0.0.1", server.port)),
        )
        for addresses in (both, both[::-1]):
            target = Target(base.url, base.host, base.port, base.base_path, None, addresses)

            async def work(target: Target = target) -> list[Capture]:
                client = Client(target)
                done = [await post(client) for _ in range(2)]
                assert client.counters.backpressure == 0
                client.close()
                return done

            captures = run(work)
            assert all(c.end is TransferEnd.COMPLETE and c.reconnects == 0 for c in captures)


def test_localhost_is_resolved_once_with_all_its_addresses() -> None:
    target = resolve(parse_url("http://localhost:1234/v1"))
    assert target.addresses
    assert all(address.sockaddr[1] == 1234 for address in target.addresses)
    assert len(set(target.addresses)) == len(target.addresses)


def test_a_name_without_an_address_is_unreachable() -> None:
    with pytest.raises(UnreachableError, match=r"nowhere\.invalid") as caught:
        resolve(parse_url("http://nowhere.invalid:80"))
    assert caught.value.exit_code == 4
