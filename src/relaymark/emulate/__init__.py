"""What if there is no server? A paced endpoint with a truth log, server faults by name, a local llama.cpp server."""

from __future__ import annotations

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
    "PacedConfig",
    "PacedServer",
    "ServerError",
    "TruthRecord",
    "black_hole",
    "closed_port",
    "list_faults",
    "plan_gaps",
    "read_truth",
    "smollm2_path",
    "start_faulty",
    "start_llama",
    "start_paced",
]
