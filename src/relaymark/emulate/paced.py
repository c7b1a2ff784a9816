"""The paced endpoint as a process of its own: :func:`start_paced`."""

from __future__ import annotations

from relaymark.emulate.pacedconfig import PacedConfig, encode_config
from relaymark.emulate.served import EmulatedServer


class PacedServer(EmulatedServer):
    """A running paced endpoint."""

    def __init__(self, config: PacedConfig) -> None:
        self.config = config
        super().__init__("relaymark.emulate.pacedchild", encode_config(config), config, "paced endpoint")


def start_paced(config: PacedConfig | None = None) -> PacedServer:
    """Start a paced endpoint in its own process and wait until it listens.

    >>> with start_paced(PacedConfig(ttft=0.05, itl=0.02)) as server:  # doctest: +SKIP
    ...     print(server.url)

    Raises:
        ConfigError: It cannot serve as configured (port taken, no such certificate).
        ServerError: It died or was not ready in 20 s.
    """
    return PacedServer(config or PacedConfig())
