"""The faulty endpoint as a process of its own: :func:`start_faulty`."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from relaymark.emulate.faults import FaultyConfig
from relaymark.emulate.pacedconfig import encode_config
from relaymark.emulate.process import ServerProcess
from relaymark.emulate.truth import TruthRecord, read_truth
from relaymark.errors import ConfigError


class FaultyServer:
    """A running faulty endpoint. Use it as a context manager, or call :meth:`stop`."""

    def __init__(self, config: FaultyConfig) -> None:
        self.config = config
        self._process = ServerProcess(
            "relaymark.emulate.faultychild",
            encode_config(config),
            log_path=config.paced.server_log,
            name="faulty endpoint",
        )
        self.port: int = self._process.ready["port"]
        self.url = f"http://{'[::1]' if config.paced.host == '::1' else config.paced.host}:{self.port}"

    def fault_url(self, spec: str) -> str:
        """A base URL whose every request meets one fault: ``server.fault_url("rst:after=3")``."""
        return f"{self.url}/fault/{spec}"

    @property
    def pid(self) -> int:
        """Process id of the server."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """True while the server runs."""
        return self._process.alive

    def stop(self) -> None:
        """Stop the server; its truth log is complete afterwards. May be called twice."""
        self._process.stop()

    def truth(self) -> list[TruthRecord]:
        """What the server did, by order of arrival; ``fault`` names what each request met.

        Raises:
            ConfigError: The server was started without a ``log_path``.
        """
        if self.config.paced.log_path is None:
            raise ConfigError("this endpoint keeps no truth log", mend="start it with log_path")
        return read_truth(self.config.paced.log_path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def start_faulty(config: FaultyConfig | None = None) -> FaultyServer:
    """Start a faulty endpoint in its own process and wait until it listens.

    Raises:
        ConfigError: Unknown fault, rates above 1, port taken.
        ServerError: It died or was not ready in 20 s.
    """
    return FaultyServer(config or FaultyConfig())
