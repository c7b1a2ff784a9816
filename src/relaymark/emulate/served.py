"""A running emulated endpoint, as whoever started it sees it: address, life, truth log."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from relaymark.emulate.pacedconfig import PacedConfig
from relaymark.emulate.process import ServerProcess
from relaymark.emulate.truth import TruthRecord, read_truth
from relaymark.errors import ConfigError


class EmulatedServer:
    """A child process that serves what ``paced`` says. Use it as a context manager, or call :meth:`stop`."""

    def __init__(self, module: str, config: bytes, paced: PacedConfig, name: str) -> None:
        self._paced = paced
        self._process = ServerProcess(module, config, log_path=paced.server_log, name=name)
        self.port: int = self._process.ready["port"]
        scheme = "http" if paced.tls_cert is None else "https"
        host = "[::1]" if paced.host == "::1" else paced.host
        self.url = f"{scheme}://{host}:{self.port}"

    @property
    def model(self) -> str:
        """Name of the model it serves."""
        return self._paced.model

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
        """What the server did, by order of arrival. Complete after :meth:`stop`; before, up to a second behind.

        Raises:
            ConfigError: The server was started without a ``log_path``.
        """
        if self._paced.log_path is None:
            raise ConfigError("this endpoint keeps no truth log", mend="start it with log_path")
        return read_truth(self._paced.log_path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
