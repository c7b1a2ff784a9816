"""Late interaction over an ONNX encoder: ColBERTv2's own way, or that of MLPerf's reference, which loads the same
checkpoint as a plain BERT.

The folder of ``colbert`` holds ``model.onnx`` (last hidden states, or vectors that are projected already),
``tokenizer.json``, and ``linear.npy`` (the projection, shape (width, hidden)) where the ONNX file does not project.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relaymark.errors import ConfigError
from relaymark.retrieval.embedding.runtimes import open_runner
from relaymark.retrieval.embedding.tokens import batches, open_tokenizer
from relaymark.retrieval.reranking.maxsim import maxsim
from relaymark.retrieval.specs import RerankerSpec

# ColBERTv2 marks queries and passages with two tokens that BERT's vocabulary leaves unused.
_QUERY_MARK, _PASSAGE_MARK = "[unused0]", "[unused1]"


class LateInteraction:
    """Scores by token vectors. All passages of all queries are encoded together, in batches of like length."""

    def __init__(self, spec: RerankerSpec) -> None:
        folder = Path(spec.path)
        self._spec = spec
        self._plain = spec.kind == "plain"
        self._tokenizer = open_tokenizer(Path(spec.tokenizer) if spec.tokenizer else folder / "tokenizer.json", None)
        self._run = open_runner(folder / "model.onnx", "onnxruntime", "fp32", spec.threads)
        linear = folder / "linear.npy"
        self._linear: NDArray[np.float32] | None = None
        if not self._plain and linear.is_file():
            self._linear = np.load(linear, allow_pickle=False).astype(np.float32)
        self._cls, self._sep = self._token("[CLS]"), self._token("[SEP]")
        self._marks = () if self._plain else (self._token(_QUERY_MARK), self._token(_PASSAGE_MARK))
        self._fill = 0 if self._plain else self._token("[MASK]")
        self._skipped: NDArray[np.int64] = np.array(
            [] if self._plain else [found for mark in string.punctuation if (found := self._id(mark)) is not None],
            np.int64,
        )
        self.name = f"{folder.name}, {'raw dot products' if self._plain else 'ColBERTv2'}, {self._run.name}"

    def scores(self, queries: Sequence[str], passages: Sequence[Sequence[str]]) -> list[list[float]]:
        """For each query, one score per passage of its own, in input order."""
        vectors, masks = self._encode_passages([text for texts in passages for text in texts])
        scored: list[list[float]] = []
        begin = 0
        for query, texts in zip(queries, passages, strict=True):
            end = begin + len(texts)
            scored.append(self._score(self._encode_query(query), vectors[begin:end], masks[begin:end]))
            begin = end
        return scored

    def _score(
        self,
        query: NDArray[np.float32],
        vectors: Sequence[NDArray[np.float32]],
        masks: Sequence[NDArray[np.bool_]],
    ) -> list[float]:
        if not vectors:
            return []
        longest = max(map(len, vectors))
        padded = np.zeros((len(vectors), longest, query.shape[1]), np.float32)
        mask = np.zeros((len(vectors), longest), np.bool_)
        for row, (vector, counts) in enumerate(zip(vectors, masks, strict=True)):
            padded[row, : len(vector)] = vector
            mask[row, : len(vector)] = counts
        return [float(score) for score in maxsim(query, padded, mask)]

    def _encode_query(self, query: str) -> NDArray[np.float32]:
        ids = self._ids(query, self._spec.query_length, 0)
        mask = np.ones((1, len(ids)), np.int64)
        if not self._plain:
            # Query augmentation: filled up with mask tokens, which are scored though attention passes them by.
            missing = self._spec.query_length - len(ids)
            ids = ids + [self._fill] * missing
            mask = np.concatenate((mask, np.zeros((1, missing), np.int64)), axis=1)
        return self._project(self._run(np.array([ids], np.int64), mask))[0]

    def _encode_passages(self, texts: Sequence[str]) -> tuple[list[NDArray[np.float32]], list[NDArray[np.bool_]]]:
        every = [self._ids(text, self._spec.passage_length, 1) for text in texts]
        vectors: list[Any] = [None] * len(texts)
        masks: list[Any] = [None] * len(texts)
        for places in batches([len(ids) for ids in every], self._spec.batch_tokens):
            longest = len(every[places[0]])
            ids = np.zeros((len(places), longest), np.int64)
            mask = np.zeros((len(places), longest), np.int64)
            for row, place in enumerate(places):
                ids[row, : len(every[place])] = every[place]
                mask[row, : len(every[place])] = 1
            states = self._project(self._run(ids, mask))
            for row, place in enumerate(places):
                count = len(every[place])
                vectors[place] = states[row, :count]
                masks[place] = ~np.isin(ids[row, :count], self._skipped)
        return vectors, masks

    def _ids(self, text: str, length: int, mark: int) -> list[int]:
        ids = self._tokenizer.encode(text, add_special_tokens=False).ids
        marks = [self._marks[mark]] if self._marks else []
        return [self._cls, *marks, *ids[: length - 2 - len(marks)], self._sep]

    def _project(self, states: NDArray[np.float32]) -> NDArray[np.float32]:
        if self._plain:
            return states
        if self._linear is not None:
            states = states @ self._linear.T
        return states / np.maximum(np.linalg.norm(states, axis=-1, keepdims=True), 1e-12)

    def _id(self, token: str) -> int | None:
        return self._tokenizer.token_to_id(token)

    def _token(self, token: str) -> int:
        found = self._id(token)
        if found is None:
            raise ConfigError(
                f"the tokenizer has no {token}, which late interaction over BERT needs",
                where=self._spec.path,
                mend="use kind: plain, or another model",
            )
        return found
