"""The request pack: every request body of a run, serialised before the first one is sent.

``requests.pack`` holds the bodies one after the other, ``requests.idx`` their int64 offsets (n + 1 of them). Workers
map both, so that bodies cost no memory of theirs and no time at a send.
"""

from __future__ import annotations

import mmap
from array import array
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from relaymark.trace.runfolder import PACK_FILE

INDEX_FILE = "requests.idx"


def write_pack(folder: Path, bodies: Iterable[bytes]) -> tuple[int, str]:
    """Writes the pack; returns the number of bodies and the SHA-256 of them all."""
    offsets = array("q", [0])
    digest = sha256()
    with (folder / PACK_FILE).open("wb") as file:
        for body in bodies:
            file.write(body)
            digest.update(len(body).to_bytes(8, "little"))
            digest.update(body)
            offsets.append(offsets[-1] + len(body))
    (folder / INDEX_FILE).write_bytes(offsets.tobytes())
    return len(offsets) - 1, digest.hexdigest()


class RequestPack:
    """Read access to a pack; index with any int, it wraps around."""

    def __init__(self, folder: Path) -> None:
        self._offsets = array("q", (folder / INDEX_FILE).read_bytes())
        with (folder / PACK_FILE).open("rb") as file:
            self._view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        self._count = len(self._offsets) - 1

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> memoryview:
        at = index % self._count
        return self._view[self._offsets[at] : self._offsets[at + 1]]
