"""What this machine cannot do is its own failure and is reported so, never the server's."""

from __future__ import annotations

import errno
import gc
import json
import subprocess
import sys
from pathlib import Path

import pytest
from raw_server import RawServer, answers, post, run, target_of, with_length

from relaymark.trace import Capture, TransferEnd
from relaymark.wire import Client, Exchange
from relaymark.wire.connection import Connection
from relaymark.wire.flow import Flow

_CHILD = """
import asyncio, json, resource, sys
sys.path.insert(0, sys.argv[2])
from raw_server import post, run, target_of
from relaymark.wire import Client

target = target_of(sys.argv[1])

async def work():
    client = Client(target)
    import os
    room = len(os.listdir("/proc/self/fd")) + 4
    resource.setrlimit(resource.RLIMIT_NOFILE, (room, room))
    captures = await asyncio.gather(*(post(client) for _ in range(30)))
    ends = sorted((str(c.end), c.error, c.sent is not None) for c in captures)
    counters = client.counters
    alive = await post(client)  # with descriptors free again the client goes on
    client.close()
    return {"ends": ends, "backpressure": counters.backpressure, "failed": counters.failed, "after": str(alive.end)}

print(json.dumps(run(work, loop=sys.argv[3])))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts descriptors through /proc")
@pytest.mark.parametrize("loop", ["hot", "uvloop", "asyncio"])
def test_no_descriptor_left_is_a_client_error_and_counted_as_backpressure(loop: str) -> None:
    with RawServer(answers(with_length(b"x"))) as server:
        child = subprocess.run(
            [sys.executable, "-c", _CHILD, server.url, str(Path(__file__).parent), loop],
            check=False,
            capture_output=True,
            text=True,
            timeout=30,
        )
    assert child.returncode == 0, child.stderr
    found = json.loads(child.stdout)
    refused = [end for end in found["ends"] if end[0] == "client_error"]
    carried = [end for end in found["ends"] if end[0] == "complete"]
    assert refused and carried
    assert len(refused) + len(carried) == 30
    assert all("open files" in error and not sent for _, error, sent in refused)
    assert found["backpressure"] == found["failed"] == len(refused)
    assert found["after"] == "complete"


_NO_PORTS = """
import asyncio, fcntl, json, socket, struct, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from raw_server import RawServer, answers, post, run, target_of, with_length
from relaymark.wire import Client

with socket.socket() as sock:
    name = struct.pack("16sh", b"lo", 1 | 0x40)
    fcntl.ioctl(sock, 0x8914, name)  # SIOCSIFFLAGS: up and running
Path("/proc/sys/net/ipv4/ip_local_port_range").write_text("40000 40003")

async def work(url):
    client = Client(target_of(url))
    captures = await asyncio.gather(*(post(client) for _ in range(10)))
    counters = client.counters
    after = await post(client)
    client.close()
    return {
        "ends": sorted((str(c.end), c.error) for c in captures),
        "backpressure": counters.backpressure,
        "after": str(after.end),
    }

with RawServer(answers(with_length(b"x"))) as server:
    print(json.dumps(run(lambda: work(server.url))))
"""


def _namespace() -> list[str] | None:
    """A command prefix that gives a process a network of its own, where this machine lets us."""
    for prefix in (["unshare", "--net"], ["unshare", "--user", "--map-root-user", "--net"]):
        try:
            if subprocess.run([*prefix, "true"], check=False, capture_output=True).returncode == 0:
                return prefix
        except FileNotFoundError:
            return None
    return None


@pytest.mark.skipif(_namespace() is None, reason="no network namespaces here (unshare)")
def test_no_port_left_is_a_client_error_and_counted_as_backpressure() -> None:
    child = subprocess.run(
        [*(_namespace() or []), sys.executable, "-c", _NO_PORTS, str(Path(__file__).parent)],
        check=False,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert child.returncode == 0, child.stderr
    found = json.loads(child.stdout)
    refused = [error for end, error in found["ends"] if end == "client_error"]
    carried = [end for end, _ in found["ends"] if end == "complete"]
    assert 1 <= len(carried) <= 4  # as many as the kernel found ports for
    assert len(refused) == found["backpressure"] == 10 - len(carried)
    assert all("assign requested address" in error for error in refused)
    assert found["after"] == "complete"


def test_an_exhausted_port_range_is_ours_whatever_the_kernel_calls_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same without a namespace: the error that connect gives then."""
    monkeypatch.setattr("socket.socket.connect_ex", lambda self, address: errno.EADDRNOTAVAIL)

    async def work() -> tuple[Capture, int]:
        client = Client(target_of("http://127.0.0.1:9"))
        return await post(client), client.counters.backpressure

    captured, backpressure = run(work)
    assert captured.end is TransferEnd.CLIENT_ERROR
    assert backpressure == 1
    assert captured.sent is None


@pytest.mark.parametrize("closes", [True, False])
def test_nothing_that_is_over_waits_for_the_collector(closes: bool) -> None:
    """Collections are switched off while a run goes on: a cycle would hold what it holds to the end."""
    answer = with_length(b"x" * 2000, *(["Connection: close"] if closes else []))

    def alive() -> int:
        return sum(type(thing) in (Exchange, Connection, Flow) for thing in gc.get_objects())

    with RawServer(answers(answer)) as server:
        target = target_of(server.url)

        async def work() -> int:
            client = Client(target)
            for _ in range(30):
                await post(client)
            left = alive()
            client.close()
            return left

        gc.collect()
        before = alive()
        gc.disable()
        try:
            left = run(work)
            assert left - before <= (0 if closes else 2)  # an idle connection and its flow
            assert alive() - before == 0
        finally:
            gc.enable()
