"""The paced endpoint as a process of its own: :func:`start_paced`."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

from relaymark.emulate.pacedconfig import PacedConfig, encode_config
from relaymark.emulate.process import ServerProcess
from relaymark.emulate.truth import TruthRecord, read_truth
from relaymark.errors import ConfigError


class PacedServer:
    """A running paced endpoint. Use it as a context manager, or call :meth:`stop`."""

    def __init__(self, config: PacedConfig) -> None:
        self.config = config
        self._process = ServerProcess(
            "relaymark.emulate.pacedchild",
            encode_config(config),
            log_path=config.server_log,
            name="paced endpoint",
        )
        self.port: int = self._process.ready["port"]
        scheme = "http" if config.tls_cert is None else "https"
        host = "[::1]" if config.host == "::1" else config.host
        self.url = f"{scheme}://{host}:{self.port}"

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
        if self.config.log_path is None:
            raise ConfigError("this endpoint keeps no truth log", mend="start it with log_path")
        return read_truth(Path(self.config.log_path))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def start_paced(config: PacedConfig | None = None) -> PacedServer:
    """Start a paced endpoint in its own process and wait until it listens.

    >>> with start_paced(PacedConfig(ttft=0.05, itl=0.02)) as server:  # doctest: +SKIP
    ...     print(server.url)

    Raises:
        ConfigError: It cannot serve as configured (port taken, no such certificate).
        ServerError: It died or was not ready in 20 s.
    """
    return PacedServer(config or PacedConfig())
