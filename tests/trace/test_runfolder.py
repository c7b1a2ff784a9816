"""Run folders and their record; heartbeats; the offset between the clocks."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import msgspec
import pytest

from relaymark.errors import ExitCode, TraceError
from relaymark.trace import (
    Heartbeat,
    RunRecord,
    StageRecord,
    create_run_folder,
    read_heartbeats,
    read_run_record,
    wall_offset_ns,
    write_run_record,
)

RECORD = RunRecord(
    run_id="r",
    name="näme",
    version="0",
    started_at="2026-01-01T00:00:00+00:00",
    url="http://h",
    model="m",
    dialect="openai-chat",
    stages=[StageRecord(index=-1, name="w", load="single", open_loop=False, warmup=True)],
    notes=["one"],
    crashed_workers=[1],
)


def test_runs_of_one_second_get_folders_of_their_own(tmp_path: Path) -> None:
    made: list[Path] = []
    threads = [
        threading.Thread(target=lambda: made.append(create_run_folder(tmp_path / "runs", "same name")))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(made)) == 8
    assert all(path.is_dir() and "same-name" in path.name for path in made)


@pytest.mark.parametrize("name", ["../../etc/passwd", "/abs", "a/b\\c", "\x00", "..", ".", "-", "", "ü" * 500, "a b"])
def test_a_name_never_leads_out_of_the_parent(tmp_path: Path, name: str) -> None:
    folder = create_run_folder(tmp_path, name)
    assert folder.parent == tmp_path
    assert folder.resolve().parent == tmp_path.resolve()
    assert len(folder.name) < 100


def test_a_parent_that_cannot_hold_it_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TraceError) as caught:
        create_run_folder(tmp_path / "file", "x")
    assert str(tmp_path / "file") in caught.value.where


def test_a_record_comes_back(tmp_path: Path) -> None:
    write_run_record(tmp_path, RECORD)
    assert read_run_record(tmp_path) == RECORD
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"], "nothing is left beside it"


def test_a_reader_never_meets_half_a_record(tmp_path: Path) -> None:
    write_run_record(tmp_path, RECORD)
    done = threading.Event()

    def rewrite() -> None:
        for n in range(200):
            RECORD.notes = ["x" * n * 50]
            write_run_record(tmp_path, RECORD)
        done.set()

    writer = threading.Thread(target=rewrite)
    writer.start()
    reads = 0
    while not done.is_set():
        read_run_record(tmp_path)
        reads += 1
    writer.join()
    assert reads


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"null", b"{}", b"\xff\xfe", b'{"run_id": 3}'])
def test_a_broken_record_is_a_clear_error(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "run.json").write_bytes(text)
    with pytest.raises(TraceError) as caught:
        read_run_record(tmp_path)
    assert caught.value.exit_code is ExitCode.USAGE
    assert "run.json" in caught.value.where


def test_what_is_no_run_folder_says_so(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "absent"):
        with pytest.raises(TraceError, match="not a run folder"):
            read_run_record(folder)


def test_a_record_of_a_newer_schema_says_what_to_do(tmp_path: Path) -> None:
    write_run_record(tmp_path, msgspec.structs.replace(RECORD, schema=99))
    with pytest.raises(TraceError, match="newer Relaymark") as caught:
        read_run_record(tmp_path)
    assert "pip install" in caught.value.mend


def test_fields_of_a_later_minor_version_are_skipped(tmp_path: Path) -> None:
    write_run_record(tmp_path, RECORD)
    path = tmp_path / "run.json"
    path.write_text(path.read_text().replace('"run_id"', '"unknown": [1], "run_id"'))
    assert read_run_record(tmp_path).run_id == "r"


def test_heartbeats_come_back_and_cut_lines_are_left_out(tmp_path: Path) -> None:
    beats = [Heartbeat(w, 10 + w, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, -1) for w in range(3)]
    lines = [msgspec.json.encode(beat) for beat in beats]
    path = tmp_path / "health.jsonl"
    path.write_bytes(lines[0] + b"\n[1,2]\n\n" + lines[1] + b"\n" + lines[2][:-5])
    assert read_heartbeats(path) == beats[:2]
    assert read_heartbeats(tmp_path / "absent") == []


def test_the_offset_between_the_clocks_is_right() -> None:
    offset = wall_offset_ns()
    before = time.time_ns()
    mapped = time.monotonic_ns() + offset
    after = time.time_ns()
    assert before - 1_000_000 <= mapped <= after + 1_000_000


def test_a_record_that_cannot_be_written_leaves_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_run_record(tmp_path, RECORD)

    def full(path: Path, data: bytes) -> int:
        path.open("wb").close()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space"):
        write_run_record(tmp_path, msgspec.structs.replace(RECORD, status="complete"))
    assert read_run_record(tmp_path).status == "running"
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]
