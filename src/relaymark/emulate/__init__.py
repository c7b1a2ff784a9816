"""What if there is no server? A paced endpoint with a truth log, server faults by name, a local llama.cpp server."""

from __future__ import annotations

from relaymark.emulate.child import ServerError
from relaymark.emulate.llamacpp import LlamaConfig, LlamaServer, start_llama
from relaymark.emulate.paced import PacedServer, start_paced
from relaymark.emulate.pacedconfig import PacedConfig, plan_gaps
from relaymark.emulate.truth import TruthRecord, read_truth
from relaymark.emulate.weights import smollm2_path

__all__ = [
    "LlamaConfig",
    "LlamaServer",
    "PacedConfig",
    "PacedServer",
    "ServerError",
    "TruthRecord",
    "plan_gaps",
    "read_truth",
    "smollm2_path",
    "start_llama",
    "start_paced",
]
