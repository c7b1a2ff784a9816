"""Names: what is one thing under several spellings, and what must stay two."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relaymark.published.accelerators import family_of, parts_of
from relaymark.published.accuracy import form_of, read_accuracy
from relaymark.published.names import benchmark_name, precision_of, scenario_name, unit_of
from relaymark.published.own import benchmarks_of

H200 = "NVIDIA H200-SXM-141GB"
MI300, MI355 = "AMD Instinct MI300X 192GB HBM3", "AMD Instinct MI355X 288GB HBM3e"


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("NVIDIA B300-SXM-270GB", "B300"),
        ("Nvidia B300-SXM-270GB", "B300"),
        ("NVIDIA GB300", "GB300"),
        ("NVIDIA GB10", "GB10"),
        ("NVIDIA VR200", "VR200"),
        ("NVIDIA Vera Rubin", "VR200"),
        ("NVIDIA VeraRubin", "VR200"),
        ("Virtualized NVIDIA H200-SXM-141GB", "H200-SXM"),
        ("NVIDIA H200-NVL-141GB", "H200-NVL"),
        ("AMD Instinct MI355X 288GB HBM3e", "MI355X"),
        ("AMD Instinct MI350P", "MI350P"),
        ("NVIDIA RTX PRO 4500 Blackwell Server Edition", "RTX PRO 4500"),
        ("NVIDIA RTX PRO 4500 Blackwell-PCIe-32GB", "RTX PRO 4500"),
        ("NVIDIA RTX-2000E-Ada-16GB", "RTX 2000E Ada"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("NVIDIA L40S", "L40S"),
        ("NVIDIA L4-PCIe-24GB", "L4"),
        ("Intel(R) Arc(TM) Pro B70", "Arc B70"),
        ("Acme Q1", None),
    ],
)
def test_families(name: str, family: str | None) -> None:
    assert family_of(name) == family


@pytest.mark.parametrize(
    ("name", "total", "platform", "parts"),
    [
        (f"{MI300} (x2x8) and {MI355} (x2x8)", 32, "", [("MI300X", 16), ("MI355X", 16)]),
        (f"{MI300} (x32), {MI355} (x16)", 48, "", [("MI300X", 32), ("MI355X", 16)]),
        (f"{H200} + {MI355}", 16, "UCS_H200x8_MI355Xx8_G200_2x2", [("H200-SXM", 8), ("MI355X", 8)]),
        (f"{H200} + {MI355}", 16, "some box", [("H200-SXM", None), ("MI355X", None)]),
        ("NVIDIA H200 (x8) + NVIDIA B200 (x9)", 16, "", [("H200-SXM", None), ("B200", None)]),
        ("NVIDIA H200-SXM-141GB", 8, "", [("H200-SXM", 8)]),
        ("Acme Q1, second stepping", 4, "", [("Acme Q1, second stepping", 4)]),
        ("", None, "", []),
    ],
)  # fmt: skip
def test_parts(name: str, total: int | None, platform: str, parts: list[tuple[str, int | None]]) -> None:
    assert [(part.family, part.count) for part in parts_of(name, total, platform)] == parts


@given(st.text(max_size=60), st.none() | st.integers(0, 10**6), st.text(max_size=40))
def test_parts_of_anything_add_up(name: str, total: int | None, platform: str) -> None:
    counts = [part.count for part in parts_of(name, total, platform)]
    if counts and None not in counts and total is not None:
        assert sum(count or 0 for count in counts) == total


def test_benchmarks_scenarios_units() -> None:
    assert benchmark_name("llama3_1-8b") == benchmark_name("LLAMA3.1-8b") == "llama3.1-8b"
    assert benchmark_name("llama3.1-8b-edge") == "llama3.1-8b-edge"
    assert benchmark_name("edge-agentic") == benchmark_name("agentic edge") == "qwen3.6-27b"
    assert benchmark_name("llama2-70b-99") != benchmark_name("llama2-70b-99.9")
    assert benchmark_name("llama") is None
    assert scenario_name("singlestream") == scenario_name("Single-Stream") == "SingleStream"
    assert scenario_name("stream") is None
    assert unit_of("Latency (s)") == ("ms", 1000.0)
    assert unit_of("Latency") is None


@pytest.mark.parametrize(
    ("label", "precision"),
    [
        ("fp4", "fp4"),
        ("MXFP4", "mxfp4"),
        ("NVFP4 weights and activations; FP8 KV cache", "nvfp4 + fp8"),
        ("nvfp4 (E2M1 4-bit + FP8 block scales), GDN included", "nvfp4 + fp8"),
        ("BF16/F32/F8_E4M3/U8", "bf16 + fp32 + fp8 + uint8"),
        ("{'clip1': 'fp32', 'unet': 'fp8'}", "fp32 + fp8"),
        ("INT8", "int8"),
        ("UNSET", ""),
    ],
)
def test_precision(label: str, precision: str) -> None:
    assert precision_of(label) == precision


def test_accuracies() -> None:
    assert read_accuracy("exact_match: 80.7  TOKENS_PER_SAMPLE: 3898.4") == {
        "exact_match": 80.7,
        "TOKENS_PER_SAMPLE": 3898.4,
    }
    assert read_accuracy("rouge1: 38.6 gen_len: 99") == {"ROUGE1": 38.6, "GEN_LEN": 99}
    assert read_accuracy("0.7028") == {"accuracy": 0.7028}
    assert read_accuracy("nothing here") == {}
    assert form_of(read_accuracy("0.7028")) != form_of(read_accuracy("80.6"))
    assert form_of(read_accuracy("rouge1: 38.6")) == form_of(read_accuracy("ROUGE1: 38.9  GEN_LEN: 5"))
    assert form_of({}) == "absent"


@given(st.text(max_size=80))
def test_any_accuracy_can_be_read(text: str) -> None:
    assert all(isinstance(value, float) for value in read_accuracy(text).values())


@pytest.mark.parametrize(
    ("model", "benchmarks"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", ("llama3.1-8b",)),
        ("RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8", ("llama3.1-8b",)),
        ("/models/Llama-3.1-405B-Instruct/", ("llama3.1-405b",)),
        ("meta-llama/Llama-2-70b-chat-hf", ("llama2-70b-99", "llama2-70b-99.9")),
        ("openai/gpt-oss-120b", ("gpt-oss-120b",)),
        ("deepseek-ai/DeepSeek-R1", ("deepseek-r1",)),
        ("deepseek-ai/DeepSeek-R1-Distill-Llama-8B", ()),
        ("openai/gpt-oss-20b", ()),
        ("meta-llama/Llama-3.1-70B-Instruct", ()),
        ("my-llama", ()),
        ("", ()),
    ],
)
def test_the_benchmark_of_a_served_model(model: str, benchmarks: tuple[str, ...]) -> None:
    assert benchmarks_of(model) == benchmarks
