"""Two names exchanged in one step, so that whoever looks finds one or the other and never nothing."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2  # linux/fs.h


def exchange(one: Path, other: Path) -> None:
    """Each takes the other's name. By ``renameat2`` of Linux in one step; where the kernel or the file system has it
    not, by three renames, between which ``other`` is briefly missing.

    Raises:
        OSError: Either is missing, or may not be renamed.
    """
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is not None:
        paths = os.fsencode(one), os.fsencode(other)
        if call(_AT_FDCWD, paths[0], _AT_FDCWD, paths[1], _RENAME_EXCHANGE) == 0:
            return
    aside = other.with_name(f".{other.name}.old")
    other.rename(aside)
    one.rename(other)
    aside.rename(one)


def sync(path: Path) -> None:
    """Sees a file, or the names in a folder, written to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
