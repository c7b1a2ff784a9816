"""Each fault does what it declares: its bytes, decoded, give the outcome, events and tokens a right client reports."""

from __future__ import annotations

import json
import re
import socket
import struct
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from asking import ask, events

from relaymark.dialects import MAX_HEADER, Decoded, decode_capture
from relaymark.emulate import (
    FaultSpec,
    FaultyConfig,
    FaultyServer,
    PacedConfig,
    black_hole,
    closed_port,
    list_faults,
    start_faulty,
)
from relaymark.emulate.faults import Chooser
from relaymark.errors import ConfigError
from relaymark.trace import Capture, Outcome, TransferEnd

N = 8
SMALL = {"head-flood": "kib=2048", "body-flood": "mib=1", "slow-loris": "seconds=0.01"}
TIMEOUTS = {
    "first_byte": TransferEnd.TIMEOUT_FIRST_BYTE,
    "idle": TransferEnd.TIMEOUT_IDLE,
    "total": TransferEnd.TIMEOUT_TOTAL,
}


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyServer]:
    paced = PacedConfig(
        ttft=0.005, itl=0.001, tokens=N, dimensions=4, log_path=tmp_path_factory.mktemp("faulty") / "truth.jsonl"
    )
    with start_faulty(FaultyConfig(paced=paced)) as server:
        yield server


def request_bytes(path: str, *, stream: bool, close: bool) -> bytes:
    prompt = {"messages": [{"role": "user", "content": "hi"}]}
    if path.endswith("/v1/completions"):
        prompt = {"prompt": "hi"}
    elif path.endswith(("/v1/responses", "/v1/embeddings")):
        prompt = {"input": "hi"}
    body = json.dumps({**prompt, "stream": stream}).encode()
    return (
        f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n"
        f"{'connection: close' if close else 'x-keep: 1'}\r\n\r\n"
    ).encode() + body


def capture(port: int, path: str, *, stream: bool = True, needs: str = "", dialect: str = "openai-chat") -> Capture:
    """One attempt by a client as plain as can be: it reads until the connection ends or its patience does."""
    sizes: list[int] = []
    raw = b""
    end, error = TransferEnd.EOF, ""
    deadline = time.monotonic() + 0.6
    with socket.create_connection(("127.0.0.1", port), timeout=0.4 if needs else 20) as connection:
        connection.sendall(request_bytes(path, stream=stream, close=True))
        try:
            while data := connection.recv(262_144):
                raw += data
                sizes.append(len(data))
                if len(raw) > MAX_HEADER and b"\r\n\r\n" not in raw:
                    end = TransferEnd.TOO_LARGE
                    break
                if needs == "total" and time.monotonic() > deadline:
                    raise TimeoutError
        except ConnectionResetError:
            end = TransferEnd.RESET
        except TimeoutError:
            end = TIMEOUTS[needs]
    return Capture(
        leg_id=0,
        task_id=0,
        request=0,
        dialect=dialect,
        streamed=stream,
        sent=1,
        ended=2,
        end=end,
        error=error,
        user_ns=struct.pack(f"<{len(sizes)}q", *range(1, len(sizes) + 1)),
        sizes=struct.pack(f"<{len(sizes)}I", *sizes),
        raw=raw,
    )


def decoded(port: int, path: str, *, stream: bool = True, needs: str = "", dialect: str = "openai-chat") -> Decoded:
    return decode_capture(capture(port, path, stream=stream, needs=needs, dialect=dialect), 512 * 1024)


CHAT = [fault for fault in list_faults() if fault.applies("chat", True)]


@pytest.mark.parametrize("name", [fault.name for fault in CHAT])
def test_a_fault_is_what_it_declares(faulty: FaultyServer, name: str) -> None:
    text = name + (f":{SMALL[name]}" if name in SMALL else ":size=100000" if name == "huge-delta" else "")
    spec = FaultSpec.parse(text)
    got = decoded(faulty.port, f"/fault/{text}/v1/chat/completions", needs=spec.fault.needs)
    expected = spec.fault.expected(N, spec.params)
    assert (got.outcome, got.completion_tokens) == (expected.outcome, expected.tokens), got
    if expected.events is not None:
        assert len(got.deltas) == expected.events


@pytest.mark.parametrize("api", ["completions", "responses", "embeddings"])
def test_faults_of_other_apis(faulty: FaultyServer, api: str) -> None:
    wrong: list[tuple[str, Decoded]] = []
    for fault in list_faults():
        if fault.needs or fault.name in SMALL or not fault.applies(api, api != "embeddings"):
            continue
        path = f"/fault/{fault.name}/v1/{api}"
        got = decoded(faulty.port, path, stream=api != "embeddings", dialect=f"openai-{api}")
        if got.outcome != fault.expected(N).outcome:
            wrong.append((fault.name, got))
    assert not wrong


def test_non_streaming_faults(faulty: FaultyServer) -> None:
    wrong: list[tuple[str, Decoded]] = []
    for fault in list_faults():
        if fault.needs or fault.name in SMALL:
            continue
        got = decoded(faulty.port, f"/fault/{fault.name}/v1/chat/completions", stream=False)
        expected = fault.outcome if fault.applies("chat", False) else Outcome.OK
        if got.outcome != expected:
            wrong.append((fault.name, got))
    assert not wrong


def test_special_cases_say_what_they_stand_for(faulty: FaultyServer) -> None:
    def of(name: str) -> Decoded:
        return decoded(faulty.port, f"/fault/{name}/v1/chat/completions")

    assert of("utf8-split").texts == ["日本語の🏃‍♀️né" * 2]
    assert of("u2028").texts[0].startswith("a\u2028bc\u2029de\u0085f")
    assert of("n2").texts == [" left" * 4, " right" * 4]
    assert [len(text.split()) for text in of("reasoning").reasonings] == [4]
    calls = of("tool-calls").tool_calls
    assert [(call.index, call.id, call.name) for call in calls] == [(0, "call_0", "look_0"), (1, "call_1", "look_1")]
    assert all(json.loads(call.arguments) for call in calls)
    assert of("429-seconds").retry_after == "1"
    assert re.match(r"\w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT", of("429-date").retry_after or "")
    assert of("one-packet").incremental is False
    assert "died" in (of("inband-error").error_message or "")


def test_a_keep_alive_race_answers_once_and_then_closes(faulty: FaultyServer) -> None:
    path = "/fault/keepalive-race/v1/chat/completions"
    with socket.create_connection(("127.0.0.1", faulty.port), timeout=20) as connection:
        connection.sendall(request_bytes(path, stream=True, close=False))
        got = b""
        while not got.endswith(b"0\r\n\r\n"):
            got += connection.recv(65_536)
        connection.sendall(request_bytes(path, stream=True, close=False))
        assert connection.recv(65_536) == b""


def test_faults_at_a_rate_are_counted_in_the_truth(tmp_path: Path) -> None:
    faults = ("inband-error:after=1,rate=0.3", "429-seconds:rate=0.3")
    statuses: list[list[int]] = []
    for turn in range(2):
        paced = PacedConfig(ttft=0, itl=0, tokens=2, log_path=tmp_path / f"truth-{turn}.jsonl")
        with start_faulty(FaultyConfig(paced=paced, faults=faults, seed=3)) as server:
            seen = [ask(server.url, stream=True, headers={"x-relaymark-id": f"r{index}"})[0] for index in range(60)]
            counts = json.loads(ask(server.url, "/stats", method="GET")[1])["faults"]
        statuses.append(seen)
    assert statuses[0] == statuses[1]
    truth = Counter(record.fault or "none" for record in server.truth())
    assert truth == counts
    assert set(truth) == {"inband-error", "429-seconds", "none"}
    assert statuses[0].count(429) == truth["429-seconds"]


def test_a_retry_draws_again() -> None:
    chooser = Chooser([FaultSpec.parse("rst:rate=0.5")], seed=1)
    drawn = [chooser.pick(f"leg#{attempt}") is None for attempt in range(1, 30)]
    assert {True, False} == set(drawn)


def test_plain_answers_and_unknown_faults(faulty: FaultyServer) -> None:
    assert len(events(ask(faulty.url, stream=True)[1])) == N + 2
    status, body = ask(f"{faulty.url}", "/fault/nonsense/v1/chat/completions")
    assert (status, b"no fault named" in body) == (404, True)


@pytest.mark.parametrize(
    "text",
    ["nonsense", "rst:after=x", "rst:before=1", "rst:rate=2", "rst:after=-1", "rst:after=nan", "", "rst:rate"],
)
def test_a_bad_spec_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        FaultSpec.parse(text)


def test_rates_above_one_are_refused() -> None:
    with pytest.raises(ConfigError, match="add up"):
        FaultyConfig(faults=("rst:rate=0.7", "stall:rate=0.7"))


def test_every_fault_is_described_and_every_family_is_there() -> None:
    faults = list_faults()
    assert {fault.item for fault in faults} == set(range(1, 26))
    assert all(fault.about.endswith(".") and len(fault.about) <= 110 for fault in faults)
    assert len({fault.about for fault in faults}) == len(faults)


@pytest.mark.skipif(sys.platform != "linux", reason="how a full accept queue behaves is Linux's own")
def test_ports_where_nobody_answers() -> None:
    with closed_port() as port, pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5)
    with black_hole() as port, pytest.raises(TimeoutError):
        socket.create_connection(("127.0.0.1", port), timeout=0.3)
