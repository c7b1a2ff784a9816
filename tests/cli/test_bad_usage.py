"""What a user gets wrong is said in one message that names the place, with the right exit code."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from calling import call as call_outside
from calling import call_here as call

from relaymark.bench import load_benchmark
from relaymark.emulate import PacedServer

COMMANDS = ["quickstart", "run", "report", "probe", "doctor", "emulate"]
NOWHERE = "http://127.0.0.1:9"  # the configuration is looked at before the endpoint


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help(command: str, tmp_path: Path) -> None:
    done = call_outside(*filter(None, [command, "--help"]), cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("usage: relaymark")
    assert done.stderr == ""
    if not command:
        assert all(name in done.stdout for name in COMMANDS)
        assert "130 interrupted" in done.stdout


def test_version(tmp_path: Path) -> None:
    assert call("--version", cwd=tmp_path).stdout.startswith("relaymark 0")


@pytest.mark.parametrize("words", [[], ["nonsense"], ["run"], ["report"], ["run", "chat", "--unknown"]])
def test_what_the_parser_refuses(words: list[str], tmp_path: Path) -> None:
    done = call(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert "relaymark" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    "url", ["localhost:8000", "ftp://h", "http://", "http://h:99999", "http://h:0", "http://h/?a=1"]
)
@pytest.mark.parametrize("command", [["run", "chat"], ["probe"]])
def test_a_bad_url(url: str, command: list[str], tmp_path: Path) -> None:
    done = call(*command, "--url", url, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("relaymark: ")
    assert not (tmp_path / "runs").exists()


def test_no_url(tmp_path: Path) -> None:
    done = call("run", "chat", cwd=tmp_path)
    assert done.returncode == 2
    assert "--url" in done.stderr


@pytest.mark.parametrize("command", [["run", "chat"], ["probe"]])
def test_an_endpoint_that_is_not_there(command: list[str], tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    for url, says in ((f"http://127.0.0.1:{port}", "refused"), ("http://no-such-host.invalid", "no-such-host.invalid")):
        done = call(*command, "--url", url, cwd=tmp_path)
        assert done.returncode == 4
        assert says in done.stderr
        assert not (tmp_path / "runs").exists(), "nothing was measured, so nothing is left"


def test_a_model_that_is_not_served_names_those_that_are(
    paced_server: Callable[..., PacedServer], tmp_path: Path
) -> None:
    server = paced_server(model="smollm2-135m")
    for command in (["run", "chat", "--requests", "1"], ["probe"]):
        done = call(*command, "--url", server.url, "--model", "other", cwd=tmp_path)
        assert done.returncode == 2
        assert "'other'" in done.stderr and "smollm2-135m" in done.stderr
    done = call("run", "chat", "--url", server.url, "--model", "smollm2-135n", cwd=tmp_path)
    assert "Did you mean 'smollm2-135m'" in done.stderr


def written(folder: Path, text: str) -> Path:
    path = folder / "bench.yaml"
    path.write_text(text)
    return path


def test_malformed_yaml_names_file_line_and_what(tmp_path: Path) -> None:
    path = written(tmp_path, f"endpoint:\n  url: {NOWHERE}\nload: [single\n")
    done = call_outside("run", path, cwd=tmp_path)
    assert done.returncode == 2
    assert f"{path}:" in done.stderr or "bench.yaml:" in done.stderr


def test_a_wrong_value_names_file_line_and_key(tmp_path: Path) -> None:
    path = written(tmp_path, f"endpoint:\n  url: {NOWHERE}\nload: single\nduration: soon\n")
    done = call("run", path, cwd=tmp_path)
    assert done.returncode == 2
    assert "bench.yaml:4" in done.stderr
    assert "duration" in done.stderr


def test_an_unknown_key_comes_with_a_suggestion(tmp_path: Path) -> None:
    path = written(tmp_path, f"endpoint:\n  url: {NOWHERE}\n  modle: m\nload: single\n")
    done = call("run", path, cwd=tmp_path)
    assert done.returncode == 2
    assert "bench.yaml:3" in done.stderr
    assert "modle" in done.stderr and "model" in done.stderr.replace("modle", "")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--load", "poison:4/s"], "poisson"),
        (["--load", "concurrency:0"], "--load"),
        (["--duration", "60"], "60s"),
        (["--requests", "many"], "requests"),
        (["--slo", "ttft_p99"], "ttft_p99"),
        (["--slo", "speed_p99=1s"], "speed"),
        (["--set", "nonsense"], "nonsense"),
        (["--set", "load.rte=3"], "rte"),
        (["--workers", "none"], "workers"),
        (["--prompts", "synthetic:isl=big"], "isl"),
        (["--dialect", "openai-chatt"], "openai-chat"),
        (["--prompts", "absent.jsonl"], "absent.jsonl"),
    ],
)
def test_a_bad_option_says_which(words: list[str], says: str, tmp_path: Path) -> None:
    done = call("run", "chat", "--url", NOWHERE, *words, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert says in done.stderr


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "no prompts"),
        (b"\n \n", "no prompts"),
        (b'{"prompt": "caf\xe9"}\n', "UTF-8"),
        (b'{"prompt": "a"}\n{"prompt": \n', "prompts.jsonl:2"),
        (b'{"nothing": 1}\n', "prompts.jsonl:1"),
    ],
)
def test_a_bad_prompt_file_says_what_and_where(content: bytes, says: str, tmp_path: Path) -> None:
    (tmp_path / "prompts.jsonl").write_bytes(content)
    done = call("run", "chat", "--url", NOWHERE, "--prompts", "prompts.jsonl", cwd=tmp_path)
    assert done.returncode == 2
    assert "prompts.jsonl" in done.stderr
    assert says in done.stderr


def test_files_that_are_not_there(tmp_path: Path) -> None:
    for words in (["run", "absent.yaml"], ["run", "no-preset"], ["report", "absent"], ["report", "."]):
        done = call(*words, cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr.startswith("relaymark: ")
    assert "quick/chat" in call("run", "no-preset", cwd=tmp_path).stderr, "names the presets there are"


def test_an_out_folder_that_cannot_be_made(paced_server: Callable[..., PacedServer], tmp_path: Path) -> None:
    server = paced_server()
    (tmp_path / "file").write_text("")
    done = call("run", "chat", "--url", server.url, "--requests", 1, "--out", "file/runs", cwd=tmp_path)
    assert done.returncode == 2
    assert "--out" in done.stderr


def test_the_printed_configuration_loads_back(tmp_path: Path) -> None:
    words = ["run", "chat", "--url", NOWHERE, "--load", "gamma:4/s,burstiness=0.5", "--duration", "90s", "--slo"]
    words += ["ttft_p99=500ms", "--slo", "tpot_p90=50ms", "--prompts", "synthetic:isl=512±64,osl=128", "--seed", "5"]
    done = call(*words, "--set", "endpoint.headers.X-Team=${TEAM}", "--print-config", cwd=tmp_path, TEAM="hush-hush")
    assert done.returncode == 0
    assert done.stderr == ""
    assert "hush-hush" not in done.stdout
    path = written(tmp_path, done.stdout)
    bench = load_benchmark(path)
    assert bench.seed == 5
    assert set(bench.slo) == {"ttft_p99", "tpot_p90"}
    again = call("run", path, "--print-config", cwd=tmp_path)
    assert again.stdout == done.stdout
    changed = call("run", path, "--set", "load.rate=8", "--print-config", cwd=tmp_path)
    assert "rate: 8" in changed.stdout


@pytest.mark.parametrize("words", [["--ttft", "fast"], ["--tokens", "0"], ["--port", "70000"], ["--jitter", "-1ms"]])
def test_a_bad_emulated_endpoint(words: list[str], tmp_path: Path) -> None:
    assert call("emulate", *words, cwd=tmp_path).returncode == 2
