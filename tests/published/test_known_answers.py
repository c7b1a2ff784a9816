"""The real rounds: figures that were worked out by hand before there was a program."""

from __future__ import annotations

import csv
import json
from collections import Counter

import pytest

from relaymark.published import (
    Comparison,
    Row,
    best_by_round,
    chains,
    compare,
    find_anomalies,
    partners,
    same_hardware,
    select,
)
from relaymark.published.scaling import Chain

from .conftest import V51, V61


def of(rows: list[Row], benchmark: str, scenario: str) -> list[Row]:
    return [row for row in rows if row.key == (benchmark, scenario)]


def differences(found: Comparison) -> dict[str, tuple[str, str]]:
    return {each.what: (each.a, each.b) for each in found.differences}


def chain(rows: list[Row], family: str, benchmark: str, scenario: str, submitter: str) -> Chain:
    found = chains(of(rows, benchmark, scenario), family)
    (one,) = [each for each in found if each.submitter == submitter and each.round == "v6.1"]
    return one


def by_id(rows: list[Row], name: str) -> Row:
    return next(row for row in rows if row.id == name)


def test_every_row_is_kept_and_says_what_the_file_says(v61: list[Row], v51: list[Row]) -> None:
    assert (len(v61), len(v51)) == (492, 1448)
    with V61.open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    told = [(r.organization, r.result_raw, r.units_raw, r.accuracy_raw, r.precision_raw) for r in v61]
    assert told == [(r["organization"], r["result"], r["units"], r["accuracy"], r["weight_data_types"]) for r in table]
    official = json.loads(V51.read_text(encoding="utf-8"), parse_float=str)
    assert [r.result_raw for r in v51] == [r["Performance_Result"] for r in official]
    totals = [int(r["a#"] or 0) * int(r["Nodes"]) for r in official]
    named = [total for total, r in zip(totals, official, strict=True) if r["a#"]]
    assert [r.accelerators for r in v51 if r.accelerators] == named


def test_spellings_are_merged(v61: list[Row], v51: list[Row]) -> None:
    counts = Counter(row.benchmark for row in v61)
    assert counts["llama3.1-8b"] == 53 + 24
    assert counts["resnet50"] == 2
    assert Counter(row.scenario for row in v61) == {
        "Offline": 239, "Server": 178, "Interactive": 43, "SingleStream": 27, "MultiStream": 5
    }  # fmt: skip
    assert Counter(row.unit for row in v61) == {
        "tokens/s": 354, "samples/s": 74, "queries/s": 31, "ms": 32, "tasks/s": 1
    }  # fmt: skip
    assert sum(row.accelerators == 0 for row in v61) == 33
    assert sum(row.power is not None for row in v51) == 24
    # wan's latencies are published in seconds, all others in milliseconds
    (wan,) = [row for row in v61 if row.result_raw == "20.603024726"]
    assert (wan.value, wan.unit) == (pytest.approx(20603.024726), "ms")
    assert (
        len({row.accelerator for row in v61 if "B300" in row.accelerator_raw.upper() and "G" not in row.accelerator})
        == 1
    )


@pytest.mark.parametrize(
    ("benchmark", "scenario", "before", "after", "ratio"),
    [
        ("deepseek-r1", "Server", ("NVIDIA", "GB300", 72, 2907.3), ("Nebius", "VR200", 36, 16426.9), 5.65),
        ("deepseek-r1", "Offline", ("CoreWeave", "GB300", 8, 6005.9), ("NVIDIA", "VR200", 72, 16435.1), 2.74),
        ("llama2-70b-99.9", "Offline", ("NVIDIA", "GB200", 4, 12934.2), ("Oracle", "GB300", 8, 16531.6), 1.28),
    ],
)
def test_best_per_accelerator(
    both: list[Row],
    benchmark: str,
    scenario: str,
    before: tuple[str, str, int, float],
    after: tuple[str, str, int, float],
    ratio: float,
) -> None:
    (step,) = best_by_round(of(both, benchmark, scenario))
    found = step.comparison
    for row, (who, family, count, figure) in ((found.a, before), (found.b, after)):
        assert (row.organization, row.accelerator, row.accelerators) == (who, family, count)
        assert row.per("accelerator") == pytest.approx(figure, abs=0.05)
    assert found.ratio == pytest.approx(ratio, abs=0.005)
    told = differences(found)
    assert told["scale"][0].startswith(f"{before[2]} accelerators")
    assert told["accelerator"] == (before[1], after[1])


def test_the_record_compares_an_available_system_with_a_preview(both: list[Row]) -> None:
    (step,) = best_by_round(of(both, "deepseek-r1", "Server"))
    assert differences(step.comparison)["availability"] == ("available", "preview")
    # like for like there is less: among available systems
    (fair,) = best_by_round([row for row in of(both, "deepseek-r1", "Server") if row.availability == "available"])
    assert "availability" not in differences(fair.comparison)
    assert fair.comparison.ratio == pytest.approx(8846.46 / 2907.33, abs=0.01)


def test_the_same_hardware_in_both_rounds(both: list[Row]) -> None:
    steps = {step.comparison.a.key: step.comparison for step in same_hardware(both, "NVIDIA GB300-NVL72")}
    server, offline = steps["deepseek-r1", "Server"], steps["deepseek-r1", "Offline"]
    assert (server.a.value, server.b.value) == (209328, 596944)
    assert (offline.a.value, offline.b.value) == (420659, 679740)
    assert (server.ratio, offline.ratio) == (pytest.approx(2.85, abs=0.005), pytest.approx(1.62, abs=0.005))
    assert {"scale", "accelerator", "availability", "precision"}.isdisjoint(differences(server))
    assert "framework" in differences(server)


def test_amds_two_rounds_are_of_different_divisions(both: list[Row]) -> None:
    llama = of(both, "llama2-70b-99.9", "Offline")
    (step,) = same_hardware(llama, "AMD 8xMI355X")
    found = step.comparison
    assert (found.a.value, found.b.value) == (93045.8, 106517)
    assert found.ratio is None
    assert differences(found)["division"] == ("open", "closed")
    (anyway,) = same_hardware(llama, "AMD 8xMI355X", anyway=True)
    assert anyway.comparison.ratio == pytest.approx(1.14, abs=0.005)
    assert anyway.comparison.refused


@pytest.mark.parametrize(
    ("family", "submitter", "scenario", "step"),
    [
        ("GB300", "NVIDIA", "Offline", 99.5),
        ("GB300", "NVIDIA", "Server", 84.9),
        ("GB200", "Azure", "Offline", 96.4),
        ("GB200", "Azure", "Server", 93.6),
    ],
)
def test_from_72_to_288(both: list[Row], family: str, submitter: str, scenario: str, step: float) -> None:
    found = chain(both, family, "deepseek-r1", scenario, submitter)
    before, after = found.points[-2:]
    assert (before.size, after.size) == (72, 288)
    assert after.step is not None
    assert 100 * after.step == pytest.approx(step, abs=0.05)
    assert not after.foreign


def test_mi355x_from_8_over_72_to_512(both: list[Row]) -> None:
    found = chain(both, "MI355X", "gpt-oss-120b", "Offline", "AMD")
    assert [point.size for point in found.points] == [8, 72, 512]
    assert [100 * point.efficiency for point in found.points] == [
        100,
        pytest.approx(94.9, abs=0.05),
        pytest.approx(73.7, abs=0.05),
    ]
    last = found.points[-1]
    assert last.foreign
    told = {each.what: (each.a, each.b) for each in last.unlike}
    assert told["submitter"] == ("AMD", "Crusoe")
    assert told["precision"] == ("fp4", "mxfp4")
    assert not found.points[1].foreign


def test_a_mixed_system_below_half_of_it(v61: list[Row]) -> None:
    slower = {tuple(row.id for row in each.rows): each for each in find_anomalies(v61, ["bigger-slower"])}
    found = slower["v6.1:62", "v6.1:269"]
    bigger, smaller = found.rows
    assert (bigger.organization, bigger.accelerators, bigger.value) == ("Cisco", 16, 94249.3)
    assert [(part.family, part.count) for part in bigger.parts] == [("H200-SXM", 8), ("MI350X", 8)]
    assert (smaller.organization, smaller.accelerators, round(smaller.value or 0)) == ("MiTAC", 8, 97020)
    assert "94,249.3" in found.arithmetic


def test_edge_agentic(v61: list[Row]) -> None:
    rows = [row for row in v61 if row.benchmark == "qwen3.6-27b"]
    assert len(rows) == 6
    (open_row,) = [row for row in rows if row.division == "open"]
    assert open_row.organization == "Lambda"
    assert "model-other" in open_row.flags
    assert "Kimi" in open_row.model
    closed = next(row for row in rows if row.division == "closed")
    found = compare(closed, open_row)
    assert found.ratio is None
    assert {"model", "division"} <= {each.what for each in found.differences if each.refuses}
    assert [len(table.rows) for table in select(rows)] == [5, 1]


def test_the_database_build_used_none_of_its_accelerators(v61: list[Row]) -> None:
    (row,) = [row for row in v61 if row.benchmark == "e2e-rag-db"]
    assert (row.accelerators, row.used, row.per("accelerator")) == (4, 0, None)
    (found,) = find_anomalies(v61, ["idle-accelerators"])
    assert found.rows == [row]
    (answering,) = [row for row in v61 if row.benchmark == "e2e-rag-qna"]
    assert answering.used == 4


def test_other_oddities_that_readers_found(v61: list[Row]) -> None:
    found = find_anomalies(v61)
    super_linear = [each for each in found if each.kind == "super-linear"]
    assert any("Oracle" in each.says and "160.5 %" in each.arithmetic for each in super_linear)
    assert any("Crusoe" in each.says and "249.4 %" in each.arithmetic for each in super_linear)
    (scales,) = [each for each in found if each.kind == "accuracy-scales" and "wan" in each.says]
    assert "18 rows" in scales.arithmetic
    assert "12 rows" in scales.arithmetic
    repeated = [each for each in found if each.kind == "repeated-result"]
    assert any({row.benchmark for row in each.rows} == {"yolo-95", "yolo-99"} for each in repeated)
    parts = [each for each in found if each.kind == "below-its-parts"]
    assert {each.rows[0].id for each in parts} == {"v6.1:165", "v6.1:166"}
    above = [each for each in found if each.kind == "server-above-offline"]
    assert any(each.rows[0].organization == "Nebius" and "1.058" in each.arithmetic for each in above)


def test_partners(v61: list[Row]) -> None:
    spreads = {
        (each.benchmark, each.scenario): each for each in partners(v61, "MI355X", 8) if each.division == "closed"
    }
    offline = spreads["gpt-oss-120b", "Offline"]
    assert (offline.submitters, len(offline.rows)) == (7, 8)
    assert offline.rows[0].value == 121818
    assert offline.spread == pytest.approx(121818 / 115294)
    assert dict(offline.unlike)["precision"] == ["fp4", "fp8"]


def test_a_system_copied_under_another_name(v51: list[Row]) -> None:
    first = find_anomalies(v51, ["repeated-result"])[0]
    assert first.says.startswith("243 results stand in rows of 2 systems")
    assert by_id(v51, "v5.1:618").value == by_id(v51, "v5.1:1036").value
