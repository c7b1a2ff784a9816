"""Which documents a folder holds, in a fixed order; what is left out is counted by its reason."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

from relaymark.errors import ConfigError

MAX_BYTES = 64 << 20
"""Largest document that is read; a larger one counts as failed."""
SUFFIXES = {".html": "html", ".htm": "html", ".xhtml": "html", ".md": "markdown", ".txt": "text", ".jsonl": "jsonl"}


class Document(msgspec.Struct, frozen=True, array_like=True):
    """One document: a file, or a line of a JSONL file (``begin`` and ``size`` are then its bytes)."""

    source: str  # path under the corpus folder; of a line with its number: pages.jsonl:7
    kind: str
    path: str
    url: str
    begin: int = 0
    size: int = -1


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
    for path in sorted(_files(folder, skipped), key=lambda path: str(path.relative_to(folder))):
        source = str(path.relative_to(folder))
        kind = SUFFIXES.get(path.suffix.lower())
        if path.name == "url_mapping.json":
            continue
        if kind is None:
            skipped["not a kind of document that is read"] += 1
        elif kind == "jsonl":
            documents += _lines(path, source)
        else:
            documents.append(Document(source, kind, str(path), urls.get(path.stem) or source))
    if not documents:
        raise ConfigError(
            "the folder holds no documents",
            where=str(folder),
            mend=f"documents end in {', '.join(SUFFIXES)}",
        )
    return Corpus(documents, skipped)


def _files(folder: Path, skipped: Counter[str]) -> Iterator[Path]:
    folders: set[tuple[int, int]] = set()
    files: set[tuple[int, int]] = set()
    for place, names, found in os.walk(folder, followlinks=True):
        status = Path(place).stat()
        if (status.st_dev, status.st_ino) in folders:
            names.clear()
            skipped["a link to a folder that was read already"] += 1
            continue
        folders.add((status.st_dev, status.st_ino))
        for name in found:
            path = Path(place) / name
            try:
                status = path.stat()
            except OSError:
                skipped["a link that leads nowhere"] += 1
                continue
            if path.is_symlink() and (status.st_dev, status.st_ino) in files:
                skipped["a link to a file that was read already"] += 1
                continue
            files.add((status.st_dev, status.st_ino))
            yield path


def _mapping(path: Path | None) -> dict[str, str]:
    if path is None:
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"the URL mapping can't be read: {error}", where=str(path)) from None
    if not isinstance(found, dict):
        raise ConfigError("the URL mapping is no JSON object", where=str(path))
    return {str(key): value for key, value in found.items() if isinstance(value, str)}


def _lines(path: Path, source: str) -> list[Document]:
    documents: list[Document] = []
    begin = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                documents.append(
                    Document(f"{source}:{number}", "jsonl", str(path), f"{source}:{number}", begin, len(line))
                )
            begin += len(line)
    return documents
