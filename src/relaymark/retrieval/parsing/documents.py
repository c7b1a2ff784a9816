"""Which documents a folder holds, in a fixed order; what is left out is counted by its reason."""

from __future__ import annotations

import json
import os
from collections import Counter, deque
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from stat import S_ISDIR, S_ISREG

import msgspec

from relaymark.errors import ConfigError

MAX_BYTES = 64 << 20
"""Largest document that is read; a larger one counts as failed."""
_PIECE = 1 << 20
SUFFIXES = {".html": "html", ".htm": "html", ".xhtml": "html", ".md": "markdown", ".txt": "text", ".jsonl": "jsonl"}


class Document(msgspec.Struct, frozen=True, array_like=True):
    """One document: a file, or a line of a JSONL file (``begin`` and ``size`` are then its bytes)."""

    source: str  # path under the corpus folder; of a line with its number: pages.jsonl:7
    kind: str
    path: str
    url: str
    begin: int = 0
    size: int = -1  # -1: all of the file
    weight: int = 0  # bytes, as far as is known before it is read


class Corpus(msgspec.Struct):
    """All documents in their order, and how many files were left out and why."""

    documents: list[Document]
    skipped: Counter[str]


def find_documents(folder: Path, url_mapping: Path | None = None) -> Corpus:
    """Finds them under ``folder``, by path in lexicographic order. Links are followed once: no loop, no file twice.

    Args:
        folder: The corpus.
        url_mapping: JSON object from a file's name without its suffix to its URL; else ``url_mapping.json`` in the
            folder or beside it. A file it doesn't name has its path for a URL.

    Raises:
        ConfigError: The folder is missing or holds no document, or the mapping is no JSON object.
    """
    if not folder.is_dir():
        raise ConfigError("there is no such folder", where=str(folder), mend="name the folder of the documents")
    beside = [folder / "url_mapping.json", folder.parent / "url_mapping.json"]
    urls = _mapping(url_mapping or next((path for path in beside if path.is_file()), None))
    skipped: Counter[str] = Counter()
    documents: list[Document] = []
    found = ((str(path.relative_to(folder)), path, size) for path, size in _files(folder, skipped))
    for source, path, size in sorted(found, key=lambda one: one[0]):
        kind = SUFFIXES.get(path.suffix.lower())
        if path.name == "url_mapping.json":
            continue
        if kind is None:
            skipped["not a kind of document that is read"] += 1
        elif not _unicode(source):
            skipped["a name that is not UTF-8"] += 1
        elif kind == "jsonl":
            try:
                documents += _lines(path, source)
            except OSError:
                skipped["a file that can't be read"] += 1
        else:
            documents.append(Document(source, kind, str(path), urls.get(path.stem) or source, weight=size))
    if not documents:
        raise ConfigError(
            "the folder holds no documents",
            where=str(folder),
            mend=f"documents end in {', '.join(SUFFIXES)}",
        )
    return Corpus(documents, skipped)


def _unicode(text: str) -> bool:
    """Whether it can be written as UTF-8: bytes of a file's name and escapes of JSON need not be text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _files(folder: Path, skipped: Counter[str]) -> Iterator[tuple[Path, int]]:
    """Every file once, with its size in bytes: those that lie there first, then what only links lead to."""
    folders: set[tuple[int, int]] = set()
    files: set[tuple[int, int]] = set()
    links: deque[Path] = deque()

    def unreadable(_: OSError) -> None:
        skipped["a folder that can't be read"] += 1

    def take(path: Path, status: os.stat_result) -> Iterator[tuple[Path, int]]:
        files.add((status.st_dev, status.st_ino))
        if S_ISREG(status.st_mode):
            yield path, status.st_size
        else:
            skipped["not a file"] += 1  # a pipe would be waited for, for ever

    def walk(top: Path) -> Iterator[tuple[Path, int]]:
        for place, names, found in os.walk(top, onerror=unreadable):
            status = Path(place).stat()
            if (status.st_dev, status.st_ino) in folders:
                names.clear()
                skipped["a link to a folder that was read already"] += 1
                continue
            folders.add((status.st_dev, status.st_ino))
            links.extend(path for name in sorted(names) if (path := Path(place, name)).is_symlink())
            for name in sorted(found):
                path = Path(place, name)
                if path.is_symlink():
                    links.append(path)
                else:
                    yield from take(path, path.stat())

    yield from walk(folder)
    while links:
        path = links.popleft()
        try:
            status = path.stat()
        except OSError:
            skipped["a link that leads nowhere"] += 1
            continue
        if S_ISDIR(status.st_mode):
            yield from walk(path)
        elif (status.st_dev, status.st_ino) in files:
            skipped["a link to a file that was read already"] += 1
        else:
            yield from take(path, status)


def _mapping(path: Path | None) -> dict[str, str]:
    if path is None:
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"the URL mapping can't be read: {error}", where=str(path)) from None
    if not isinstance(found, dict):
        raise ConfigError("the URL mapping is no JSON object", where=str(path))
    return {str(key): value for key, value in found.items() if isinstance(value, str) and _unicode(value)}


def _lines(path: Path, source: str) -> list[Document]:
    documents: list[Document] = []
    with path.open("rb") as file:
        for number in count(1):
            begin, empty = file.tell(), True
            while piece := file.readline(_PIECE):  # a line may be longer than memory
                empty = empty and not piece.strip()
                if piece.endswith(b"\n"):
                    break
            size = file.tell() - begin
            if not size:
                return documents
            if not empty:
                name = f"{source}:{number}"
                documents.append(Document(name, "jsonl", str(path), name, begin, size, size))
    return documents
