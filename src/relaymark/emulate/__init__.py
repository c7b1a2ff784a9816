"""What if there is no server? A paced endpoint with a truth log, server faults by name, scripted answers, a local
llama.cpp server.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from relaymark.emulate.faults import (
        Expected,
        Fault,
        FaultSpec,
        FaultyConfig,
        black_hole,
        closed_port,
        list_faults,
    )
    from relaymark.emulate.faulty import FaultyServer, start_faulty
    from relaymark.emulate.llamacpp import LlamaConfig, LlamaServer, start_llama
    from relaymark.emulate.paced import PacedServer, start_paced
    from relaymark.emulate.pacedconfig import PacedConfig, plan_gaps
    from relaymark.emulate.process import ServerError
    from relaymark.emulate.script import Reply, Script, ScriptRequest, ToolCall, open_script
    from relaymark.emulate.scripted import ScriptedServer, start_scripted
    from relaymark.emulate.scriptedconfig import Pace, ScriptedConfig
    from relaymark.emulate.scriptedworld import WorldKnobs, WorldScript
    from relaymark.emulate.truth import TruthRecord, read_truth
    from relaymark.emulate.weights import smollm2_path

__all__ = [
    "Expected",
    "Fault",
    "FaultSpec",
    "FaultyConfig",
    "FaultyServer",
    "LlamaConfig",
    "LlamaServer",
    "Pace",
    "PacedConfig",
    "PacedServer",
    "Reply",
    "Script",
    "ScriptRequest",
    "ScriptedConfig",
    "ScriptedServer",
    "ServerError",
    "ToolCall",
    "TruthRecord",
    "WorldKnobs",
    "WorldScript",
    "black_hole",
    "closed_port",
    "list_faults",
    "open_script",
    "plan_gaps",
    "read_truth",
    "smollm2_path",
    "start_faulty",
    "start_llama",
    "start_paced",
    "start_scripted",
]

# Loaded on first use: a server's process needs one of these modules, and the command line's start none.
_HOMES = {
    "faults": ("Expected", "Fault", "FaultSpec", "FaultyConfig", "black_hole", "closed_port", "list_faults"),
    "faulty": ("FaultyServer", "start_faulty"),
    "llamacpp": ("LlamaConfig", "LlamaServer", "start_llama"),
    "paced": ("PacedServer", "start_paced"),
    "pacedconfig": ("PacedConfig", "plan_gaps"),
    "process": ("ServerError",),
    "script": ("Reply", "Script", "ScriptRequest", "ToolCall", "open_script"),
    "scripted": ("ScriptedServer", "start_scripted"),
    "scriptedconfig": ("Pace", "ScriptedConfig"),
    "scriptedworld": ("WorldKnobs", "WorldScript"),
    "truth": ("TruthRecord", "read_truth"),
    "weights": ("smollm2_path",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
