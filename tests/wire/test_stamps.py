"""Stamps: the kernel's stand when the client is late, and the lateness is measured; timers never fire early."""

from __future__ import annotations

import asyncio
import sys
import threading
import time

import pytest
from raw_server import Peer, RawServer, answers, chunked, head, kernel_stamps, meet, post, run, target_of, user_stamps

from relaymark.relay.decode import leg_from_capture
from relaymark.trace import Capture, TransferEnd
from relaymark.wire import Client, PreciseTimer

MS = 1_000_000
SLACK = 200_000  # the offset between the clocks is known to a microsecond or so; a busy machine may blur it
linux = pytest.mark.skipif(sys.platform != "linux", reason="kernel stamps are Linux's")
LOOPS = pytest.mark.parametrize("loop", ["uvloop", "asyncio"])


@linux
@LOOPS
def test_every_read_has_a_kernel_stamp_no_later_than_ours(loop: str) -> None:
    with RawServer(
        answers(head("Transfer-Encoding: chunked"), *(b"1\r\nx\r\n" for _ in range(20)), b"0\r\n\r\n")
    ) as server:
        captures = meet(server.url, times=5, loop=loop)
    for captured in captures:
        kernel, user = kernel_stamps(captured), user_stamps(captured)
        assert len(kernel) == len(user) > 0
        assert kernel == sorted(kernel)
        assert all(ours - its > -SLACK for ours, its in zip(user, kernel, strict=True))
        assert captured.sent is not None
        assert kernel[0] > captured.sent - SLACK


@linux
@LOOPS
def test_a_blocked_loop_is_seen_as_added_latency_and_does_not_move_the_stamp(loop: str) -> None:
    wrote: list[int] = []
    blocked = threading.Event()

    def handler(peer: Peer) -> None:
        peer.request()
        peer.send(head("Transfer-Encoding: chunked") + b"1\r\na\r\n")
        blocked.wait(10)
        wrote.append(time.monotonic_ns())
        peer.send(b"1\r\nb\r\n")
        wrote.append(time.monotonic_ns())
        time.sleep(0.4)
        peer.send(b"0\r\n\r\n")

    freed: list[int] = []
    with RawServer(handler) as server:
        target = target_of(server.url)

        async def work() -> Capture:
            client = Client(target)
            sending = asyncio.ensure_future(post(client))
            while not client.reads_in_flight:
                await asyncio.sleep(0.002)
            blocked.set()
            while len(wrote) < 2:  # the loop is blocked until the bytes are in the socket, and then some
                time.sleep(0.001)
            time.sleep(0.2)
            freed.append(time.monotonic_ns())
            captured = await sending
            client.close()
            return captured

        captured = run(work, loop=loop)
    assert captured.end is TransferEnd.COMPLETE
    kernel, user = kernel_stamps(captured), user_stamps(captured)
    late = next(at for at, stamp in enumerate(user) if stamp >= freed[0])
    # The kernel's stamp says when the server wrote; ours says when the loop was free again.
    assert wrote[0] - SLACK <= kernel[late] <= freed[0] - 150 * MS
    assert user[late] - kernel[late] >= 150 * MS
    assert user[0] - kernel[0] < user[late] - kernel[late]


def test_a_pause_of_the_server_is_not_added_latency() -> None:
    def handler(peer: Peer) -> None:
        peer.request()
        peer.send(head("Transfer-Encoding: chunked") + b"1\r\na\r\n")
        time.sleep(0.15)
        peer.send(chunked(b"b"))

    with RawServer(handler) as server:
        (captured,) = meet(server.url)
    user = user_stamps(captured)
    assert user[-1] - user[0] > 100 * MS
    if kernel := kernel_stamps(captured):
        assert kernel[-1] - kernel[0] > 100 * MS


@LOOPS
def test_a_precise_timer_fires_once_and_never_before_its_time(loop: str) -> None:
    async def work() -> list[tuple[int, int]]:
        fired: asyncio.Queue[int] = asyncio.Queue()
        timer = PreciseTimer(asyncio.get_running_loop(), lambda: fired.put_nowait(time.monotonic_ns()))
        pairs: list[tuple[int, int]] = []
        for delay in (0, 1_000, 100_000, 1_500_000, 3_141_592, 20_000_000):
            at = time.monotonic_ns() + delay
            timer.arm(at)
            pairs.append((at, await fired.get()))
        timer.arm(time.monotonic_ns() - 10**9)  # long past: at once
        await fired.get()
        timer.arm(time.monotonic_ns() + 10**12)
        timer.arm(at := time.monotonic_ns() + 2_000_000)  # arming again replaces the time
        pairs.append((at, await fired.get()))
        await asyncio.sleep(0.01)
        assert fired.empty()
        timer.arm(time.monotonic_ns() + 1_000_000)
        timer.close()
        timer.close()
        await asyncio.sleep(0.01)
        assert fired.empty(), "a closed timer is silent"
        return pairs

    for at, fired_at in run(work, loop=loop):
        assert fired_at >= at


@linux
def test_a_precise_timer_is_finer_than_a_millisecond() -> None:
    """Event loops round to a millisecond; of many short waits the median must do far better on any machine."""

    async def work() -> list[int]:
        fired: asyncio.Queue[int] = asyncio.Queue()
        timer = PreciseTimer(asyncio.get_running_loop(), lambda: fired.put_nowait(time.monotonic_ns()))
        late: list[int] = []
        for _ in range(101):
            at = time.monotonic_ns() + 300_000
            timer.arm(at)
            late.append(await fired.get() - at)
        timer.close()
        return late

    assert sorted(run(work))[50] < 700_000


@linux
def test_events_that_the_server_joined_are_not_called_late() -> None:
    """All of a stream in one write after a pause: the client was asleep, not late, and what it records says so."""
    events = [b'data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null}]}\n\n'] * 5

    def handler(peer: Peer) -> None:
        while peer.request() is not None:
            time.sleep(0.15)
            peer.send(head("Transfer-Encoding: chunked") + chunked(*events))

    with RawServer(handler) as server:
        captures = meet(server.url, times=6)
    waits: list[int] = []
    for captured in captures:
        leg, _ = leg_from_capture(captured, 1 << 20, None)
        assert len(leg.chunk_at) == 5
        assert leg.stamp_source == "kernel"
        waits.append(max(leg.read_added))
    assert sorted(waits)[len(waits) // 2] < 50 * MS, waits
