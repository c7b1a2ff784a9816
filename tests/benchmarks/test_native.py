"""The C endpoint and the C reader: they compile, understand each other, and say what Relaymark understands."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

NATIVE = Path(__file__).parents[2] / "benchmarks" / "native"
COMPILER = shutil.which("cc") or shutil.which("gcc")

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the endpoint needs epoll"),
    pytest.mark.skipif(COMPILER is None and not os.environ.get("CI"), reason="there is no C compiler here"),
]

Start = Callable[..., int]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both programs, compiled without a warning."""
    assert COMPILER, "there is no C compiler on this CI machine"
    folder = tmp_path_factory.mktemp("native")
    for name in ("endpoint", "reader"):
        flags = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror"]
        subprocess.run([COMPILER, *flags, "-o", folder / name, NATIVE / f"{name}.c"], check=True)
    return folder


@pytest.fixture
def endpoint(built: Path) -> Iterator[Start]:
    """``endpoint(TTFT_US=…, ITL_US=…)`` starts one and gives its port."""
    started: list[subprocess.Popen[str]] = []

    def start(**settings: int) -> int:
        env = {**os.environ, "PORT": "0", **{name: str(value) for name, value in settings.items()}}
        started.append(subprocess.Popen([built / "endpoint"], env=env, stdout=subprocess.PIPE, text=True))
        assert started[-1].stdout is not None
        line = started[-1].stdout.readline()
        assert re.fullmatch(r"listening on \d+\n", line)
        return int(line.split()[2])

    yield start
    for process in started:
        assert process.poll() is None, "the endpoint died"
        process.kill()
        process.communicate()


def read(built: Path, *numbers: int) -> dict[str, Any]:
    done = subprocess.run(
        [built / "reader", *map(str, numbers)], capture_output=True, text=True, check=True, timeout=60
    )
    return json.loads(done.stdout)


def request(tokens: int, *, stream: bool = True, usage: bool = True, text: str = "hello") -> bytes:
    body: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": text}], "max_tokens": tokens}
    body["stream"] = stream
    if usage:
        body["stream_options"] = {"include_usage": True}
    payload = json.dumps(body).encode()
    return b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nContent-Length: %d\r\n\r\n%b" % (len(payload), payload)


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=30)


def events(stream: Any) -> list[Any]:
    """Reads one streamed response: the objects of its events, each of which must fill one chunk; [DONE] comes last."""
    assert stream.readline() == b"HTTP/1.1 200 OK\r\n"
    head = list(iter(stream.readline, b"\r\n"))
    assert b"transfer-encoding: chunked\r\n" in head
    found: list[Any] = []
    while size := int(stream.readline(), 16):
        event = stream.read(size + 2)
        assert event.startswith(b"data: ")
        assert event.endswith(b"\n\n\r\n")
        found.append(event[6:-4])
    assert stream.readline() == b"\r\n"
    assert found.pop() == b"[DONE]"
    return [json.loads(event) for event in found]


def answer(stream: Any) -> tuple[int, Any]:
    """Reads one response that has a length: status and JSON."""
    status = int(stream.readline().split()[1])
    head = dict(line.lower().split(b": ", 1) for line in iter(stream.readline, b"\r\n"))
    return status, json.loads(stream.read(int(head[b"content-length"])))


def test_reader_reads_streams_as_fast_as_they_come(built: Path, endpoint: Start) -> None:
    found = read(built, endpoint(), 4, 30, 1, 6)
    assert 30 <= found["reads"] <= 30 * 6  # an event a write; the kernel may join some
    assert found["rps"] == pytest.approx(30 / found["wall"], rel=0.01)
    assert found["events_s"] == pytest.approx(180 / found["wall"], rel=0.01)
    assert 0 < found["ttft"]["p50"] <= found["latency"]["p50"] <= found["latency"]["p99"] <= found["latency"]["max"]
    assert found["cpu"] >= 0


def test_reader_reads_whole_answers(built: Path, endpoint: Start) -> None:
    found = read(built, endpoint(), 8, 100, 0, 4)
    assert found["reads"] >= 100
    assert found["ttft"]["p50"] > 0


@pytest.mark.parametrize("stream", [1, 0])
def test_no_answer_is_faster_than_the_pace(built: Path, endpoint: Start, stream: int) -> None:
    found = read(built, endpoint(TTFT_US=20_000, ITL_US=5_000), 3, 6, stream, 9)
    assert found["latency"]["p50"] >= 20 + 8 * 5
    if stream:
        assert found["ttft"]["p50"] >= 20


def test_a_stream_has_one_event_a_chunk_and_counts_on_request(endpoint: Start) -> None:
    with connect(endpoint()) as sock, sock.makefile("rb") as stream:
        sock.sendall(request(3))
        *tokens, usage = events(stream)
        sock.sendall(request(2, usage=False))
        without = events(stream)
    assert tokens[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert all(event["choices"][0]["delta"]["content"] for event in tokens[1:])
    assert [event["choices"][0]["finish_reason"] for event in tokens] == [None, None, None, "length"]
    assert usage["choices"] == []
    assert usage["usage"]["completion_tokens"] == 3
    assert usage["usage"]["total_tokens"] == usage["usage"]["prompt_tokens"] + 3
    assert len(without) == 3
    assert not any("usage" in event for event in without)


def test_words_of_the_prompt_are_not_taken_for_settings(endpoint: Start) -> None:
    with connect(endpoint()) as sock, sock.makefile("rb") as stream:
        sock.sendall(request(2, stream=False, text='"stream": true, "max_tokens": 9'))
        status, found = answer(stream)
    assert status == 200
    assert found["usage"]["completion_tokens"] == 2
    assert found["choices"][0]["finish_reason"] == "length"
    assert len(found["choices"][0]["message"]["content"].split()) == 2


def test_requests_may_come_in_pieces_or_two_at_once(endpoint: Start) -> None:
    with connect(endpoint(ITL_US=100)) as sock, sock.makefile("rb") as stream:
        both = request(2) + request(4) + request(1, stream=False)
        for byte in both[:200]:
            sock.sendall(bytes([byte]))
        sock.sendall(both[200:])
        assert len(events(stream)) == 1 + 2 + 1
        assert len(events(stream)) == 1 + 4 + 1
        assert answer(stream)[1]["usage"]["completion_tokens"] == 1


def test_models_and_unknown_paths(endpoint: Start) -> None:
    with connect(endpoint()) as sock, sock.makefile("rb") as stream:
        sock.sendall(b"GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\nGET /elsewhere HTTP/1.1\r\nhost: x\r\n\r\n")
        assert [model["id"] for model in answer(stream)[1]["data"]] == ["fast-model"]
        assert answer(stream)[0] == 404


def test_a_body_without_length_is_refused(endpoint: Start) -> None:
    with connect(endpoint()) as sock, sock.makefile("rb") as stream:
        sock.sendall(b"POST /v1/chat/completions HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n")
        assert answer(stream)[0] == 411
        assert stream.read() == b""


@pytest.mark.parametrize("itl", [0, 1])
def test_a_client_that_does_not_read_holds_up_only_itself(built: Path, endpoint: Start, itl: int) -> None:
    port = endpoint(ITL_US=itl)
    with connect(port) as sock:
        sock.sendall(request(30_000))
        assert read(built, port, 2, 20, 1, 50)["rps"] > 0
        with sock.makefile("rb") as stream:
            assert len(events(stream)) == 1 + 30_000 + 1


def test_clients_that_leave_do_no_harm(built: Path, endpoint: Start) -> None:
    port = endpoint(TTFT_US=1000, ITL_US=1000)
    for _ in range(20):
        with connect(port) as sock:
            sock.sendall(request(1000) * 2)
            sock.recv(1)
    assert read(built, port, 10, 20, 1, 3)["rps"] > 0


@pytest.mark.parametrize("how", [[], ["--no-stream"]])
def test_relaymark_reads_every_answer_whole(endpoint: Start, tmp_path: Path, how: list[str]) -> None:
    command = [sys.executable, "-m", "relaymark", "run", "chat", "--json", "--out", tmp_path, "--requests", "5", *how]
    command += ["--url", f"http://127.0.0.1:{endpoint()}", "--load", "concurrency:2", "--max-tokens", "7"]
    done = subprocess.run(command, capture_output=True, check=False, timeout=60)
    assert done.returncode in (0, 3), done.stderr  # a busy machine may make it an invalid measurement
    (stage,) = json.loads(done.stdout)["stages"]
    assert stage["outcomes"] == {"ok_length": 5}
    assert stage["completion_tokens"] == 35
    assert stage["token_source"] == "usage"
