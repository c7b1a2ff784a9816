"""FAISS: HNSW, flat and IVF, squared L2 as MLPerf has it (for unit vectors the order of cosine)."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from relaymark.errors import ConfigError
from relaymark.retrieval.specs import IndexSpec

_faiss: Any = faiss
_MOST_TRAINING = 100_000  # rows that IVF is trained on
_CLASSES = {"hnsw": "IndexHNSWFlat", "flat": "IndexFlat", "ivf": "IndexIVFFlat"}


class FaissIndex:
    """Rows are numbered as they are added. IVF is trained on what was added until it is first searched or saved."""

    def __init__(self, spec: IndexSpec, dimension: int, index: Any = None) -> None:
        self._spec = spec
        self.dimension = dimension
        _faiss.omp_set_num_threads(spec.threads or os.cpu_count() or 1)
        self._untrained: list[NDArray[np.float32]] = []
        self._index: Any = index
        if index is None and spec.kind == "hnsw":
            self._index = _faiss.IndexHNSWFlat(dimension, spec.m)
            self._index.hnsw.efConstruction = spec.ef_construction
        elif index is None and spec.kind == "flat":
            self._index = _faiss.IndexFlatL2(dimension)
        if spec.kind == "hnsw":
            self._index.hnsw.efSearch = spec.ef_search

    @classmethod
    def load(cls, path: Path, spec: IndexSpec) -> FaissIndex:
        """Reads one that was saved.

        Raises:
            ConfigError: It is of another kind than the specification says.
        """
        index = _faiss.read_index(str(path))
        if not isinstance(index, getattr(_faiss, _CLASSES[spec.kind])):
            raise ConfigError(
                f"the index is a {type(index).__name__} and should be of kind {spec.kind}",
                where=str(path),
                mend="build it again",
            )
        return cls(spec, int(index.d), index)

    def __len__(self) -> int:
        return (int(self._index.ntotal) if self._index is not None else 0) + sum(map(len, self._untrained))

    def add(self, vectors: NDArray[np.float32]) -> None:
        """Appends rows.

        Raises:
            ConfigError: They are of another dimension.
        """
        if vectors.shape[1] != self.dimension:
            raise ConfigError(
                f"vectors of {vectors.shape[1]} dimensions for an index of {self.dimension}",
                mend="use the embedder that the index was begun with",
            )
        if self._index is None:
            self._untrained.append(vectors)
        else:
            self._index.add(np.ascontiguousarray(vectors))

    def search(self, queries: NDArray[np.float32], k: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Squared distances and rows, nearest first."""
        self._train()
        if queries.shape[1] != self.dimension:
            raise ConfigError(
                f"a query of {queries.shape[1]} dimensions for an index of {self.dimension}",
                mend="use the embedder that the index was built with",
            )
        return self._index.search(np.ascontiguousarray(queries), k)

    def parameters(self) -> dict[str, int | float | str]:
        """What the index itself says of it; the keys are MLPerf's."""
        self._train()
        told: dict[str, int | float | str] = {"dim": self.dimension, "metric": int(self._index.metric_type)}
        if self._spec.kind == "hnsw":
            hnsw = self._index.hnsw
            return {
                "class": "IndexHNSWFlat",
                **told,
                "M": int(hnsw.nb_neighbors(1)),  # of a layer above the lowest, which has twice as many
                "efConstruction": int(hnsw.efConstruction),
                "efSearch": int(hnsw.efSearch),
            }
        if self._spec.kind == "flat":
            return {"class": "IndexFlatL2", **told}
        return {"class": "IndexIVFFlat", **told, "nlist": int(self._index.nlist), "nprobe": int(self._index.nprobe)}

    def save(self, path: Path) -> None:
        """Writes it to one file."""
        self._train()
        _faiss.write_index(self._index, str(path))

    def _train(self) -> None:
        if self._index is None:
            rows = np.concatenate(self._untrained) if self._untrained else np.zeros((0, self.dimension), np.float32)
            lists = min(self._spec.lists or max(1, int(4 * math.sqrt(len(rows)))), max(1, len(rows)))
            self._index = _faiss.IndexIVFFlat(_faiss.IndexFlatL2(self.dimension), self.dimension, lists)
            if len(rows):
                self._index.train(rows[:_MOST_TRAINING])
                self._index.add(rows)
            self._untrained = []
        if self._spec.kind == "ivf":
            self._index.nprobe = self._spec.probes
