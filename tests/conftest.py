"""Servers that any test may start. They bind to loopback, take free ports and end with the test."""

from __future__ import annotations

import importlib.util
import os
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from relaymark.emulate import (
    FaultyConfig,
    FaultyServer,
    LlamaConfig,
    LlamaServer,
    PacedConfig,
    PacedServer,
    start_faulty,
    start_llama,
    start_paced,
)


@pytest.fixture(scope="session", autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    """No process that a test started, or one of those did, lives on after the last test, however it was ended."""
    mark = uuid.uuid4().hex
    os.environ["RELAYMARK_TESTS"] = mark
    yield
    deadline = time.monotonic() + 20
    while (left := _marked(mark)) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not left


def _marked(mark: str) -> list[str]:
    found: list[str] = []
    for process in psutil.process_iter():
        try:
            command = process.cmdline()
            if process.environ().get("RELAYMARK_TESTS") == mark and process.pid != os.getpid():
                # multiprocessing's own, which lives as long as this process
                found += (
                    []
                    if process.ppid() == os.getpid() and "resource_tracker" in " ".join(command)
                    else [f"{process.pid} {' '.join(command)} of {process.environ().get('PYTEST_CURRENT_TEST')}"]
                )
        except psutil.Error:
            continue
    return found


@pytest.fixture
def paced_server(tmp_path: Path) -> Iterator[Callable[..., PacedServer]]:
    """``paced_server(ttft=0.05, …)`` starts a paced endpoint with a truth log; settings are PacedConfig's."""
    started: list[PacedServer] = []

    def start(**settings: Any) -> PacedServer:
        number = len(started)
        settings.setdefault("log_path", tmp_path / f"truth-{number}.jsonl")
        settings.setdefault("server_log", tmp_path / f"paced-{number}.log")
        server = start_paced(PacedConfig(**settings))
        started.append(server)
        return server

    yield start
    for server in started:
        server.stop()


@pytest.fixture
def faulty_server(tmp_path: Path) -> Iterator[Callable[..., FaultyServer]]:
    """``faulty_server("rst:rate=0.1", …, ttft=0.05)`` starts an endpoint with faults and a truth log.

    Without faults it answers plainly, and ``server.fault_url("rst:after=3")`` is a base URL that meets one each time.
    """
    started: list[FaultyServer] = []

    def start(*faults: str, seed: int = 0, **settings: Any) -> FaultyServer:
        settings.setdefault("log_path", tmp_path / f"faulty-truth-{len(started)}.jsonl")
        settings.setdefault("server_log", tmp_path / f"faulty-{len(started)}.log")
        server = start_faulty(FaultyConfig(paced=PacedConfig(**settings), faults=faults, seed=seed))
        started.append(server)
        return server

    yield start
    for server in started:
        server.stop()


@pytest.fixture(scope="session")
def tiny_gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random-weight GGUF of 0.5 MB; skipped where the package gguf is missing."""
    pytest.importorskip("gguf", reason="the package gguf is not installed")
    place = Path(__file__).parent / "emulate" / "tiny_gguf.py"
    spec = importlib.util.spec_from_file_location("tiny_gguf", place)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.write_tiny_gguf(tmp_path_factory.mktemp("model") / "tiny.gguf")


@pytest.fixture(scope="session")
def llama_server(tiny_gguf: Path) -> Iterator[LlamaServer]:
    """A llama.cpp server with the tiny model (``.url``, ``.model``), shared by all tests of the session."""
    pytest.importorskip("xllamacpp", reason="the package xllamacpp is not installed")
    with start_llama(LlamaConfig(model_path=tiny_gguf, log_path=tiny_gguf.with_name("llama.log"))) as server:
        yield server
