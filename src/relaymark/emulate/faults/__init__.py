"""Server faults by name: each a small piece that stands for a bug seen in the field, with the right client's report."""

from __future__ import annotations

# Importing these registers their faults.
from relaymark.emulate.faults import connections, content, failures, framing
from relaymark.emulate.faults.blackhole import black_hole, closed_port
from relaymark.emulate.faults.registry import Chooser, Expected, Fault, FaultSpec, list_faults
from relaymark.emulate.faults.server import FaultyConfig, serve_faulty

__all__ = [
    "Chooser",
    "Expected",
    "Fault",
    "FaultSpec",
    "FaultyConfig",
    "black_hole",
    "closed_port",
    "connections",
    "content",
    "failures",
    "framing",
    "list_faults",
    "serve_faulty",
]
