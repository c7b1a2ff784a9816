"""The store: what goes in comes out, a round is replaced whole, and a file that is no store says so."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from relaymark.errors import ConfigError
from relaymark.published import Row, add_source, parse_condition, read_published, read_rows, rounds_in
from relaymark.published.reading import Source
from relaymark.published.sample import sample_file

from .making import made, several

pytest.importorskip("duckdb", reason="DuckDB is not installed")


def source_of(rows: list[Row]) -> Source:
    return Source(Path("made.tsv"), "table", "0" * 64, rows, "column")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "results.duckdb"


def wanted(store: Path, *texts: str) -> list[int]:
    return [row.record for row in read_rows(store, [parse_condition(text) for text in texts])]


def test_rows_come_back_as_they_went_in(store: Path) -> None:
    odd = made(
        organization="O'Neill; DROP TABLE results", notes='"\t\n\x01 Ω 漢字', result="x", accuracy="", weights="",
        accelerator="NVIDIA H200 (x8) + NVIDIA B200 (x8)", total=16,
    )  # fmt: skip
    odd = msgspec.structs.replace(odd, extra={"a": "1", "b": ""})
    with sample_file() as path:
        rows = [*read_published(path).rows, odd]
    add_source(store, source_of(rows))
    assert sorted(read_rows(store), key=lambda row: row.id) == sorted(rows, key=lambda row: row.id)


def test_the_real_rounds_come_back(store: Path, both: list[Row]) -> None:
    add_source(store, source_of(both))
    assert read_rows(store) == both
    assert rounds_in(store) == {"v5.1": 1448, "v6.1": 492}


def test_a_round_is_replaced_whole_and_others_stay(store: Path) -> None:
    assert add_source(store, source_of(several({}, {}, {}))).replaced == {}
    add_source(store, source_of([made(2, "v1.0")]))
    done = add_source(store, source_of(several({"result": 5}, {"result": 6})))
    assert (done.rows, done.replaced) == ({"v9.9": 2}, {"v9.9": 3})
    assert [(row.round, row.value) for row in read_rows(store)] == [("v1.0", 1000.5), ("v9.9", 5), ("v9.9", 6)]


def test_conditions(store: Path) -> None:
    rows = several(
        {"availability": "preview", "total": 72},
        {"scenario": "Server", "framework": "SGLang 1"},
        {"benchmark": "agentic edge", "model": "qwen3.6-27b", "units": "Latency (ms)"},
        {"division": "open", "total": ""},
    )
    add_source(store, source_of(rows))
    assert wanted(store) == [2, 3, 4, 5]
    assert wanted(store, "availability=PREVIEW") == [2]
    assert wanted(store, "availability!=preview", "division=closed") == [3, 4]
    assert wanted(store, "accelerators>=72") == [2]
    assert wanted(store, "accelerators<72") == [3, 4]
    assert wanted(store, "framework~lang") == [3]
    assert wanted(store, "benchmark=edge-agentic") == [4]
    assert wanted(store, "scenario=SERVER") == [3]
    assert wanted(store, "flag=model-untold") == [5]
    assert wanted(store, "flag!=model-untold") == [2, 3, 4]
    assert wanted(store, "inferred=false", "platform~'; --") == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("available", "no condition"),
        ("colour=red", "no field"),
        ("accelerators=many", "is a number"),
        ("accelerators~7", "is a number"),
        ("platform>=7", "has no order"),
        ("inferred=maybe", "true or false"),
    ],
)
def test_a_condition_that_is_none(text: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        parse_condition(text)


def test_a_store_that_is_none(tmp_path: Path, store: Path) -> None:
    import duckdb

    with pytest.raises(ConfigError, match="no store"):
        read_rows(store)
    assert not store.exists()
    (tmp_path / "text.duckdb").write_text("no database, only words" * 1000)
    with pytest.raises(ConfigError, match="cannot be opened"):
        read_rows(tmp_path / "text.duckdb")
    foreign = tmp_path / "foreign.duckdb"
    with duckdb.connect(str(foreign)) as db:
        db.execute("CREATE TABLE results (a INTEGER)")
    for use in (lambda: read_rows(foreign), lambda: add_source(foreign, source_of([made()]))):
        with pytest.raises(ConfigError, match="holds no published results"):
            use()
    with duckdb.connect(str(foreign)) as db:
        assert db.execute("SELECT count(*) FROM results").fetchone() == (0,)


def test_a_store_of_another_version(store: Path) -> None:
    import duckdb

    add_source(store, source_of([made()]))
    with duckdb.connect(str(store)) as db:
        db.execute("UPDATE relaymark SET schema = 99")
    with pytest.raises(ConfigError, match="another version"):
        read_rows(store)


def test_an_import_that_fails_leaves_the_store_as_it_was(store: Path) -> None:
    add_source(store, source_of([made()]))
    bad = msgspec.structs.replace(made(), nodes=2**40)  # no INTEGER: the importer would not have let it through
    with pytest.raises((OverflowError, ValueError)):
        add_source(store, source_of([bad]))
    assert read_rows(store) == [made()]
