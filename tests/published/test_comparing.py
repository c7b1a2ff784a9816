"""Like for like: what is named, what is refused, which way a ratio goes. Worlds are made, answers known."""

from __future__ import annotations

import pytest

from relaymark.errors import ConfigError
from relaymark.published import Row, best_by_round, chains, compare, pair, partners, same_hardware, select, unequal
from relaymark.published.rounds import round_order

from .making import made, several


def told(a: Row, b: Row) -> dict[str, bool]:
    return {each.what: each.refuses for each in unequal(a, b)}


@pytest.mark.parametrize(
    ("changed", "what", "refuses"),
    [
        ({"benchmark": "deepseek-r1", "model": "deepseek-r1"}, "benchmark", True),
        ({"model": "another-model"}, "model", True),
        ({"scenario": "Server"}, "scenario", True),
        ({"division": "open"}, "division", True),
        ({"units": "Samples/s"}, "unit", True),
        ({"total": 16}, "scale", False),
        ({"nodes": 2}, "scale", False),
        ({"accelerator": "NVIDIA B200"}, "accelerator", False),
        ({"accelerator": "NVIDIA H200-SXM-96GB"}, "accelerator's label", False),
        ({"availability": "preview"}, "availability", False),
        ({"weights": "fp4"}, "precision", False),
        ({"accuracy": "exact_match: 80.0"}, "accuracy", False),
        ({"accuracy": "83.1"}, "accuracy", False),
        ({"accuracy": ""}, "accuracy", False),
        ({"organization": "Borealis"}, "submitter", False),
        ({"framework": "vLLM 2"}, "framework", False),
        ({"category": "edge"}, "category", False),
        ({"inferred": 1}, "measured", False),
    ],
)
def test_each_difference_is_named_alone(changed: dict[str, object], what: str, refuses: bool) -> None:
    a, b = made(2), made(3, **changed)
    found = told(a, b)
    assert found == {what: refuses}
    assert compare(a, b).ratio == (None if refuses else 1.0)
    assert told(b, a) == found


@pytest.mark.parametrize(
    ("fields", "scale"),
    [
        ({}, "8 × H200-SXM"),
        ({"total": ""}, "? × H200-SXM"),
        ({"accelerator": "", "total": "", "processor": "Some CPU"}, "Some CPU"),
        ({"notes": "(2 GPUs used)"}, "8 × H200-SXM (2 used)"),
        ({"accelerator": "NVIDIA H200 (x4) + NVIDIA B200 (x4)"}, "4 × H200-SXM + 4 × B200"),
        ({"accelerator": "NVIDIA H200 + NVIDIA B200"}, "8 × H200-SXM + B200"),
    ],
)
def test_scale_in_words(fields: dict[str, object], scale: str) -> None:
    assert made(**fields).scale == scale


def test_what_is_alike_is_not_named() -> None:
    assert told(made(2), made(3)) == {}
    assert told(made(2, "v1.0"), made(2, "v2.0")) == {"date": False}
    # spellings and noise are no differences
    assert told(made(accelerator="NVIDIA  H200-SXM-141GB"), made(accelerator="Nvidia H200-SXM-141GB")) == {}
    assert told(made(accuracy="exact_match: 83.1"), made(accuracy="exact_match: 83.12")) == {}
    # processors are only compared where both tables tell them
    assert told(made(processor="X"), made()) == {}
    assert told(made(processor="X"), made(processor="Y")) == {"processor": False}


def test_work_of_another_length_is_named() -> None:
    a, b = (
        made(accuracy="exact_match: 83 TOKENS_PER_SAMPLE: 100"),
        made(accuracy="exact_match: 83 TOKENS_PER_SAMPLE: 110"),
    )
    assert told(a, b) == {"tokens a sample": False}


def test_a_ratio_says_how_much_better_b_is() -> None:
    assert compare(made(result=100), made(result=250)).ratio == 2.5
    slow, fast = made(result=100, units="Latency (ms)"), made(result=40, units="Latency (ms)")
    assert compare(slow, fast).ratio == 2.5
    seconds = made(result="0.04", units="Latency (s)")
    assert compare(slow, seconds).ratio == pytest.approx(2.5)
    assert compare(made(result=100, total=4), made(result=100), "accelerator").ratio == 0.5
    assert compare(made(result=100, nodes=1), made(result=100, nodes=4), "node").ratio == 0.25


def test_anyway_gives_what_exists_and_keeps_saying_why_not() -> None:
    found = compare(made(result=100), made(result=200, division="open"), anyway=True)
    assert found.ratio == 2
    assert found.refused == ["the division differs: closed / open"]
    assert compare(made(), made(units="Samples/s"), anyway=True).ratio is None


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"result": "none"}, "no positive number"),
        ({"total": ""}, "does not tell how many"),
        ({"accelerator": "", "total": ""}, "has no accelerator"),
        ({"notes": "no accelerator used"}, "used none"),
    ],
)
def test_there_is_no_figure_per_accelerator(fields: dict[str, object], why: str) -> None:
    found = compare(made(2), made(3, **fields), "accelerator", anyway=True)
    assert found.ratio is None
    assert why in found.refused[-1]


def test_a_latency_is_not_divided() -> None:
    found = compare(made(units="Latency (ms)"), made(units="Latency (ms)"), "accelerator")
    assert found.ratio is None
    assert "not divided" in found.refused[0]


def test_open_rows_say_that_the_model_may_be_another() -> None:
    a, b = made(division="open"), made(3, division="open", result=2001)
    assert told(a, b) == {"model": False}
    assert compare(a, b).ratio == 2


def test_tables_never_mix_what_cannot_be_ranked() -> None:
    rows = several(
        {}, {"scenario": "Server"}, {"division": "open"}, {"units": "Samples/s"}, {"result": "?"}, {"result": 9000}
    )
    tables = select(rows)
    assert [len(table.rows) for table in tables] == [1, 3, 1, 1]
    best = next(table for table in tables if len(table.rows) == 3)
    assert [row.record for row in best.rows] == [7, 2, 6]
    latencies = select(several({"result": 5}, {"result": 3}, {"result": 4}, units="Latency (ms)"))
    assert [row.value for row in latencies[0].rows] == [3, 4, 5]
    assert dict(select(several({}, {"weights": "fp4"}))[0].unlike) == {"precision": ["fp8", "fp4"]}


def test_pairs_of_rows_and_of_systems() -> None:
    rows = [
        *several({"platform": "A", "scenario": "Offline"}, {"platform": "A", "scenario": "Server"}),
        *several({"platform": "B"}, {"platform": "B", "scenario": "Interactive"}, organization="Borealis", result=2001),
    ]
    rows = [
        made(n, platform=r.platform, scenario=r.scenario, organization=r.organization, result=r.result_raw)
        for n, r in enumerate(rows, 2)
    ]
    (one,) = pair(rows, "v9.9:2", "v9.9:4")
    assert one.ratio == 2
    (shared,) = pair(rows, "acme/A", "v9.9:Borealis/b")
    assert (shared.a.scenario, shared.ratio) == ("Offline", 2)
    (mixed,) = pair(rows, "acme/A", "v9.9:4")
    assert mixed.a.record == 2
    for a, b, says in (
        ("v9.9:99", "v9.9:2", "no row or system"),
        ("Acme", "v9.9:2", "no row or system"),
        ("acme/A", "v9.9:5", "in common"),
    ):
        with pytest.raises(ConfigError, match=says):
            pair(rows, a, b)


def test_rounds_are_ordered_by_number() -> None:
    assert sorted(["v10.0", "v5.1", "v6.0", "v6.1"], key=round_order) == ["v5.1", "v6.0", "v6.1", "v10.0"]


def test_round_over_round() -> None:
    rows = [
        made(2, "v1.0", result=800), made(3, "v1.0", result=880), made(4, "v1.0", result=99999, division="open"),
        made(2, "v1.1", result=1600, total=16),
        made(2, "v2.0", result=3520, organization="Borealis"), made(3, "v2.0", result=960),
        made(4, "v2.0", result=5, total=0),
    ]  # fmt: skip
    steps = best_by_round(rows)
    assert [(step.comparison.a.id, step.comparison.b.id, step.of) for step in steps] == [
        ("v1.0:3", "v1.1:2", (2, 1)), ("v1.1:2", "v2.0:2", (1, 2))
    ]  # fmt: skip
    assert [step.comparison.ratio for step in steps] == [pytest.approx(100 / 110), pytest.approx(4.4)]
    (same,) = same_hardware(rows, "acme h200")
    # the open row is no base for a closed one while there is a closed one; 16 are not the same hardware
    assert (same.comparison.a.id, same.comparison.b.id, same.comparison.ratio) == (
        "v1.0:3",
        "v2.0:3",
        pytest.approx(960 / 880),
    )


def test_scaling_of_one_submitter_and_beyond() -> None:
    rows = several(
        {"total": 8, "result": 800}, {"total": 8, "result": 700, "platform": "older"}, {"total": 64, "result": 5120},
        {"total": 512, "result": 20480, "organization": "Borealis", "weights": "fp4"},
        {"total": 8, "result": 790, "organization": "Borealis", "scenario": "Server"},
        {"total": 4, "result": 10, "organization": "Cassini", "division": "open"},
        {"total": 16, "result": 10, "units": "Latency (ms)"},
    )  # fmt: skip
    (chain,) = chains(rows)
    assert (chain.submitter, chain.family) == ("Acme", "H200-SXM")
    first, second, third = chain.points
    assert (first.size, first.of, first.rate, first.step) == (8, 2, 100, None)
    assert (second.efficiency, second.step, second.foreign) == (0.8, 0.8, False)
    assert (third.efficiency, third.step, third.foreign) == (0.4, 0.5, True)
    assert [each.what for each in third.unlike] == ["precision", "submitter"]
    assert chains(rows, "h200-sxm") == [chain]
    assert chains(rows, "B200") == []


def test_sizes_of_which_each_is_anothers_are_one_chain_of_nobody() -> None:
    (chain,) = chains(several({"total": 8, "result": 80}, {"total": 16, "result": 120, "organization": "Borealis"}))
    assert chain.submitter == ""
    assert [point.foreign for point in chain.points] == [False, True]
    assert chain.points[1].efficiency == 0.75


def test_partners_are_of_one_configuration() -> None:
    rows = several(
        {"result": 100}, {"result": 80, "organization": "Borealis"},
        {"result": 90, "organization": "Cassini", "weights": "fp4"},
        {"result": 500, "organization": "Delos", "total": 16},
        {"result": 1, "organization": "Elara", "division": "open"},
        {"result": 500, "organization": "Fornax", "accelerator": "NVIDIA GB200"},
    )  # fmt: skip
    (spread,) = partners(rows, "H200-SXM", 8)
    assert [row.value for row in spread.rows] == [100, 90, 80]
    assert (spread.submitters, spread.median, spread.spread) == (3, 90, 1.25)
    assert dict(spread.unlike)["precision"] == ["fp8", "fp4"]
    assert partners(rows, "H200-SXM", 16) == []


def test_part_of_a_name_does_not_find_another_chip() -> None:
    rows = several({"accelerator": "NVIDIA GB300"}, {"accelerator": "NVIDIA GB300", "organization": "Borealis"})
    assert partners(rows, "B300", 8) == []
    assert len(partners(rows, "gb300", 8)) == 1
