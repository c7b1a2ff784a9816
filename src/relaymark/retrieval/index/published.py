"""The folder of an index: written beside its place, checked, and put there by one rename."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import msgspec

from relaymark.errors import ConfigError
from relaymark.retrieval.index.door import load_index
from relaymark.retrieval.index.manifest import MANIFEST_FILE, Manifest, read_manifest, write_manifest
from relaymark.retrieval.index.store import PassageStore
from relaymark.retrieval.protocols import VectorIndex

INDEX_FILE = "vectors.index"


@dataclass(frozen=True, slots=True)
class PublishedIndex:
    """An index as it is searched."""

    manifest: Manifest
    index: VectorIndex
    passages: PassageStore


def publish(fresh: Path, place: Path, manifest: Manifest) -> Manifest:
    """Finishes the folder ``fresh`` and puts it at ``place``; whatever index stood there is replaced.

    Nobody ever sees half an index: a reader finds the old folder, or the new one.
    """
    files = {path.name: path.stat().st_size for path in sorted(fresh.iterdir()) if path.name != MANIFEST_FILE}
    manifest = msgspec.structs.replace(manifest, files=files)
    write_manifest(fresh, manifest)
    place.parent.mkdir(parents=True, exist_ok=True)
    old = place.with_name(f".{place.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if place.exists():
        place.rename(old)
    fresh.rename(place)
    shutil.rmtree(old, ignore_errors=True)
    directory = os.open(place.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
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
