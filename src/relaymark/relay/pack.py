"""The request pack: every request body of a run, serialised before the first one is sent.

``requests.pack`` holds the bodies one after the other, ``requests.idx`` their int64 offsets (n + 1 of them) and
``requests.ref`` 16 bytes of each body's SHA-256. A body is read when it is sent, from the page cache: mapping the file
instead would count every body ever sent as memory of the worker's.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from relaymark.trace.runfolder import PACK_FILE

INDEX_FILE = "requests.idx"
REF_FILE = "requests.ref"
_REF_BYTES = 16


def write_pack(folder: Path, bodies: Iterable[bytes]) -> tuple[int, str]:
    """Writes the pack; returns the number of bodies and the SHA-256 of them all."""
    offsets = array("q", [0])
    digest = sha256()
    with (folder / PACK_FILE).open("wb") as file, (folder / REF_FILE).open("wb") as refs:
        for body in bodies:
            file.write(body)
            refs.write(sha256(body).digest()[:_REF_BYTES])
            digest.update(len(body).to_bytes(8, "little"))
            digest.update(body)
            offsets.append(offsets[-1] + len(body))
    (folder / INDEX_FILE).write_bytes(offsets.tobytes())
    return len(offsets) - 1, digest.hexdigest()


class RequestPack:
    """Read access to a pack; index with any int, it wraps around."""

    def __init__(self, folder: Path) -> None:
        self._offsets = array("q", (folder / INDEX_FILE).read_bytes())
        self._count = len(self._offsets) - 1
        self._bodies = os.open(folder / PACK_FILE, os.O_RDONLY | os.O_CLOEXEC)
        self._refs = os.open(folder / REF_FILE, os.O_RDONLY | os.O_CLOEXEC)

    def __del__(self) -> None:
        for name in ("_bodies", "_refs"):  # either may be missing when the constructor failed
            descriptor = getattr(self, name, -1)
            if descriptor >= 0:
                os.close(descriptor)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> bytes:
        at = index % self._count
        start = self._offsets[at]
        return os.pread(self._bodies, self._offsets[at + 1] - start, start)

    def ref(self, index: int) -> str:
        """The name a body goes by in the trace: 32 hex digits of its SHA-256."""
        return os.pread(self._refs, _REF_BYTES, index % self._count * _REF_BYTES).hex()
