"""Sentence embedders from an ONNX file: tokenise, run, pool, normalise. e5, MiniLM, BGE and their kin."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from relaymark.errors import ConfigError
from relaymark.retrieval.embedding.runtimes import Runner, open_runner
from relaymark.retrieval.embedding.tokens import batches, open_tokenizer, padded
from relaymark.retrieval.embedding.trial import fastest
from relaymark.retrieval.specs import EmbedderSpec

Pooling = Literal["mean", "cls"]


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
        self._pool = ThreadPoolExecutor(self._run.streams) if self._run.streams > 1 else None
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
        return open_runner(model, runtime, precision, spec.threads, spec.streams)

    def _encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        encoded = [one.ids for one in self._tokenizer.encode_batch_fast(list(texts))]
        every = list(batches([len(ids) for ids in encoded], self._spec.batch_tokens))

        def compute(places: list[int]) -> NDArray[np.float32]:
            ids, mask = padded([encoded[place] for place in places])
            return self._pooled(self._run(ids, mask), mask)

        rows = list(map(compute, every) if self._pool is None else self._pool.map(compute, every))
        vectors = np.zeros((len(texts), rows[0].shape[1]), np.float32)
        for places, some in zip(every, rows, strict=True):
            vectors[places] = some
        return vectors

    def _pooled(self, states: NDArray[np.float32], mask: NDArray[np.int64]) -> NDArray[np.float32]:
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


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _told_pooling(home: Path) -> Pooling | None:
    """How the model's own files say to pool, if they do.

    Raises:
        ConfigError: In a way that is not known here, or through a layer that no ONNX file of an encoder holds.
    """
    folder = "1_Pooling"
    modules: Any = _json(home / "modules.json")
    for module in modules if isinstance(modules, list) else []:
        kind = str(module.get("type", "")).rpartition(".")[2] if isinstance(module, dict) else ""
        if kind == "Pooling":
            folder = str(module.get("path", folder))
        elif kind not in ("Transformer", "Normalize", ""):
            raise ConfigError(
                f"the model has a layer of its own, {kind}, behind its encoder",
                where=str(home / "modules.json"),
                mend="export it to ONNX with all its layers, and remove modules.json; or use sentence-transformers",
            )
    told = _json(home / folder / "config.json")
    if not isinstance(told, dict):
        return None
    ways = [str(told["pooling_mode"])] if isinstance(told.get("pooling_mode"), str) else []
    ways += [key.removeprefix("pooling_mode_") for key, value in told.items() if value is True and "_mode_" in key]
    known: dict[str, Pooling] = {"cls": "cls", "cls_token": "cls", "mean": "mean", "mean_tokens": "mean"}
    if len(ways) > 1 or any(way not in known for way in ways):
        raise ConfigError(
            f"the model pools by {' and '.join(ways)}, which is not known here",
            where=str(home / folder / "config.json"),
            mend="set embedder.pooling to mean or cls if that is right, or use sentence-transformers",
        )
    return known[ways[0]] if ways else None


def _told_length(home: Path) -> int | None:
    told = _json(home / "sentence_bert_config.json")
    length = told.get("max_seq_length") if isinstance(told, dict) else None
    return length if isinstance(length, int) and length > 0 else None
