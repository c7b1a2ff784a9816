"""The scripted endpoint as a process of its own: :func:`start_scripted`."""

from __future__ import annotations

from relaymark.emulate.pacedconfig import encode_config
from relaymark.emulate.scriptedconfig import ScriptedConfig
from relaymark.emulate.served import EmulatedServer


class ScriptedServer(EmulatedServer):
    """A running scripted endpoint."""

    def __init__(self, config: ScriptedConfig) -> None:
        self.config = config
        super().__init__("relaymark.emulate.scriptedchild", encode_config(config), config.paced, "scripted endpoint")


def start_scripted(config: ScriptedConfig) -> ScriptedServer:
    """Start a scripted endpoint in its own process and wait until it listens.

    >>> with start_scripted(ScriptedConfig(script="world:w", settings={"wrong": 0.1})) as server:  # doctest: +SKIP
    ...     print(server.url)

    Raises:
        ConfigError: The script or its settings can't be used, or the port is taken.
        ServerError: It died or was not ready in 20 s.
    """
    return ScriptedServer(config)
