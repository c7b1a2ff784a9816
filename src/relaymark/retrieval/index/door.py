"""Makes and loads vector indexes by kind."""

from __future__ import annotations

import os
from pathlib import Path

from relaymark.errors import ConfigError
from relaymark.retrieval.protocols import VectorIndex
from relaymark.retrieval.specs import IndexSpec


def new_index(spec: IndexSpec, dimension: int) -> VectorIndex:
    """An empty index.

    Raises:
        ConfigError: The package it needs isn't installed.
    """
    try:
        if spec.kind == "usearch":
            from relaymark.retrieval.index.usearch_index import UsearchIndex  # noqa: PLC0415 - only who has it

            return UsearchIndex(spec, dimension)
        _let_threads_sleep()
        from relaymark.retrieval.index.faiss_index import FaissIndex  # noqa: PLC0415 - only who has it

        return FaissIndex(spec, dimension)
    except ImportError as error:
        raise _missing(error) from None


def load_index(path: Path, spec: IndexSpec) -> VectorIndex:
    """An index that was saved.

    Raises:
        ConfigError: It is missing or can't be read, or the package it needs isn't installed.
    """
    if not path.is_file():
        raise ConfigError("there is no index", where=str(path), mend="build it with `relaymark run rag-build`")
    try:
        if spec.kind == "usearch":
            from relaymark.retrieval.index.usearch_index import UsearchIndex  # noqa: PLC0415 - only who has it

            return UsearchIndex.load(path, spec)
        _let_threads_sleep()
        from relaymark.retrieval.index.faiss_index import FaissIndex  # noqa: PLC0415 - only who has it

        return FaissIndex.load(path, spec)
    except ImportError as error:
        raise _missing(error) from None
    except ConfigError:
        raise
    except Exception as error:  # the packages' own kinds
        raise ConfigError(f"the index can't be read: {str(error)[:300]}", where=str(path)) from None


def _let_threads_sleep() -> None:
    """OpenMP's threads spin while they wait, on the cores that parsers and the embedder need: 720 documents/s with it,
    1,057 without (10,000 pages, 2 cores). Read once, when FAISS is loaded.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def _missing(error: ImportError) -> ConfigError:
    return ConfigError(
        f"the index needs a package that isn't installed: {error.name}",
        where="index.kind",
        mend="pip install 'relaymark[rag]'",
    )
