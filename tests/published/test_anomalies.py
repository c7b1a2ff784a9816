"""Anomalies in made-up rounds: each kind is found where it was put, and not where it was not."""

from __future__ import annotations

from typing import Any

import pytest

from relaymark.published import KINDS, Finding, Row, find_anomalies
from relaymark.published.anomalies.repeats import significant_digits

from .making import several

MI355, MI300 = "AMD Instinct MI355X", "AMD Instinct MI300X"


def found(rows: list[Row], kind: str) -> list[Finding]:
    every = find_anomalies(rows)
    assert [each for each in every if each.kind == kind] == find_anomalies(rows, [kind])
    return [each for each in every if each.kind == kind]


def test_an_ordinary_round_has_none() -> None:
    rows = several(
        {"result": 1234.5, "accuracy": "exact_match: 83.1"},
        {"result": 2411.25, "total": 16, "nodes": 2, "accuracy": "exact_match: 83.2"},
        {"result": 1189.75, "scenario": "Server", "accuracy": "exact_match: 83.3"},
    )
    assert find_anomalies(rows) == []


def test_super_linear() -> None:
    rows = several({"result": 100, "total": 4}, {"result": 230, "total": 8}, {"result": 462, "total": 16})
    (one,) = found(rows, "super-linear")
    assert [row.record for row in one.rows] == [2, 3]
    assert "230 / 8 = 28.75" in one.arithmetic
    assert "115.0 %" in one.arithmetic
    # another submitter's larger system is no scaling
    assert found(several({"result": 100}, {"result": 900, "total": 16, "organization": "B"}), "super-linear") == []


def test_repeated_results() -> None:
    rows = several(
        {"result": 123.456}, {"result": 123.456, "organization": "Borealis"}, {"result": 777.25, "platform": "copy"},
        {"result": 777.25, "platform": "copy", "benchmark": "llama2-70b-99", "model": "llama2-70b-99"},
        {"result": 500, "platform": "x"}, {"result": 500, "platform": "y"},
        {"result": 123.456, "units": "Samples/s", "platform": "z"},
    )  # fmt: skip
    across, within = found(rows, "repeated-result")
    assert [row.record for row in across.rows] == [2, 3]
    assert "2 systems" in across.says
    assert [row.record for row in within.rows] == [4, 5]
    assert "llama2-70b-99" in within.says


def test_systems_that_share_many_results_are_one_finding() -> None:
    pairs = [
        {"result": f"{100 + n}.125", "platform": who, "scenario": kind}
        for n, kind in enumerate(("Offline", "Server", "Interactive"))
        for who in "ab"
    ]
    (one,) = found(several(*pairs), "repeated-result")
    assert one.says.startswith("3 results stand in rows of 2 systems")
    assert len(one.rows) == 6


@pytest.mark.parametrize(("text", "digits"), [("111247.0", 6), ("500", 1), ("0.0012340", 4), ("1.5e3", 2), ("0", 0)])
def test_significant_digits(text: str, digits: int) -> None:
    assert significant_digits(text) == digits


def test_repeated_accuracies() -> None:
    same: dict[str, Any] = {"accuracy": "exact_match: 83.12345"}
    rows = several(same, {**same, "scenario": "Server", "result": 900}, {**same, "platform": "other", "result": 800})
    (one,) = found(rows, "repeated-accuracy")
    assert [row.record for row in one.rows] == [2, 3]


def test_accuracies_on_two_scales() -> None:
    rows = several({"accuracy": "score: 70.5"}, {"accuracy": "score: 70.6"}, {"accuracy": "0.706"}, {"accuracy": ""})
    (one,) = found(rows, "accuracy-scales")
    assert [row.record for row in one.rows] == [2, 4]
    assert "score: 2 rows" in one.arithmetic
    assert "bare share (0 to 1): 1 row" in one.arithmetic


def test_idle_accelerators() -> None:
    (one,) = found(
        several({"notes": "no accelerator used"}, {"notes": "(2 GPUs used)"}, {"notes": "(8 GPUs used)"})[:1],
        "idle-accelerators",
    )
    assert "lists 8 accelerators and used none" in one.says
    found_ = found(
        several({"notes": "(2 GPUs used)"}, {"notes": "(8 GPUs used)", "platform": "b"}), "idle-accelerators"
    )
    assert [(each.rows[0].record, each.size) for each in found_] == [(2, 6)]


def test_bigger_but_slower() -> None:
    mixed = f"{MI355} (x8) + {MI300} (x8)"
    rows = several(
        {"accelerator": mixed, "total": 16, "nodes": 2, "result": 900, "organization": "Mixer"},
        {"accelerator": MI355, "result": 1000}, {"accelerator": MI300, "result": 300},
        {"accelerator": MI355, "total": 16, "result": 950, "organization": "Borealis"},
        {"accelerator": "NVIDIA B200", "result": 5000},
        {"accelerator": MI355, "total": 4, "result": 2000, "division": "open"},
        {"accelerator": MI355, "total": 32, "result": 9000, "units": "Latency (ms)"},
    )  # fmt: skip
    slower = found(rows, "bigger-slower")
    assert [[row.record for row in each.rows] for each in slower] == [[2, 3], [5, 3]]
    assert "900 tokens/s of 16 / 1,000 of 8 = 90.0 %" in slower[0].arithmetic


def test_below_the_sum_of_its_parts() -> None:
    mixed = f"{MI355} (x2x8) + {MI300} (x8)"
    rows = several(
        {"accelerator": mixed, "total": 24, "nodes": 3, "result": 2000.0, "organization": "Dell_Mixer"},
        {"accelerator": MI355, "result": 900, "organization": "Mixer"},
        {"accelerator": MI355, "result": 1000, "organization": "Mixer", "platform": "better"},
        {"accelerator": MI300, "result": 300, "organization": "Dell"},
        {"accelerator": MI300, "result": 999, "organization": "Stranger"},
    )  # fmt: skip
    (one,) = found(rows, "below-its-parts")
    # the weakest of the related rows: 2 × 900 + 300; the best: 2 × 1000 + 300; strangers only where nobody else is
    assert "2 × 900 + 1 × 300 = 2,100) = 95.2 %; with the best rows 2,300: 87.0 %" in one.arithmetic
    assert [row.record for row in one.rows] == [2, 3, 5]
    # single accelerators are no node of eight
    single = several(
        {"accelerator": mixed, "total": 24, "nodes": 3},
        {"accelerator": MI355, "total": 1},
        {"accelerator": MI300, "total": 1},
    )
    assert found(single, "below-its-parts") == []
    above = several(
        {"accelerator": mixed, "total": 24, "nodes": 3, "result": 3000},
        {"accelerator": MI355},
        {"accelerator": MI300, "result": 900},
    )
    assert found(above, "below-its-parts") == []


def test_server_above_offline() -> None:
    rows = several({"result": 1000}, {"result": 1100, "scenario": "Server"}, {"result": 900, "scenario": "Interactive"})
    (one,) = found(rows, "server-above-offline")
    assert "1.100" in one.arithmetic
    other = several({"result": 1000}, {"result": 1100, "scenario": "Server", "units": "Queries/s"})
    assert found(other, "server-above-offline") == []


def test_kinds_come_in_order_the_largest_first() -> None:
    rows = several(*({"result": result, "total": total, "organization": who} for who, result, total in [
        ("A", 100, 4), ("A", 220, 8), ("B", 101, 4), ("B", 303, 8)
    ]))  # fmt: skip
    every = find_anomalies(rows)
    assert [each.kind for each in every] == sorted((each.kind for each in every), key=list(KINDS).index)
    sizes = [each.size for each in every if each.kind == "super-linear"]
    assert sizes == sorted(sizes, reverse=True)
