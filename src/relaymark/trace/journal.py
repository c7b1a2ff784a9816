"""The append-only file a worker writes while it runs: framed records that survive a SIGKILL.

A record is ``length:u32 crc32:u32 kind:u8 payload``, little-endian, the CRC over kind and payload. Records are
handed to the kernel at the latest one second after they were added (``flush`` is called by the worker's tick), so
a kill -9 loses at most that second; the page cache outlives the process. A torn or corrupt tail is skipped by
the reader and counted, never guessed at. Files are segments of bounded size, so that a decoder that keeps up can
delete what it has read and a long run needs no more disk than its trace.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

_HEAD = struct.Struct("<IIB")
_BUFFERED_BYTES = 1 << 18
MAX_RECORD = 1 << 30


class Record(NamedTuple):
    """One record: its kind byte and payload."""

    kind: int
    payload: bytes


def segment_path(folder: Path, stem: str, number: int) -> Path:
    """Path of segment ``number`` of the journal named ``stem``."""
    return folder / f"{stem}-{number:05d}.journal"


class JournalWriter:
    """Appends records to numbered segments.

    Args:
        folder: An existing folder.
        stem: Name of the journal, e.g. ``worker-0``.
        segment_bytes: Size at which the next segment is begun; a record is never split.

    Raises:
        OSError: The disk is full or the folder cannot be written; raised by ``append``, ``flush`` and ``close``.
    """

    def __init__(self, folder: Path, stem: str, *, segment_bytes: int = 64 << 20) -> None:
        self._folder = folder
        self._stem = stem
        self._limit = segment_bytes
        # A successor never touches what a killed writer left; a reader may have deleted the first segments of it.
        self._number = 1 + max(
            (int(path.stem.rpartition("-")[2]) for path in folder.glob(f"{stem}-[0-9]*.journal")), default=-1
        )
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._written = 0
        self._fd = self._open()

    def _open(self) -> int:
        path = segment_path(self._folder, self._stem, self._number)
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def append(self, kind: int, payload: bytes) -> None:
        """Adds a record; it reaches the kernel at the next flush or when 256 KiB are waiting."""
        crc = zlib.crc32(payload, kind)
        self._pending.append(_HEAD.pack(len(payload), crc, kind))
        self._pending.append(payload)
        self._pending_bytes += _HEAD.size + len(payload)
        if self._pending_bytes >= _BUFFERED_BYTES:
            self.flush()

    def flush(self) -> None:
        """Hands everything that waits to the kernel."""
        if self._pending:
            block = b"".join(self._pending)
            self._pending.clear()
            self._pending_bytes = 0
            view = memoryview(block)
            while view:
                view = view[os.write(self._fd, view) :]
            self._written += len(block)
        if self._written >= self._limit:
            os.close(self._fd)
            self._number += 1
            self._written = 0
            self._fd = self._open()

    def close(self) -> None:
        """Flushes and closes; the journal then holds every record."""
        self.flush()
        os.close(self._fd)


class JournalReader:
    """Reads a journal's segments in order; can be called again while the writer still appends.

    ``torn`` counts records that were cut or failed their checksum. After a corrupt record the rest of its segment is
    unreadable (lengths can no longer be trusted) and counts as one.
    """

    def __init__(self, folder: Path, stem: str, *, segment: int = 0, offset: int = 0, torn: int = 0) -> None:
        self._folder = folder
        self._stem = stem
        self._number = segment
        self._offset = offset
        self.torn = torn

    @property
    def position(self) -> tuple[int, int]:
        """Segment and offset of the next record; a reader begun there goes on from here."""
        return self._number, self._offset

    def delete_read(self) -> None:
        """Deletes the segments before the current one: their records are kept elsewhere by now."""
        for number in range(self._number - 1, -1, -1):
            path = segment_path(self._folder, self._stem, number)
            if not path.exists():
                return
            path.unlink()

    def records(self, *, final: bool) -> Iterator[Record]:
        """Yields the records that are complete by now.

        Args:
            final: The writer has ended: a cut record at the end is torn rather than still being written.
        """
        while True:
            path = segment_path(self._folder, self._stem, self._number)
            following = segment_path(self._folder, self._stem, self._number + 1).exists()
            if not path.exists():
                return
            with path.open("rb") as file:
                file.seek(self._offset)
                while (record := self._next(file.read)) is not None:
                    yield record
                size = os.fstat(file.fileno()).st_size
            if not following and not final:
                return
            if self._offset < size:
                self.torn += 1
            self._number += 1
            self._offset = 0

    def _next(self, read: Callable[[int], bytes]) -> Record | None:
        head = read(_HEAD.size)
        if len(head) < _HEAD.size:
            return None
        length, crc, kind = _HEAD.unpack(head)
        if length > MAX_RECORD:
            return None
        payload = read(length)
        if len(payload) < length or zlib.crc32(payload, kind) != crc:
            return None
        self._offset += _HEAD.size + length
        return Record(kind, payload)
