"""What is to be run? The benchmark file, presets, overrides and hashing.

The plain structs (`StageSpec`, `LoadSpec`, …) import nothing heavy; the rest loads pydantic and the YAML parser
when it is first used, so that ``relaymark --help`` and workers don't wait for them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from relaymark.bench.spec import (
    WARMUP_INDEX,
    LengthSpec,
    LoadSpec,
    PromptSource,
    SloSpec,
    StageSpec,
    StepSpec,
)

if TYPE_CHECKING:
    from relaymark.bench._sections import Endpoint, Gates, Limits, Retries, Sampling, Timeouts
    from relaymark.bench._shorthand import (
        LOAD_FORMS,
        PROMPT_FORMS,
        SLO_FORMS,
        SLO_METRICS,
        parse_load,
        parse_prompts,
        parse_slo,
    )
    from relaymark.bench.files import (
        build_benchmark,
        dump_benchmark,
        list_presets,
        load_benchmark,
        load_preset,
    )
    from relaymark.bench.model import Benchmark, benchmark_hash
    from relaymark.bench.secrets import api_key, request_headers, resolved_headers

__all__ = [
    "LOAD_FORMS",
    "PROMPT_FORMS",
    "SLO_FORMS",
    "SLO_METRICS",
    "WARMUP_INDEX",
    "Benchmark",
    "Endpoint",
    "Gates",
    "LengthSpec",
    "Limits",
    "LoadSpec",
    "PromptSource",
    "Retries",
    "Sampling",
    "SloSpec",
    "StageSpec",
    "StepSpec",
    "Timeouts",
    "api_key",
    "benchmark_hash",
    "build_benchmark",
    "dump_benchmark",
    "list_presets",
    "load_benchmark",
    "load_preset",
    "parse_load",
    "parse_prompts",
    "parse_slo",
    "request_headers",
    "resolved_headers",
]

_HOMES = {
    "_sections": ("Endpoint", "Gates", "Limits", "Retries", "Sampling", "Timeouts"),
    "_shorthand": (
        "LOAD_FORMS",
        "PROMPT_FORMS",
        "SLO_FORMS",
        "SLO_METRICS",
        "parse_load",
        "parse_prompts",
        "parse_slo",
    ),
    "files": ("build_benchmark", "dump_benchmark", "list_presets", "load_benchmark", "load_preset"),
    "model": ("Benchmark", "benchmark_hash"),
    "secrets": ("api_key", "request_headers", "resolved_headers"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
