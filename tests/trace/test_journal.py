"""The journal: whatever happens to its bytes, a reader gets a prefix of the records, and counts what was cut."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relaymark.trace import JournalReader, JournalWriter, Record
from relaymark.trace.journal import segment_path

RECORDS = st.lists(st.tuples(st.integers(0, 255), st.binary(max_size=40)), min_size=1, max_size=8)
HEAD = 9  # bytes before a payload


def write(folder: Path, records: list[tuple[int, bytes]], **settings: int) -> None:
    writer = JournalWriter(folder, "j", **settings)
    for kind, payload in records:
        writer.append(kind, payload)
    writer.close()


def read(folder: Path) -> tuple[list[tuple[int, bytes]], int]:
    reader = JournalReader(folder, "j")
    return [tuple(record) for record in reader.records(final=True)], reader.torn


def ends(records: list[tuple[int, bytes]]) -> list[int]:
    """Offset of the end of each record, and 0."""
    offsets = [0]
    for _, payload in records:
        offsets.append(offsets[-1] + HEAD + len(payload))
    return offsets


@settings(deadline=None, max_examples=60)
@given(RECORDS, st.data())
def test_a_file_cut_at_any_byte_gives_the_records_before_the_cut(
    records: list[tuple[int, bytes]], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, records)
        path = segment_path(folder, "j", 0)
        offsets = ends(records)
        assert path.stat().st_size == offsets[-1]
        cut = data.draw(st.integers(0, offsets[-1]))
        path.write_bytes(path.read_bytes()[:cut])
        whole = sum(1 for end in offsets[1:] if end <= cut)
        assert read(folder) == (records[:whole], 0 if cut in offsets else 1)


@settings(deadline=None, max_examples=60)
@given(RECORDS, st.data())
def test_a_changed_byte_never_gives_a_wrong_record(records: list[tuple[int, bytes]], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, records)
        path = segment_path(folder, "j", 0)
        raw = bytearray(path.read_bytes())
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at] ^= data.draw(st.integers(1, 255))
        path.write_bytes(raw)
        before = sum(1 for end in ends(records)[1:] if end <= at)
        assert read(folder) == (records[:before], 1)


def test_a_corrupt_segment_does_not_hide_the_next_ones(tmp_path: Path) -> None:
    write(tmp_path, [(1, b"first" * 10), (2, b"lost" * 10)])
    write(tmp_path, [(3, b"of a successor")])
    raw = bytearray(segment_path(tmp_path, "j", 0).read_bytes())
    raw[-1] ^= 1
    segment_path(tmp_path, "j", 0).write_bytes(raw)
    assert read(tmp_path) == ([(1, b"first" * 10), (3, b"of a successor")], 1)


def test_segments_roll_over_between_records_and_read_as_one(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path, "j", segment_bytes=100)
    records = [(n % 7, bytes([n]) * n) for n in range(60)]
    for kind, payload in records:
        writer.append(kind, payload)
        writer.flush()
    writer.close()
    paths = sorted(tmp_path.glob("j-*.journal"))
    assert len(paths) > 10
    assert all(path.stat().st_size < 100 + HEAD + 60 for path in paths)
    assert read(tmp_path) == (records, 0)


def test_a_successor_leaves_what_a_killed_writer_wrote(tmp_path: Path) -> None:
    first = JournalWriter(tmp_path, "j")
    first.append(1, b"kept")
    first.flush()
    first.append(1, b"never handed to the kernel")  # its process is killed here
    path = segment_path(tmp_path, "j", 0)
    with path.open("ab") as torn:
        torn.write(b"\x20\x00\x00\x00half a hea")
    before = path.read_bytes()
    write(tmp_path, [(2, b"after")])
    assert path.read_bytes() == before
    assert read(tmp_path) == ([(1, b"kept"), (2, b"after")], 1)


def test_journals_of_other_names_are_left_alone(tmp_path: Path) -> None:
    for stem in ("worker-1", "worker-10"):
        writer = JournalWriter(tmp_path, stem)
        writer.append(1, stem.encode())
        writer.close()
    assert [r.payload for r in JournalReader(tmp_path, "worker-1").records(final=True)] == [b"worker-1"]
    assert [r.payload for r in JournalReader(tmp_path, "worker-10").records(final=True)] == [b"worker-10"]


def test_a_reader_follows_a_writer_and_sees_each_record_once(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path, "j", segment_bytes=64)
    reader = JournalReader(tmp_path, "j")
    assert list(reader.records(final=False)) == []
    seen: list[Record] = []
    for n in range(30):
        writer.append(5, b"%03d" % n * 5)
        if n % 3:
            writer.flush()
        seen += reader.records(final=False)
    writer.close()
    seen += reader.records(final=True)
    assert [record.payload for record in seen] == [b"%03d" % n * 5 for n in range(30)]
    assert reader.torn == 0
    assert list(reader.records(final=True)) == []
    assert reader.torn == 0


def test_a_record_still_being_written_is_waited_for_and_not_torn(tmp_path: Path) -> None:
    write(tmp_path, [(1, b"whole"), (2, b"comes in two pieces")])
    path = segment_path(tmp_path, "j", 0)
    raw = path.read_bytes()
    path.write_bytes(raw[:-4])
    reader = JournalReader(tmp_path, "j")
    assert [r.kind for r in reader.records(final=False)] == [1]
    assert [r.kind for r in reader.records(final=False)] == []
    assert reader.torn == 0
    path.write_bytes(raw)
    assert [r.kind for r in reader.records(final=True)] == [2]
    assert reader.torn == 0


def test_a_position_is_where_another_reader_goes_on(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path, "j", segment_bytes=50)
    for n in range(12):
        writer.append(n, b"x" * 30)
        writer.flush()
    writer.close()
    for stop in range(13):
        first = JournalReader(tmp_path, "j")
        records = first.records(final=True)
        head = [next(records).kind for _ in range(stop)]
        segment, offset = first.position
        second = JournalReader(tmp_path, "j", segment=segment, offset=offset, torn=first.torn)
        assert head + [r.kind for r in second.records(final=True)] == list(range(12))


def test_delete_read_keeps_the_segment_being_read(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path, "j", segment_bytes=20)
    for n in range(6):
        writer.append(n, b"x" * 30)
        writer.flush()
    reader = JournalReader(tmp_path, "j")
    records = reader.records(final=False)
    for _ in range(3):
        next(records)
    reader.delete_read()
    assert not segment_path(tmp_path, "j", 0).exists()
    assert not segment_path(tmp_path, "j", 1).exists()
    assert segment_path(tmp_path, "j", 2).exists()
    assert [r.kind for r in records] == [3, 4, 5]
    writer.append(9, b"")
    writer.close()
    reader.delete_read()
    assert [r.kind for r in reader.records(final=True)] == [9]
    again = JournalReader(tmp_path, "j", segment=reader.position[0], offset=reader.position[1])
    assert list(again.records(final=True)) == []


def test_a_new_writer_after_deletion_is_read_too(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path, "j", segment_bytes=10)
    writer.append(1, b"x" * 20)
    writer.close()  # rolled over: segment 1 is there and empty
    reader = JournalReader(tmp_path, "j")
    assert [r.kind for r in reader.records(final=False)] == [1]
    reader.delete_read()
    write(tmp_path, [(2, b"later")])
    assert [r.kind for r in reader.records(final=True)] == [2]


def test_many_small_records_reach_the_kernel_without_a_flush(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path, "j")
    for _ in range(300):
        writer.append(1, bytes(1024))
    assert segment_path(tmp_path, "j", 0).stat().st_size >= 256 << 10
    writer.close()


def test_a_full_disk_is_an_error_to_the_writer(tmp_path: Path) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no /dev/full here")
    writer = JournalWriter(tmp_path, "j")
    import os

    os.dup2(os.open(full, os.O_WRONLY), writer._fd)
    writer.append(1, b"x")
    with pytest.raises(OSError, match="No space left"):
        writer.flush()
    os.close(writer._fd)


def test_a_missing_folder_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        JournalWriter(tmp_path / "absent", "j")
