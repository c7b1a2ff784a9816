"""Late interaction over an ONNX encoder: ColBERTv2's own way, or that of MLPerf's reference, which loads the same
checkpoint as a plain BERT.

The folder of ``colbert`` is the checkpoint's, with the encoder as ``model.onnx`` or ``onnx/model.onnx``, and
``tokenizer.json``. The projection is ``linear.weight`` of ``model.safetensors``, or ``linear.npy`` of shape (width,
hidden), or in the ONNX file already. ``artifact.metadata``, where it is there, says how the checkpoint was trained.
"""

from __future__ import annotations

import json
import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open

from relaymark.errors import ConfigError
from relaymark.retrieval.embedding.runtimes import open_runner
from relaymark.retrieval.embedding.tokens import batches, open_tokenizer, padded
from relaymark.retrieval.reranking.maxsim import maxsim
from relaymark.retrieval.specs import RerankerSpec

# ColBERTv2 marks queries and passages with two tokens that BERT's vocabulary leaves unused.
_QUERY_MARK, _PASSAGE_MARK = "[unused0]", "[unused1]"


class Artifact(msgspec.Struct, frozen=True):
    """What ``artifact.metadata`` says; the defaults are ColBERTv2's."""

    query_token_id: str = _QUERY_MARK
    doc_token_id: str = _PASSAGE_MARK
    mask_punctuation: bool = True
    attend_to_mask_tokens: bool = False


class LateInteraction:
    """Scores by token vectors. All passages of all queries are encoded together, in batches of like length."""

    def __init__(self, spec: RerankerSpec) -> None:
        folder = Path(spec.path)
        self._spec = spec
        self._plain = spec.kind == "plain"
        self._tokenizer = open_tokenizer(Path(spec.tokenizer) if spec.tokenizer else folder / "tokenizer.json", None)
        within = folder / "onnx" / "model.onnx"
        model = within if within.is_file() else folder / "model.onnx"
        self._run = open_runner(model, "onnxruntime", "fp32", spec.threads)
        self._cls, self._sep = self._token("[CLS]"), self._token("[SEP]")
        self._linear: NDArray[np.float32] | None = None
        self._attend = 0
        self._marks: tuple[int, ...] = ()
        self._fill = 0
        self._skipped = np.zeros(0, np.int64)
        if not self._plain:
            told = _artifact(folder)
            self._marks = self._token(told.query_token_id), self._token(told.doc_token_id)
            self._fill = self._token("[MASK]")
            self._attend = int(told.attend_to_mask_tokens)
            marks = string.punctuation if told.mask_punctuation else ""
            self._skipped = np.array([found for mark in marks if (found := self._id(mark)) is not None], np.int64)
            self._linear = self._projection(folder)
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
            mask = np.concatenate((mask, np.full((1, missing), self._attend, np.int64)), axis=1)
        return self._project(self._run(np.array([ids], np.int64), mask))[0]

    def _encode_passages(self, texts: Sequence[str]) -> tuple[list[NDArray[np.float32]], list[NDArray[np.bool_]]]:
        every = [self._ids(text, self._spec.passage_length, 1) for text in texts]
        vectors: list[Any] = [None] * len(texts)
        masks: list[Any] = [None] * len(texts)
        for places in batches([len(ids) for ids in every], self._spec.batch_tokens):
            ids, mask = padded([every[place] for place in places])
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

    def _projection(self, folder: Path) -> NDArray[np.float32] | None:
        """The linear layer, shape (width, hidden); ``None`` where the ONNX file gives vectors of another width than the
        encoder's own, which are projected already.

        Raises:
            ConfigError: There is none, or it does not fit: plain states would be scored as if they were projected.
        """
        width = int(self._run(np.array([[self._cls, self._sep]], np.int64), np.ones((1, 2), np.int64)).shape[-1])
        linear = _linear(folder)
        if linear is None:
            if width == _hidden_size(folder):
                raise ConfigError(
                    f"the model gives an encoder's {width} states and there is no projection beside it",
                    where=str(folder),
                    mend="put the checkpoint's model.safetensors (or linear.npy) there, or use kind: plain",
                )
            return None
        if linear.shape[1] != width:
            if linear.shape[0] == width:
                return None
            raise ConfigError(
                f"the projection takes {linear.shape[1]} states and the model gives {width}", where=str(folder)
            )
        return linear

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


def _artifact(folder: Path) -> Artifact:
    path = folder / "artifact.metadata"
    if not path.is_file():
        return Artifact()
    try:
        return msgspec.json.decode(path.read_bytes(), type=Artifact)
    except msgspec.MsgspecError as error:
        raise ConfigError(f"this is no ColBERT's metadata: {error}", where=str(path)) from None


def _linear(folder: Path) -> NDArray[np.float32] | None:
    weights, array = folder / "model.safetensors", folder / "linear.npy"
    try:
        if array.is_file():
            return np.load(array, allow_pickle=False).astype(np.float32)
        if weights.is_file():
            with safe_open(weights, framework="numpy") as file:
                names: list[str] = list(file.keys())
                return file.get_tensor("linear.weight").astype(np.float32) if "linear.weight" in names else None
    except Exception as error:  # numpy's and safetensors' own kinds
        raise ConfigError(f"the projection can't be read: {str(error)[:200]}", where=str(folder)) from None
    return None


def _hidden_size(folder: Path) -> int | None:
    try:
        found: Any = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found.get("hidden_size") if isinstance(found, dict) else None
