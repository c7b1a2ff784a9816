"""The faulty endpoint as a process of its own: :func:`start_faulty`."""

from __future__ import annotations

from relaymark.emulate.faults import FaultyConfig
from relaymark.emulate.pacedconfig import encode_config
from relaymark.emulate.served import EmulatedServer


class FaultyServer(EmulatedServer):
    """A running faulty endpoint; its truth log's ``fault`` names what each request met."""

    def __init__(self, config: FaultyConfig) -> None:
        self.config = config
        super().__init__("relaymark.emulate.faultychild", encode_config(config), config.paced, "faulty endpoint")

    def fault_url(self, spec: str) -> str:
        """A base URL whose every request meets one fault: ``server.fault_url("rst:after=3")``."""
        return f"{self.url}/fault/{spec}"


def start_faulty(config: FaultyConfig | None = None) -> FaultyServer:
    """Start a faulty endpoint in its own process and wait until it listens.

    Raises:
        ConfigError: Unknown fault, rates above 1, port taken.
        ServerError: It died or was not ready in 20 s.
    """
    return FaultyServer(config or FaultyConfig())
