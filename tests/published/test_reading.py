"""Files as they come: official formats, odd records, hostile text. Nothing is dropped, nothing guessed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relaymark.errors import ConfigError
from relaymark.published import FLAGS, add_source, read_published, read_rows
from relaymark.published.normalise import normalise
from relaymark.published.sample import sample_file

from .making import ALIKE

# Columns of the official table, in its order (summary.csv of v6.1).
OFFICIAL = [
    "Organization",
    "Availability",
    "Division",
    "SystemType",
    "SystemName",
    "Platform",
    "Model",
    "MlperfModel",
    "Scenario",
    "Result",
    "Accuracy",
    "number_of_nodes",
    "host_processor_model_name",
    "host_processors_per_node",
    "host_processor_core_count",
    "accelerator_model_name",
    "accelerators_per_node",
    "total_accelerators",
    "Location",
    "framework",
    "operating_system",
    "notes",
    "compliance",
    "errors",
    "version",
    "inferred",
    "has_power",
    "Units",
    "weight_data_types",
    "design_power_watts",
    "PrivateID",
]
# Notes belong to a system and stand on each of its rows.
NOTES = "e2e-rag-qna: a model on 4 chips. e2e-rag-db: CPU-only vector-database build, no accelerator used."


def record(**changed: str) -> dict[str, str]:
    values = dict.fromkeys(OFFICIAL, "") | {
        "Organization": "Acme", "Availability": "available", "Division": "closed", "SystemType": "datacenter",
        "SystemName": "Acme One", "Platform": "one", "Model": "llama3_1-8b", "MlperfModel": "llama3.1-8b",
        "Scenario": "Offline", "Result": "1500.25", "Units": "Tokens/s", "Accuracy": "ROUGE1: 38.6  ROUGE2: 15.9",
        "number_of_nodes": "2", "host_processor_model_name": "Some CPU", "accelerator_model_name": "NVIDIA GB200",
        "accelerators_per_node": "4", "total_accelerators": "8", "framework": "vLLM 1", "version": "v6.1",
        "inferred": "0", "has_power": "False", "weight_data_types": "nvfp4, FP8 (KV cache)",
    }  # fmt: skip
    return values | changed


def official_csv(path: Path, *records: dict[str, str]) -> Path:
    """As the official exporter writes it: every cell in quotation marks, none inside escaped."""
    lines = [",".join(OFFICIAL)] + [",".join(f'"{each[name]}"' for name in OFFICIAL) for each in records]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def table(path: Path, *records: dict[str, str]) -> Path:
    heads = list(records[0])
    path.write_text("\n".join("\t".join(row) for row in [heads, *([r[h] for h in heads] for r in records)]) + "\n")
    return path


PLAIN = {
    "organization": "Acme", "availability": "available", "division": "closed", "platform": "one",
    "model": "gpt-oss-120b", "benchmark": "gpt-oss-120b", "scenario": "Offline", "result": "1000.5",
    "units": "Tokens/s", "accuracy": "exact_match: 83", "nodes": "1", "accelerator": "NVIDIA H200-SXM-141GB",
    "total_accelerators": "8", "framework": "vLLM", "weight_data_types": "fp8", "has_power": "False",
}  # fmt: skip


def test_the_official_csv(tmp_path: Path) -> None:
    source = read_published(official_csv(tmp_path / "summary.csv", record()))
    (row,) = source.rows
    assert (source.kind, source.round_from, row.id) == ("summary.csv", "column", "v6.1:2")
    assert (row.benchmark, row.model, row.scenario, row.value, row.unit) == (
        "llama3.1-8b", "llama3.1-8b", "Offline", 1500.25, "tokens/s"
    )  # fmt: skip
    assert (row.accelerator, row.accelerators, row.nodes, row.per("node")) == ("GB200", 8, 2, 750.125)
    assert (row.precision, row.accuracy) == ("nvfp4 + fp8", {"ROUGE1": 38.6, "ROUGE2": 15.9})
    assert row.flags == ["benchmark-spelling"]


def test_a_note_is_only_about_the_benchmark_it_names(tmp_path: Path) -> None:
    asking = record(Model="e2e-rag-qna", MlperfModel="end to end question-answering", notes=NOTES, Units="Tasks/s")
    building = record(Model="e2e-rag-db", MlperfModel="end to end vector-database", notes=NOTES, Units="Samples/s")
    plain = record(
        notes="4xH100 system (1 GPU used). More words.",
        accelerators_per_node="4",
        number_of_nodes="1",
        total_accelerators="4",
    )
    whole = record(notes="Note: one node of 8 GPUs used in each replica", Platform="two")
    rows = read_published(official_csv(tmp_path / "summary.csv", asking, building, plain, whole)).rows
    assert [row.used for row in rows] == [8, 0, 1, 8]
    assert [row.accelerators_used for row in rows] == [None, 0, 1, None]


def test_quotation_marks_the_exporter_does_not_escape(tmp_path: Path) -> None:
    path = official_csv(tmp_path / "summary.csv", record(notes='a "big", "fast" box'), record(Platform="two"))
    first, second = read_published(path).rows
    assert first.notes == 'a "big", "fast" box'
    assert "quotes-unescaped" in first.flags
    assert "quotes-unescaped" not in second.flags
    assert (first.value, second.value, second.platform) == (1500.25, 1500.25, "two")
    assert first.round == "v6.1"


def test_a_power_row_is_no_result(tmp_path: Path) -> None:
    path = official_csv(
        tmp_path / "summary.csv", record(has_power="True"), record(has_power="True", Result="912.5", Units="Watts")
    )
    result, power = read_published(path).rows
    assert (result.value, result.has_power) == (1500.25, True)
    assert (power.value, power.power, power.flags[-1]) == (None, 912.5, "power-row")
    assert "duplicate" not in (*result.flags, *power.flags)


def test_odd_records_are_kept_and_flagged(tmp_path: Path) -> None:
    odd = [
        PLAIN | {"result": "n/a"},
        PLAIN | {"result": "-5", "platform": "two"},
        PLAIN | {"units": "Parsecs", "platform": "three"},
        PLAIN | {"benchmark": "new-thing", "model": "new-thing", "platform": "four"},
        PLAIN | {"scenario": "Sideways", "platform": "five"},
        PLAIN | {"total_accelerators": "", "platform": "six"},
        PLAIN | {"accelerator": "NVIDIA H200 + NVIDIA B200", "total_accelerators": "9", "platform": "seven"},
        PLAIN | {"weight_data_types": "magic", "platform": "eight"},
        PLAIN | {"accuracy": "", "platform": "nine"},
        PLAIN | {"platform": "ten"},
        PLAIN | {"platform": "ten", "result": "1001"},
    ]
    rows = read_published(table(tmp_path / "rows_v9.9.tsv", *odd)).rows
    flags = [row.flags for row in rows]
    assert len(rows) == len(odd)
    assert flags == [
        ["result-unreadable"], ["result-unreadable"], ["units-unknown"], ["benchmark-unknown"], ["scenario-unknown"],
        ["accelerator-count-absent"], ["accelerator-mix-untold"], ["precision-unread"], ["accuracy-absent"],
        ["duplicate"], ["duplicate"],
    ]  # fmt: skip
    assert [row.value for row in rows[:3]] == [None, None, 1000.5]
    assert rows[5].accelerators is None
    assert rows[5].per("accelerator") is None
    assert rows[3].benchmark == "new-thing"


def test_a_record_with_cells_too_many_or_too_few(tmp_path: Path) -> None:
    path = table(tmp_path / "rows_v9.9.tsv", PLAIN)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], lines[1] + "\tmore", lines[1].rsplit("\t", 2)[0], "", lines[1]]) + "\n")
    rows = read_published(path).rows
    assert [("ragged" in row.flags, row.record) for row in rows] == [(True, 2), (True, 3), (False, 5)]
    assert "more" in rows[0].extra.values()
    assert rows[1].precision_raw == ""


def test_numbers_keep_their_digits(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(
        '[{"Submitter": "Acme", "Category": "closed", "Scenario": "Offline", "Model": "whisper", "version": "v5.1",'
        ' "Performance_Result": 1.50000000000000000001, "Performance_Units": "Samples/s", "Nodes": 2, "a#": 4,'
        ' "Accelerator": "NVIDIA GB300", "Power_Result": 10400.99, "Power_Units": "Watts", "has_power": true,'
        ' "inferred": 1, "New": {"a": null}}]'
    )
    (row,) = read_published(path).rows
    assert row.result_raw == "1.50000000000000000001"
    assert (row.accelerators, row.power, row.power_units, row.has_power, row.inferred) == (
        8,
        10400.99,
        "Watts",
        True,
        True,
    )
    assert row.extra == {"New": '{"a": null}'}


def test_the_sample_is_small_and_whole() -> None:
    with sample_file() as path:
        source = read_published(path)
    assert 10 < len(source.rows) < 40
    assert {row.round for row in source.rows} == {"made-up-1", "made-up-2"}
    assert all(row.value is not None for row in source.rows)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("gone.tsv", None, "no such file"),
        ("empty.csv", b"", "is empty"),
        ("binary.tsv", b"\xff\xfe\x00", "not UTF-8"),
        ("other.csv", b"a,b,c\n1,2,3\n", "no column"),
        ("broken.json", b"[{", "no JSON"),
        ("object.json", b'{"a": 1}', "no list of results"),
        ("foreign.json", b'[{"a": 1}]', "no table of results"),
        ("deep.json", b"[" * 100_000, "no JSON"),
        ("twice.csv", b"Organization,Organization\n1,2\n", "stands in the table twice"),
        ("rows.tsv", "\t".join(PLAIN).encode() + b"\n", "no rows"),
        ("rows.tsv", "\n".join(["\t".join(PLAIN), "\t".join(PLAIN.values())]).encode(), "which round"),
    ],
)
def test_a_file_that_is_no_round(tmp_path: Path, name: str, content: bytes | None, says: str) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=says) as told:
        read_published(path)
    assert str(path) in str(told.value)


@pytest.mark.parametrize(
    ("name", "given", "round_name"),
    [
        ("mlperf_v61_results.tsv", None, "v6.1"),
        ("inference_results_v5.1.tsv", None, "v5.1"),
        ("rows.tsv", "6.0", "v6.0"),
        ("rows_v6.1.tsv", "our own", "our own"),
    ],
)
def test_where_the_rounds_name_comes_from(tmp_path: Path, name: str, given: str | None, round_name: str) -> None:
    source = read_published(table(tmp_path / name, PLAIN), given)
    assert source.rows[0].round == round_name
    assert source.round_from == ("file name" if given is None else "option")


def test_a_name_with_two_rounds_tells_none(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="which round"):
        read_published(table(tmp_path / "v5.1_to_v6.1.tsv", PLAIN))


@settings(max_examples=80, deadline=None)
@given(st.dictionaries(st.sampled_from([*ALIKE, "notes", "per_node", "power", "inferred"]), st.text(max_size=40)))
def test_no_record_is_too_odd(fields: dict[str, str]) -> None:
    row = normalise("v9.9", 7, fields, {})
    assert row.result_raw == fields.get("result", "")
    assert all(flag in FLAGS for flag in row.flags)
    assert row.value is None or row.value > 0
    for per in ("system", "accelerator", "node"):
        assert row.per(per) is None or row.per(per) > 0  # type: ignore[operator]


@settings(max_examples=80, deadline=None)
@given(st.lists(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), max_size=6), max_size=6))
def test_any_csv_keeps_its_records_or_is_refused(
    tmp_path_factory: pytest.TempPathFactory, cells: list[list[str]]
) -> None:
    path = tmp_path_factory.mktemp("csv") / "summary.csv"
    lines = [",".join(OFFICIAL)] + [",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in cells]
    path.write_bytes("\n".join(lines).encode())
    told = [row for row in cells if any(cell.strip() for cell in row)]
    try:
        rows = read_published(path, "v1.0").rows
    except ConfigError:
        assert not told
        return
    assert len(rows) == len(told)
    assert [row.organization for row in rows] == [row[0].strip() for row in told]


def test_what_no_store_can_hold_does_not_reach_it(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(
        '[{"Submitter": "half \\ud800 \\u0000", "Performance_Result": 1e400, "version": "v5.1", "Nodes": 1e300}]'
    )
    (row,) = read_published(path).rows
    assert (row.organization, row.value, row.nodes) == ("half ? \x00", None, None)
    add_source(tmp_path / "s.duckdb", read_published(path))
    assert read_rows(tmp_path / "s.duckdb") == [row]


def test_json_lists_of_rubbish_are_kept(tmp_path: Path) -> None:
    good = {"Submitter": "Acme", "Performance_Result": 5, "version": "v5.1"}
    path = tmp_path / "results.json"
    path.write_text(json.dumps([good, {}, {"Submitter": [1, 2], "version": None}]))
    with pytest.raises(ConfigError, match="which round"):
        read_published(path)
    rows = read_published(path, "v5.1").rows
    assert [row.organization for row in rows] == ["Acme", "", '["1", "2"]']
