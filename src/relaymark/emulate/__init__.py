"""What if there is no server? A paced endpoint with a truth log, server faults by name, a local llama.cpp server."""

from __future__ import annotations

from relaymark.emulate.child import ServerError
from relaymark.emulate.paced import PacedServer, start_paced
from relaymark.emulate.pacedconfig import PacedConfig, plan_gaps
from relaymark.emulate.truth import TruthRecord, read_truth

__all__ = [
    "PacedConfig",
    "PacedServer",
    "ServerError",
    "TruthRecord",
    "plan_gaps",
    "read_truth",
    "start_paced",
]
