"""Names as rounds and submitters spell them, and the one spelling they have here.

Spellings are those of MLPerf Inference v5.1 to v6.1 (``Model``, ``MlperfModel``, ``Scenario``, ``Units`` of
summary.csv). What is not in a table stays as it is and is flagged: it is never mapped to the nearest name.
"""

from __future__ import annotations

import re

_BENCHMARKS: dict[str, tuple[str, ...]] = {
    "3d-unet-99": (),
    "3d-unet-99.9": (),
    "bert-99": (),
    "bert-99.9": (),
    "deepseek-r1": (),
    "dlrm-v2-99": (),
    "dlrm-v2-99.9": (),
    "dlrm-v3": (),
    "e2e-rag-db": ("end to end vector-database",),
    "e2e-rag-qna": ("end to end question-answering",),
    "gpt-oss-120b": (),
    "gptj-99": (),
    "gptj-99.9": (),
    "llama2-70b-99": (),
    "llama2-70b-99.9": (),
    "llama3.1-405b": ("llama3_1-405b",),
    "llama3.1-8b": ("llama3_1-8b",),
    "llama3.1-8b-edge": ("llama3_1-8b-edge",),
    "mixtral-8x7b": (),
    "pointpainting": (),
    "qwen3-vl-235b-a22b": ("vlm",),
    "qwen3.6-27b": ("agentic edge", "edge-agentic"),
    "resnet50": ("resnet",),
    "retinanet": (),
    "rgat": (),
    "stable-diffusion-xl": (),
    "wan-2.2-t2v-a14b": ("text_to_video",),
    "whisper": (),
    "yolo-95": (),
    "yolo-99": (),
}
_SCENARIOS = ("Offline", "Server", "Interactive", "SingleStream", "MultiStream")
_UNITS: dict[str, tuple[str, float]] = {
    "tokens/s": ("tokens/s", 1.0),
    "samples/s": ("samples/s", 1.0),
    "queries/s": ("queries/s", 1.0),
    "tasks/s": ("tasks/s", 1.0),
    "latency (ms)": ("ms", 1.0),
    "latency (s)": ("ms", 1000.0),
}
POWER_UNITS = ("watts", "millijoules")
BENCHMARKS = tuple(_BENCHMARKS)
SCENARIOS = _SCENARIOS

_KNOWN = {spelling: name for name, others in _BENCHMARKS.items() for spelling in (name, *others)}
# Longest first: "nvfp4" is not an "fp4" with something before it, and "f8_e4m3" is an fp8.
_FORMATS = re.compile(r"nvfp4|mxfp4|mxfp8|mxfp6|fp64|fp32|fp16|bf16|fp8|fp6|fp4|uint8|uint4|int16|int8|int4|f8|f32|u8")
_SAME = {"f8": "fp8", "f32": "fp32", "u8": "uint8"}


def benchmark_name(text: str) -> str | None:
    """The benchmark that a name stands for; ``None``: none that is known."""
    return _KNOWN.get(_folded(text))


def scenario_name(text: str) -> str | None:
    """The scenario as LoadGen spells it, whatever case the text has; ``None``: there is none of that name."""
    wanted = _folded(text).replace("-", "").replace("_", "").replace(" ", "")
    return next((name for name in _SCENARIOS if name.lower() == wanted), None)


def unit_of(text: str) -> tuple[str, float] | None:
    """(unit, factor): a published number times the factor is in the unit. ``None``: unknown."""
    return _UNITS.get(_folded(text))


def precision_of(text: str) -> str:
    """The number formats that a label names, in its order, each once: ``nvfp4 + fp8``. ``""``: it names none."""
    named: list[str] = _FORMATS.findall(text.lower())
    found = [_SAME.get(each, each) for each in named]
    return " + ".join(dict.fromkeys(found))


def _folded(text: str) -> str:
    return " ".join(text.lower().split())
