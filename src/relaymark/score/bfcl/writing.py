"""Writes a score's file: whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec


def write_json(path: Path, score: msgspec.Struct) -> None:
    """Writes a score as indented JSON by an atomic rename.

    Raises:
        OSError: It cannot be written.
    """
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_bytes(msgspec.json.format(msgspec.json.encode(score), indent=1) + b"\n")
    fresh.replace(path)
