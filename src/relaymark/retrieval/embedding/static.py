"""Static embeddings: the mean of a text's token vectors. No model runs, which is enough to exercise everything else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from relaymark.errors import ConfigError
from relaymark.retrieval.embedding.tokens import open_tokenizer
from relaymark.retrieval.specs import EmbedderSpec

_AT_ONCE = 256  # texts


class StaticEmbedder:
    """A matrix of token vectors (``.safetensors``) and a tokenizer, as wordllama and model2vec have them.

    model2vec's files may hold a weight for each token and a mapping from tokens to rows too, and its tokens without a
    vector of their own (the unknown one) count for nothing.
    """

    precision = "fp32"

    def __init__(self, spec: EmbedderSpec) -> None:
        weights, tokenizer = _files(spec)
        tensors: dict[str, NDArray[Any]] = load_file(weights)
        matrices = [tensor for tensor in tensors.values() if tensor.ndim == 2]
        if len(matrices) != 1:
            raise ConfigError(f"a static embedder has one matrix, this file has {len(matrices)}", where=str(weights))
        self._matrix: NDArray[np.float32] = np.ascontiguousarray(matrices[0], dtype=np.float32)
        mapping, scale = tensors.get("mapping"), tensors.get("weights")
        self._rows = None if mapping is None else mapping.astype(np.int64)
        self._scale = None if scale is None else np.ascontiguousarray(scale, dtype=np.float32)
        self._tokenizer = open_tokenizer(tokenizer, None)
        self._unknown = _unknown(tokenizer) if (weights.parent / "config.json").is_file() else None
        self._spec = spec
        tokens = self._tokenizer.get_vocab_size()
        known = min(
            len(each) for each in (self._scale, self._matrix if mapping is None else mapping) if each is not None
        )
        if known < tokens or (self._rows is not None and self._rows.max(initial=0) >= len(self._matrix)):
            raise ConfigError(
                f"the tokenizer has {tokens:,} tokens and the matrix vectors for {known:,}",
                where=str(weights),
                mend="use the tokenizer that belongs to the matrix",
            )
        self.dimension = int(self._matrix.shape[1])
        self.name = f"static {weights.stem}, {self.dimension} dimensions"

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of passages."""
        return self._embed([self._spec.passage_prefix + text for text in texts] if self._spec.passage_prefix else texts)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of queries."""
        return self._embed([self._spec.query_prefix + text for text in texts] if self._spec.query_prefix else texts)

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for begin in range(0, len(texts), _AT_ONCE):
            some = list(texts[begin : begin + _AT_ONCE])
            encoded = self._tokenizer.encode_batch_fast(some, add_special_tokens=False)
            for place, one in enumerate(encoded, begin):
                ids = one.ids
                if self._unknown is not None:
                    ids = [token for token in ids if token != self._unknown]
                if ids:
                    # A text at a time: its rows stay in the cache (0.1 ms a passage; 0.4 for 2,048 texts at once).
                    vectors[place] = self._of(ids).mean(axis=0)
        if self._spec.normalise:
            norms = np.linalg.norm(vectors, axis=1, keepdims=True)
            np.divide(vectors, norms, out=vectors, where=norms > 0)
        return vectors

    def _of(self, ids: list[int]) -> NDArray[np.float32]:
        rows: Any = ids if self._rows is None else self._rows.take(ids)
        taken = self._matrix.take(rows, axis=0, mode="clip")  # all are within; clip spares the check of each
        return taken if self._scale is None else taken * self._scale.take(ids)[:, None]


def _unknown(tokenizer: Path) -> int | None:
    """The token of what a tokenizer does not know."""
    model: Any = json.loads(tokenizer.read_text(encoding="utf-8")).get("model", {})
    name = model.get("unk_token")
    if model.get("type") == "Unigram":
        found = model.get("unk_id")
    else:
        found = model.get("vocab", {}).get(name) if isinstance(name, str) else None
    return found if isinstance(found, int) else None


def _files(spec: EmbedderSpec) -> tuple[Path, Path]:
    folder = Path(spec.path)
    if spec.path == "wordllama":
        package = find_spec("wordllama")
        if package is None or package.origin is None:
            raise ConfigError(
                "the package wordllama isn't installed",
                where="embedder.path",
                mend="pip install 'relaymark[rag]', or name a folder with a static model",
            )
        home = Path(package.origin).parent
        weights, tokenizers = sorted(home.glob("weights/*.safetensors")), sorted(home.glob("tokenizers/*.json"))
    else:
        weights, tokenizers = sorted(folder.glob("*.safetensors")), sorted(folder.glob("tokenizer.json"))
    if spec.tokenizer:
        tokenizers = [Path(spec.tokenizer)]
    if not weights or not tokenizers:
        raise ConfigError(
            "there is no static model here", where=str(folder), mend="it has a *.safetensors file and a tokenizer.json"
        )
    return weights[0], tokenizers[0]
