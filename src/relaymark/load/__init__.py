"""When is each task sent? Arrival schedules (pure, seeded), closed loops, and their parts for the workers.

`Part` imports nothing heavy; the rest loads numpy when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from relaymark.load.part import Part

if TYPE_CHECKING:
    from relaymark.load.patterns import Constant, Gamma, Offline, Pattern, Poisson, Ramp, Step
    from relaymark.load.schedule import Schedule, build_schedule, partition, pattern_of, schedule_sha256

__all__ = [
    "Constant",
    "Gamma",
    "Offline",
    "Part",
    "Pattern",
    "Poisson",
    "Ramp",
    "Schedule",
    "Step",
    "build_schedule",
    "partition",
    "pattern_of",
    "schedule_sha256",
]

_HOMES = {
    "patterns": ("Constant", "Gamma", "Offline", "Pattern", "Poisson", "Ramp", "Step"),
    "schedule": ("Schedule", "build_schedule", "partition", "pattern_of", "schedule_sha256"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
