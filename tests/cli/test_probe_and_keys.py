"""``probe`` in plain words; and keys, which no byte of a run's folder or of the output may hold."""

from __future__ import annotations

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from calling import PlainServer, call, call_here, only_run

from relaymark.emulate import LlamaServer, PacedServer

Paced = Callable[..., PacedServer]
KEY = "sk-test-0123456789abcdef"


def test_probe_of_a_good_endpoint(paced_server: Paced, tmp_path: Path) -> None:
    server = paced_server(ttft=0.02, itl=0.003, tokens=200)
    done = call_here("probe", "--url", server.url, cwd=tmp_path)
    assert done.returncode == 0
    assert "incremental: 24 events" in done.stdout
    assert "one token an event" in done.stdout
    assert "24 completion tokens" in done.stdout
    assert "BAD" not in done.stdout
    assert len(server.config.model) and server.config.model in done.stdout


@pytest.mark.parametrize(
    ("settings", "says", "code"),
    [
        ({"usage": "off"}, "token rates, TPOT and ITL weights will be absent", 1),
        ({"tokens_per_chunk": 4}, "4.00 on average", 0),
        ({"usage": "continuous", "tokens_per_chunk": 4}, "ITL weights are exact", 0),
        ({"reasoning_share": 0.5}, "TTFAT is reported beside TTFT", 0),
        ({"itl": 0.0, "tokens": 1}, "in one piece", 1),
    ],
)
def test_probe_names_what_would_spoil_a_benchmark(
    paced_server: Paced, tmp_path: Path, settings: dict[str, object], says: str, code: int
) -> None:
    server = paced_server(**({"ttft": 0.005, "itl": 0.002} | settings))
    done = call_here("probe", "--url", server.url, cwd=tmp_path)
    assert says in done.stdout
    assert done.returncode == code
    assert ("BAD" in done.stdout) == bool(code)


def test_probe_of_llama_cpp_shows_the_servers_own_timings(llama_server: LlamaServer, tmp_path: Path) -> None:
    done = call_here("probe", "--url", llama_server.url, cwd=tmp_path)
    assert "by its own clock" in done.stdout


def test_probe_of_a_server_that_is_none_of_ours(tmp_path: Path) -> None:
    with PlainServer(lambda request: (200, "text/html", b"<html><body>It works!</body></html>")) as server:
        done = call_here("probe", "--url", server.url, cwd=tmp_path)
        assert done.returncode == 2
        assert "does not list its models" in done.stderr
        done = call_here("probe", "--url", server.url, "--model", "m", cwd=tmp_path)
    assert done.returncode == 1
    assert "streaming chat does not work" in done.stdout
    assert "protocol error" in done.stdout


def echo(request: BaseHTTPRequestHandler) -> tuple[int, str, bytes]:
    """A careless server: it tells everybody which key they came with."""
    key = request.headers.get("authorization", "none")
    if request.command == "GET":
        return 200, "application/json", json.dumps({"data": [{"id": "m"}, {"id": f"for {key}"}]}).encode()
    team = request.headers.get("x-team", "")
    message = {"error": {"message": f"Incorrect API key provided: {key} ({team})", "type": "invalid " + key}}
    return 401, "application/json", json.dumps(message).encode()


def test_a_key_that_the_server_echoes_is_nowhere(tmp_path: Path) -> None:
    secret = "team-secret-value-77"
    environ = {"OPENAI_API_KEY": KEY, "TEAM_SECRET": secret}
    with PlainServer(echo) as server:
        words = ["run", "chat", "--url", server.url, "--model", "m", "--requests", 6, "--set", "keep_content=true"]
        done = call(*words, "--set", "endpoint.headers.X-Team=${TEAM_SECRET}", cwd=tmp_path, **environ)
        probed = call("probe", "--url", server.url, "--model", "m", cwd=tmp_path, **environ)
        failed = call("probe", "--url", server.url, "--model", "x", cwd=tmp_path, **environ)
    assert done.returncode == 3
    folder = only_run(tmp_path)
    reported = call_here("report", folder, "--json", "--perfetto", tmp_path / "perfetto.json", cwd=tmp_path)
    assert "Incorrect API key provided: Bearer" in reported.stdout, "what the server said is there, but for the key"
    outputs = [text for each in (done, probed, failed, reported) for text in (each.stdout, each.stderr)]
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 8
    for word in (KEY, secret):
        assert not any(word in text for text in outputs)
        assert [path.name for path in files if word.encode() in path.read_bytes()] == []
    from relaymark.trace.table import Trace  # compressed, so bytes alone prove little

    legs = list(Trace(folder / "trace.parquet").legs())
    assert len(legs) == 6
    assert not any(word in repr(leg) for leg in legs for word in (KEY, secret))


def test_a_key_that_is_needed_and_wrong_or_missing(paced_server: Paced, tmp_path: Path) -> None:
    server = paced_server(ttft=0.002, itl=0.001, tokens=2, api_key=KEY)
    for environ in ({}, {"OPENAI_API_KEY": "sk-wrong-one"}):
        done = call_here("run", "chat", "--url", server.url, "--requests", 2, cwd=tmp_path, **environ)
        assert done.returncode in (2, 3)
        assert "sk-wrong-one" not in done.stdout + done.stderr
    done = call_here("probe", "--url", server.url, "--api-key-env", "NOT_SET", cwd=tmp_path)
    assert done.returncode == 2
    assert "NOT_SET" in done.stderr
    done = call("run", "chat", "--url", server.url, "--requests", 2, "--json", cwd=tmp_path, OPENAI_API_KEY=KEY)
    summary = json.loads(done.stdout)
    assert sum(n for outcome, n in summary["stages"][0]["outcomes"].items() if outcome.startswith("ok")) == 2
    assert KEY not in done.stdout + done.stderr
