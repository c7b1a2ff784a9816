"""What an index says of itself: exact counts, what made it, and a hash of its texts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from relaymark.errors import ConfigError
from relaymark.retrieval.specs import IndexSpec

MANIFEST_FILE = "manifest.json"


class Manifest(msgspec.Struct, kw_only=True, frozen=True):
    """The manifest of a published index. ``corpus_set_sha256`` is MLPerf's recipe (:func:`text_set_sha256`)."""

    schema: int = 1
    documents: int
    failed: int
    empty: int
    total_passages: int
    embedding_dim: int
    embedding_model: str
    embedding_precision: str
    index_params: dict[str, int | float | str]
    index: IndexSpec
    parser: str  # with the versions of its libraries, which decide the text
    window: int
    stride: int
    corpus_set_sha256: str
    files: dict[str, int] = {}  # bytes of each file of the folder


def text_set_sha256(digests: Iterable[bytes]) -> str:
    """The hash of a set of texts, whatever their order: duplicates count.

    ``digests`` are the SHA-256 of each passage's UTF-8 text. Their hex forms are sorted and fed to one SHA-256, each
    followed by a zero byte (MLPerf Inference v6.1, end-to-end RAG, manifest version 2).
    """
    whole = hashlib.sha256()
    for digest in sorted(digests):  # bytes sort as their hex forms do
        whole.update(digest.hex().encode() + b"\0")
    return whole.hexdigest()


def text_digest(text: str) -> bytes:
    """SHA-256 of one text."""
    return hashlib.sha256(text.encode()).digest()


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Writes it."""
    (folder / MANIFEST_FILE).write_bytes(msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n")


def read_manifest(folder: Path) -> Manifest:
    """Reads it.

    Raises:
        ConfigError: It is missing or none.
    """
    path = folder / MANIFEST_FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=Manifest)
    except OSError as error:
        raise ConfigError(
            f"there is no published index: {error.strerror or error}",
            where=str(path),
            mend="build one with `relaymark run rag-build FILE.yaml`",
        ) from None
    except msgspec.MsgspecError as error:
        raise ConfigError(f"the manifest can't be read: {error}", where=str(path), mend="build it again") from None
