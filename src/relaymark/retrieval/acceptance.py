"""Whether an index is the one it should be: MLPerf's checks of a database, and its probe of what retrieval finds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relaymark.retrieval.index import PublishedIndex
from relaymark.retrieval.protocols import Embedder


def success_accuracy(documents: int, failed: int) -> float:
    """Share of documents that were taken in, in percent: what the reference once meant by the build's accuracy."""
    return 100.0 * (documents - failed) / documents if documents else 0.0


def document_overlap(
    queries: Sequence[str],
    index: PublishedIndex,
    embedder: Embedder,
    reference: PublishedIndex,
    reference_embedder: Embedder,
    top: int = 10,
) -> float:
    """Mean share of the reference's documents that the index finds too, over their ``top`` passages.

    For each query |reference ∩ found| / |reference|, sets of distinct documents: what the published v6.1 submission
    called the build's accuracy (as a percentage).
    """
    if not queries:
        return 0.0
    wanted = _documents(queries, reference, reference_embedder, top)
    found = _documents(queries, index, embedder, top)
    return float(np.mean([len(a & b) / len(a) if a else 1.0 for a, b in zip(wanted, found, strict=True)]))


def _documents(queries: Sequence[str], index: PublishedIndex, embedder: Embedder, top: int) -> list[set[str]]:
    _, rows = index.index.search(embedder.embed_queries(queries), top)
    return [{index.passages[int(row)].url for row in found if row >= 0} for found in rows]
