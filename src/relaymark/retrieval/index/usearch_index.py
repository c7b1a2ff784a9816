"""HNSW by usearch: another library behind the same door."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from usearch.index import Index

from relaymark.errors import ConfigError
from relaymark.retrieval.specs import IndexSpec


class UsearchIndex:
    """Rows are numbered as they are added; squared L2."""

    def __init__(self, spec: IndexSpec, dimension: int, index: Any = None) -> None:
        self._spec = spec
        self.dimension = dimension
        self._index: Any = index
        if index is None:
            self._index = Index(
                ndim=dimension,
                metric="l2sq",
                dtype="f32",
                connectivity=spec.m,
                expansion_add=spec.ef_construction,
                expansion_search=spec.ef_search,
            )
        # Rows added at once may miss one another as neighbours: in one build of some thirty the share of the nearest
        # five that were found fell from 1.0 to 0.9. More threads only where they are asked for.
        self._threads = spec.threads or 1

    @classmethod
    def load(cls, path: Path, spec: IndexSpec) -> UsearchIndex:
        """Reads one that was saved."""
        index: Any = Index.restore(str(path))
        if index is None:
            raise ConfigError("this is no usearch index", where=str(path))
        index.expansion_search = spec.ef_search
        return cls(spec, int(index.ndim), index)

    def __len__(self) -> int:
        return len(self._index)

    def add(self, vectors: NDArray[np.float32]) -> None:
        """Appends rows."""
        if vectors.shape[1] != self.dimension:
            raise ConfigError(
                f"vectors of {vectors.shape[1]} dimensions for an index of {self.dimension}",
                mend="use the embedder that the index was begun with",
            )
        first = len(self._index)
        keys = np.arange(first, first + len(vectors), dtype=np.uint64)
        self._index.add(keys, np.ascontiguousarray(vectors), threads=self._threads)

    def search(self, queries: NDArray[np.float32], k: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Squared distances and rows, nearest first."""
        if queries.shape[1] != self.dimension:
            raise ConfigError(
                f"a query of {queries.shape[1]} dimensions for an index of {self.dimension}",
                mend="use the embedder that the index was built with",
            )
        distances = np.full((len(queries), k), np.inf, np.float32)
        rows = np.full((len(queries), k), -1, np.int64)
        for place, query in enumerate(queries):
            found: Any = self._index.search(query, k)
            count = len(found.keys)
            distances[place, :count] = found.distances
            rows[place, :count] = found.keys
        return distances, rows

    def parameters(self) -> dict[str, int | float | str]:
        """What a manifest says of it. The file does not keep efConstruction: that is the specification's."""
        return {
            "class": "usearch HNSW",
            "dim": self.dimension,
            "metric": "l2sq",
            "M": int(self._index.connectivity),
            "efConstruction": self._spec.ef_construction,
            "efSearch": int(self._index.expansion_search),
        }

    def save(self, path: Path) -> None:
        """Writes it to one file."""
        self._index.save(str(path))
