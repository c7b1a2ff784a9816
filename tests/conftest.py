"""Servers that any test may start. They bind to loopback, take free ports and end with the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from relaymark.emulate import PacedConfig, PacedServer, start_paced


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
