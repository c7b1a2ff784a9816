"""Passages by row: a file of records and one of where each begins. A row takes 8 bytes of memory until it is read."""

from __future__ import annotations

import mmap
import os
from array import array
from pathlib import Path

import msgspec

from relaymark.errors import ConfigError
from relaymark.retrieval.protocols import Passage

TEXTS_FILE = "passages.msgpack"
PLACES_FILE = "passages.idx"


class _Record(msgspec.Struct, array_like=True):
    source: str
    number: int
    url: str
    text: str
    title: str


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Record).decode


class PassageWriter:
    """Appends passages; row numbers count from 0."""

    def __init__(self, folder: Path) -> None:
        self._texts = (folder / TEXTS_FILE).open("wb")
        self._places = (folder / PLACES_FILE).open("wb")
        self._end = 0
        self.count = 0

    def add(self, passages: list[Passage]) -> None:
        """Appends them in order."""
        places = array("q")
        for passage in passages:
            record = _encode(_Record(passage.source, passage.number, passage.url, passage.text, passage.title))
            self._texts.write(record)
            places.append(self._end)
            self._end += len(record)
        self._places.write(places.tobytes())
        self.count += len(passages)

    def abandon(self) -> None:
        """Closes the files as they are; harmless after ``close``."""
        self._texts.close()
        self._places.close()

    def close(self) -> None:
        """Writes where the last one ends, and everything to the disk."""
        self._places.write(array("q", [self._end]).tobytes())
        for file in (self._texts, self._places):
            file.flush()
            os.fsync(file.fileno())
            file.close()


class PassageStore:
    """Reads them.

    Raises:
        ConfigError: A file is missing or the two do not belong together.
    """

    def __init__(self, folder: Path) -> None:
        try:
            places = array("q")
            places.frombytes((folder / PLACES_FILE).read_bytes())
            size = (folder / TEXTS_FILE).stat().st_size
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"the passages can't be read: {error}", where=str(folder), mend="build the index again"
            ) from None
        if not places or places[-1] != size:
            raise ConfigError(
                f"{PLACES_FILE} and {TEXTS_FILE} do not belong together", where=str(folder), mend="build it again"
            )
        self._places = places
        with (folder / TEXTS_FILE).open("rb") as file:
            self._texts = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""

    def __len__(self) -> int:
        return len(self._places) - 1

    def __getitem__(self, row: int) -> Passage:
        if not 0 <= row < len(self):
            raise IndexError(row)
        record = _decode(self._texts[self._places[row] : self._places[row + 1]])
        return Passage(record.source, record.number, record.url, record.text, record.title)
