"""The seams of retrieval: what an embedder, a reranker and a vector index must do, whoever made them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Passage(msgspec.Struct, frozen=True):
    """One window of one document's text, as the index holds it."""

    source: str  # the document's path under the corpus folder
    number: int  # position among the document's passages, from 0
    url: str  # where the document came from; its path where nobody said
    text: str
    title: str = ""


class Embedder(Protocol):
    """Turns texts into vectors, one row each, float32."""

    name: str  # model and runtime, for the manifest
    precision: str  # what it computes in: fp32, bf16, int8, …
    dimension: int

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of passages, shape (len(texts), dimension)."""
        ...

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of queries; another prefix than passages have, where the model wants one."""
        ...


class Reranker(Protocol):
    """Scores passages for a query; higher is better."""

    name: str

    def scores(self, queries: Sequence[str], passages: Sequence[Sequence[str]]) -> list[list[float]]:
        """For each query, one score per passage of its own, in input order."""
        ...


class VectorIndex(Protocol):
    """Nearest neighbours of a vector among rows numbered in the order they were added."""

    dimension: int

    def __len__(self) -> int: ...

    def add(self, vectors: NDArray[np.float32]) -> None:
        """Appends rows."""
        ...

    def search(self, queries: NDArray[np.float32], k: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Distances and rows, both of shape (queries, k), nearest first; row -1 where there are fewer than k."""
        ...

    def parameters(self) -> dict[str, int | float | str]:
        """What a manifest says of it: class, dimension, metric, M, efConstruction, efSearch."""
        ...

    def save(self, path: Path) -> None:
        """Writes it to one file."""
        ...
