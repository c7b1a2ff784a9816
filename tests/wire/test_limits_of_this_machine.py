"""What this machine cannot do is its own failure and is reported so, never the server's."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from raw_server import RawServer, answers, with_length

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
