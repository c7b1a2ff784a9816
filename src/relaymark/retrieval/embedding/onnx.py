"""Sentence embedders from an ONNX file: tokenise, run, pool, normalise. e5, MiniLM, BGE and their kin."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relaymark.errors import ConfigError
from relaymark.retrieval.embedding.runtimes import Runner, open_runner
from relaymark.retrieval.embedding.tokens import batches, open_tokenizer
from relaymark.retrieval.embedding.trial import fastest
from relaymark.retrieval.specs import EmbedderSpec


class OnnxEmbedder:
    """An encoder in a folder: ``model.onnx`` (or ``onnx/model.onnx``), ``tokenizer.json``, and sentence-transformers'
    own files where there are any, which say how to pool and how long a text may be.
    """

    def __init__(self, spec: EmbedderSpec) -> None:
        folder = Path(spec.path)
        model = folder if folder.suffix == ".onnx" else _first(folder, "model.onnx", "onnx/model.onnx")
        home = model.parent.parent if model.parent.name == "onnx" else model.parent
        self._pooling = spec.pooling or _told_pooling(home) or "mean"
        self._normalise = spec.normalise
        self._spec = spec
        length = min(spec.max_length, _told_length(home) or spec.max_length)
        self._tokenizer = open_tokenizer(Path(spec.tokenizer) if spec.tokenizer else home / "tokenizer.json", length)
        self._run = self._open(model)
        self.dimension = int(self._encode(["a"]).shape[1])
        self.precision = self._run.precision
        self.name = f"{home.name or model.stem}, {self._pooling} pooling, {self._run.name}"

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of passages."""
        return self._encode([self._spec.passage_prefix + text for text in texts])

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of queries."""
        return self._encode([self._spec.query_prefix + text for text in texts])

    def _open(self, model: Path) -> Runner:
        spec = self._spec
        runtime, precision = (spec.runtime, spec.precision) if spec.runtime != "auto" else fastest(spec, model)
        return open_runner(model, runtime, precision, spec.threads)

    def _encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        encoded = [one.ids for one in self._tokenizer.encode_batch_fast(list(texts))]
        vectors: NDArray[np.float32] | None = None
        for places in batches([len(ids) for ids in encoded], self._spec.batch_tokens):
            longest = max(1, len(encoded[places[0]]))
            ids = np.zeros((len(places), longest), np.int64)
            mask = np.zeros((len(places), longest), np.int64)
            for row, place in enumerate(places):
                ids[row, : len(encoded[place])] = encoded[place]
                mask[row, : len(encoded[place])] = 1
            pooled = self._pool(self._run(ids, mask), mask)
            if vectors is None:
                vectors = np.zeros((len(texts), pooled.shape[1]), np.float32)
            vectors[places] = pooled
        if vectors is None:
            return np.zeros((0, self.dimension), np.float32)
        return vectors

    def _pool(self, states: NDArray[np.float32], mask: NDArray[np.int64]) -> NDArray[np.float32]:
        if states.ndim == 2:
            pooled = states  # the file pools by itself
        elif self._pooling == "cls":
            pooled = states[:, 0]
        else:
            weights = mask[:, :, None].astype(np.float32)
            pooled = (states * weights).sum(1) / np.maximum(weights.sum(1), 1e-9)
        if self._normalise:
            pooled = pooled / np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), 1e-12)
        return pooled


def _first(folder: Path, *names: str) -> Path:
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise ConfigError(f"there is no {' or '.join(names)} here", where=str(folder), mend="export the model to ONNX")


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _told_pooling(home: Path) -> str | None:
    told = _json(home / "1_Pooling" / "config.json")
    if told.get("pooling_mode_cls_token"):
        return "cls"
    return "mean" if told.get("pooling_mode_mean_tokens") else None


def _told_length(home: Path) -> int | None:
    told = _json(home / "sentence_bert_config.json").get("max_seq_length")
    return told if isinstance(told, int) and told > 0 else None
