"""Embeddings by the package sentence-transformers, where a user has it: any model it can load, as it computes it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer  # pyright: ignore[reportMissingImports] - a user's own extra

from relaymark.errors import ConfigError
from relaymark.retrieval.specs import EmbedderSpec


class SentenceEmbedder:
    """Pooling and precision are the model's own; length, normalisation and prefixes the specification's."""

    def __init__(self, spec: EmbedderSpec) -> None:
        try:
            self._model: Any = SentenceTransformer(spec.path)
        except Exception as error:  # the package, torch and the hub each have their own kinds
            raise ConfigError(f"sentence-transformers can't load it: {str(error)[:300]}", where=spec.path) from None
        if told := self._model.max_seq_length:
            self._model.max_seq_length = min(int(told), spec.max_length)
        self._spec = spec
        self.dimension = int(self._encode(["a"]).shape[1])
        self.precision = str(next(self._model.parameters()).dtype).removeprefix("torch.")
        self.name = f"{spec.path}, sentence-transformers {version('sentence-transformers')} on {self._model.device}"

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of passages."""
        return self._encode([self._spec.passage_prefix + text for text in texts])

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of queries."""
        return self._encode([self._spec.query_prefix + text for text in texts])

    def _encode(self, texts: list[str]) -> NDArray[np.float32]:
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        found = self._model.encode(
            texts, convert_to_numpy=True, normalize_embeddings=self._spec.normalise, show_progress_bar=False
        )
        return np.asarray(found, np.float32)
