"""A world on disk: ``pages/*.html``, ``url_mapping.json``, ``questions.jsonl``, and ``world.json`` when it is whole."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from relaymark.data.frames import write_frames
from relaymark.data.world.asking import questions as make_questions
from relaymark.data.world.entities import World
from relaymark.data.world.page import page_html
from relaymark.errors import ConfigError

PAGES = "pages"
MAPPING_FILE = "url_mapping.json"
QUESTIONS_FILE = "questions.jsonl"
TSV_FILE = "questions.tsv"
WORLD_FILE = "world.json"
_BEGUN_FILE = ".world-begun.json"
_TOLD_EVERY = 250  # pages


class WorldRecord(msgspec.Struct, kw_only=True):
    """``world.json``: which world it is, and what was written."""

    format: int = 1
    seed: int
    pages: int
    questions: int
    bytes: int = 0  # of the pages
    sha256: str = ""  # of the pages' bytes, in the world's order

    def same(self, other: WorldRecord) -> bool:
        """True when both are of one world with the same questions."""
        return (self.format, self.seed, self.pages, self.questions) == (
            other.format, other.seed, other.pages, other.questions,
        )  # fmt: skip


def read_world(folder: Path) -> WorldRecord:
    """The record of a world that was written to ``folder``.

    Raises:
        ConfigError: There is none, or it was never finished.
    """
    record = _record(folder / WORLD_FILE)
    if record is None:
        raise ConfigError(
            "no generated world is here", where=str(folder), mend=f"relaymark data world --pages 300 --out {folder}"
        )
    return record


def _record(path: Path) -> WorldRecord | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=WorldRecord)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        raise ConfigError(f"the world's record can't be read: {error}", where=str(path)) from None


def write_world(
    folder: Path,
    *,
    seed: int = 0,
    pages: int,
    questions: int = 50,
    tsv: bool = False,
    progress: Callable[[int], None] | None = None,
) -> WorldRecord:
    """Writes a world to ``folder``, one page at a time; a world that is there already is left as it is.

    A write that was interrupted is begun again in the same folder.

    Args:
        folder: Made if need be.
        seed: Which world.
        pages: 30 to 100,000.
        questions: How many.
        tsv: Also writes ``questions.tsv`` with FRAMES columns.
        progress: Called now and then with the number of pages written.

    Raises:
        ConfigError: The folder holds another world or foreign pages; the numbers don't fit a world.
    """
    world = World(seed, pages)
    record = WorldRecord(seed=seed, pages=pages, questions=questions)
    asked = make_questions(world, questions)
    there = _record(folder / WORLD_FILE)
    if there is None or not there.same(record):
        _claim(folder, record, there)
        _write_pages(folder, world, record, progress)
        lines = b"".join(msgspec.json.encode(question) + b"\n" for question in asked)
        (folder / QUESTIONS_FILE).write_bytes(lines)
        (folder / WORLD_FILE).write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=1))
        (folder / _BEGUN_FILE).unlink()
        there = record
    if tsv:
        write_frames(folder / TSV_FILE, asked)
    return there


def _claim(folder: Path, record: WorldRecord, there: WorldRecord | None) -> None:
    """Makes sure that the folder is ours to write: empty of pages, or left half-written by the same world."""
    mend = "name another folder with --out, or delete this one"
    if there is not None:
        raise ConfigError(
            f"another world is here already (seed {there.seed}, {there.pages} pages, {there.questions} questions)",
            where=str(folder),
            mend=mend,
        )
    pages = folder / PAGES
    pages.mkdir(parents=True, exist_ok=True)
    begun = _record(folder / _BEGUN_FILE)
    if (begun is None or not begun.same(record)) and any(pages.iterdir()):
        raise ConfigError("there are pages here that are not of this world", where=str(pages), mend=mend)
    (folder / _BEGUN_FILE).write_bytes(msgspec.json.encode(record))


def _write_pages(folder: Path, world: World, record: WorldRecord, progress: Callable[[int], None] | None) -> None:
    digest = hashlib.sha256()
    prefix = f"{folder / PAGES}{os.sep}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_CLOEXEC", 0)
    with (folder / MAPPING_FILE).open("w", encoding="ascii") as mapping:
        mapping.write("{")
        for number in range(world.pages):
            entity = world.entity(number)
            data = page_html(world, entity).encode()
            descriptor = os.open(prefix + entity.file, flags, 0o644)
            try:
                os.write(descriptor, data)
            finally:
                os.close(descriptor)
            digest.update(data)
            record.bytes += len(data)
            # Both are ASCII without quotes or backslashes: percent-encoded.
            mapping.write(f'{"," if number else ""}\n"{entity.file.removesuffix(".html")}": "{entity.url}"')
            if progress is not None and number % _TOLD_EVERY == 0:
                progress(number)
        mapping.write("\n}\n")
    record.sha256 = digest.hexdigest()
