"""How do legs make a task? Preparing a run, its workers and coordinator, and the trace they leave.

Imports are lazy: a worker loads this package and must not pay for pydantic, numpy or pyarrow.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from relaymark.relay.coordinator import Coordinator, Progress
    from relaymark.relay.machine import cpu_governor, descriptor_limit, environment, usable_cores
    from relaymark.relay.merge import finish
    from relaymark.relay.preparation import prepare
    from relaymark.relay.reply import Reply, ask

__all__ = [
    "Coordinator",
    "Progress",
    "Reply",
    "ask",
    "cpu_governor",
    "descriptor_limit",
    "environment",
    "finish",
    "prepare",
    "usable_cores",
]

_HOMES = {
    "reply": ("Reply", "ask"),
    "coordinator": ("Coordinator", "Progress"),
    "machine": ("cpu_governor", "descriptor_limit", "environment", "usable_cores"),
    "merge": ("finish",),
    "preparation": ("prepare",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
