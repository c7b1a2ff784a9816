"""The folder of an index: written beside its place, checked, and put there by one rename."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import msgspec

from relaymark.errors import ConfigError
from relaymark.retrieval.index.door import load_index
from relaymark.retrieval.index.exchange import exchange, sync
from relaymark.retrieval.index.manifest import (
    MANIFEST_FILE,
    Manifest,
    read_manifest,
    text_digest,
    text_set_sha256,
    write_manifest,
)
from relaymark.retrieval.index.store import PLACES_FILE, TEXTS_FILE, PassageStore
from relaymark.retrieval.protocols import VectorIndex

INDEX_FILE = "vectors.index"


@dataclass(frozen=True, slots=True)
class PublishedIndex:
    """An index as it is searched."""

    manifest: Manifest
    index: VectorIndex
    passages: PassageStore

    def text_set_sha256(self) -> str:
        """The hash of the texts that are stored, computed anew; see :func:`.manifest.text_set_sha256`."""
        return text_set_sha256(text_digest(self.passages[row].text) for row in range(len(self.passages)))


def check_place(place: Path) -> None:
    """Whether an index may be put at ``place``: what stands there will be gone.

    Raises:
        ConfigError: It holds something that is no part of an index.
    """
    ours = {MANIFEST_FILE, INDEX_FILE, TEXTS_FILE, PLACES_FILE}
    try:
        foreign = sorted(path.name for path in place.iterdir() if path.name not in ours)
    except FileNotFoundError:
        return
    except NotADirectoryError:
        foreign = ["a file"]
    if foreign:
        raise ConfigError(
            f"what stands where the index should go would be lost: {', '.join(foreign[:3])}",
            where=str(place),
            mend="name a folder that holds an index, is empty, or is not there yet",
        )


def publish(fresh: Path, place: Path, manifest: Manifest) -> Manifest:
    """Finishes the folder ``fresh`` and puts it at ``place``; the index that stood there is replaced.

    Nobody ever sees half an index or none: a reader finds the old folder, or the new one, also after a crash.
    """
    files = {path.name: path.stat().st_size for path in sorted(fresh.iterdir()) if path.name != MANIFEST_FILE}
    manifest = msgspec.structs.replace(manifest, files=files)
    write_manifest(fresh, manifest)
    for path in (*sorted(fresh.iterdir()), fresh):
        sync(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.exists():
        exchange(fresh, place)
        shutil.rmtree(fresh, ignore_errors=True)
    else:
        fresh.rename(place)
    sync(place.parent)
    return manifest


def open_published(place: Path, *, ef_search: int | None = None, dimension: int | None = None) -> PublishedIndex:
    """Opens an index for searching.

    Raises:
        ConfigError: It is missing, or its parts or the embedder disagree with its manifest (says which and how).
    """
    manifest = read_manifest(place)
    for name, size in manifest.files.items():
        path = place / name
        actual = path.stat().st_size if path.is_file() else None
        if actual != size:
            found = "it is missing" if actual is None else f"it has {actual:,}"
            raise _disagrees(place, f"{name} should have {size:,} bytes and {found}")
    spec = manifest.index if ef_search is None else msgspec.structs.replace(manifest.index, ef_search=ef_search)
    index = load_index(place / INDEX_FILE, spec)
    passages = PassageStore(place)
    if len(index) != manifest.total_passages or len(passages) != manifest.total_passages:
        raise _disagrees(
            place, f"{manifest.total_passages:,} passages, {len(index):,} vectors and {len(passages):,} stored texts"
        )
    for key, said in manifest.index_params.items():
        # What is set for a search is no part of what was built, and may be set anew.
        if key not in ("efSearch", "nprobe") and (actual := index.parameters().get(key)) != said:
            raise _disagrees(place, f"{key} should be {said}, and the index has {actual}")
    if index.dimension != manifest.embedding_dim:
        raise _disagrees(place, f"{manifest.embedding_dim} dimensions, and the index has {index.dimension}")
    if dimension is not None and dimension != index.dimension:
        raise ConfigError(
            f"the embedder gives {dimension} dimensions and the index has {index.dimension}",
            where=str(place),
            mend=f"use the embedder it was built with: {manifest.embedding_model}",
        )
    return PublishedIndex(manifest, index, passages)


def _disagrees(place: Path, how: str) -> ConfigError:
    return ConfigError(
        f"the index disagrees with its manifest: {how}", where=str(place / MANIFEST_FILE), mend="build it again"
    )
