"""The shared block that live progress is read from: a few int64 counters per process in one mapped file.

Writers store whole 8-byte words at their own offsets, so readers need no lock; a value may be a tenth of a
second old. Nothing that a report shows is taken from here.
"""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Final

from relaymark.trace.runfolder import LIVE_FILE

SENT: Final = 0
ENDED: Final = 1
FAILED: Final = 2
IN_FLIGHT: Final = 3
READS: Final = 4
DUE: Final = 5
DECODED: Final = 6
DECODED_GOOD: Final = 7
TOKENS: Final = 8
TTFT_P50: Final = 9
STAGE: Final = 10
TASKS_ENDED: Final = 11
TASKS_FAILED: Final = 12
_WORDS: Final = 16


def create_live(folder: Path, workers: int) -> None:
    """Makes the block for so many workers and their decoders."""
    (folder / LIVE_FILE).write_bytes(bytes(8 * _WORDS * 2 * workers))


class LiveBlock:
    """One process's row of the block: rows 0…n-1 are the workers', n…2n-1 their decoders'."""

    def __init__(self, folder: Path, row: int) -> None:
        with (folder / LIVE_FILE).open("r+b") as file:
            self._words = memoryview(mmap.mmap(file.fileno(), 0)).cast("q")
        self._base = row * _WORDS

    def __setitem__(self, word: int, value: int) -> None:
        self._words[self._base + word] = value

    def __getitem__(self, word: int) -> int:
        return self._words[self._base + word]


def total(blocks: list[LiveBlock], word: int) -> int:
    """The sum of one word over several rows."""
    return sum(block[word] for block in blocks)
