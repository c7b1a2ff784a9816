"""Embeddings from a server that speaks ``/v1/embeddings``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from relaymark.errors import UnreachableError
from relaymark.retrieval.http_call import JsonEndpoint
from relaymark.retrieval.specs import EmbedderSpec

_AT_ONCE = 64


class EndpointEmbedder:
    """Asks for up to 64 texts at once. Every text must come back as a vector of the same length, none left out."""

    precision = "the endpoint's"

    def __init__(self, spec: EmbedderSpec) -> None:
        self._spec = spec
        self._endpoint = JsonEndpoint(spec.url, "/v1/embeddings", spec.api_key_env)
        self.name = f"{spec.model or 'embeddings'} at {spec.url}"
        self.dimension = 0
        self.dimension = int(self._embed(["a"]).shape[1])

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of passages."""
        return self._embed([self._spec.passage_prefix + text for text in texts])

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of queries."""
        return self._embed([self._spec.query_prefix + text for text in texts])

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows: list[list[float]] = []
        for begin in range(0, len(texts), _AT_ONCE):
            some = list(texts[begin : begin + _AT_ONCE])
            body = {"input": some, **({"model": self._spec.model} if self._spec.model else {})}
            rows += _vectors(self._endpoint.post(body), len(some), self._spec.url)
        widths = {len(row) for row in rows} | ({self.dimension} if self.dimension else set())
        if len(widths) > 1 or widths == {0}:
            raise UnreachableError(f"Vectors of different lengths came back: {sorted(widths)}.", where=self._spec.url)
        vectors = np.array(rows, np.float32).reshape(len(rows), -1)
        if self._spec.normalise and len(vectors):
            vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return vectors


def _vectors(answer: dict[str, Any], count: int, where: str) -> list[list[float]]:
    """The vectors of an answer in the order of the texts. A server that drops a text that is too long, as some do,
    would shift all that follow: the count must be right.
    """
    data: Any = answer.get("data")
    entries = (
        [cast(dict[str, Any], one) for one in cast(list[Any], data) if isinstance(one, dict)]
        if isinstance(data, list)
        else []
    )
    if len(entries) != count:
        raise UnreachableError(f"{count} texts were sent and {len(entries)} vectors came back.", where=where)

    def place(entry: dict[str, Any]) -> int:
        return int(entry.get("index", 0))

    return [entry.get("embedding") or [] for entry in sorted(entries, key=place)]
