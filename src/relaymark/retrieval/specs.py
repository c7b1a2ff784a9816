"""Settings of the stages of retrieval, as plain data that goes to other processes."""

from __future__ import annotations

from typing import Literal

import msgspec

EmbedderKind = Literal["static", "onnx", "endpoint", "sentence-transformers"]
Runtime = Literal["auto", "onnxruntime", "openvino"]
Precision = Literal["auto", "fp32", "bf16"]


class EmbedderSpec(msgspec.Struct, kw_only=True, frozen=True):
    """An embedder.

    ``static``: ``path`` is a folder with one matrix in a ``.safetensors`` file and a ``tokenizer.json``, or the word
    ``wordllama`` for the weights inside that package. ``onnx``: ``path`` is a folder with ``model.onnx`` and
    ``tokenizer.json`` (sentence-transformers' own layout is read where it is there). ``endpoint``: ``url`` of a server
    that speaks ``/v1/embeddings``. ``sentence-transformers``: ``path`` is a folder or name that this package can load,
    where a user has it.
    """

    kind: EmbedderKind
    path: str = ""
    tokenizer: str = ""  # file; else beside the model
    url: str = ""
    model: str = ""
    api_key_env: str = ""
    runtime: Runtime = "auto"
    precision: Precision = "fp32"  # auto: the fastest that this machine computes well
    threads: int = 0  # 0: as many as there are cores
    streams: int = 1  # batches at a time, which share the threads: more for throughput, one for an answer soon
    pooling: Literal["mean", "cls"] | None = None  # None: as the model's own files say, else mean
    normalise: bool = True
    max_length: int = 512  # tokens; longer texts are cut
    query_prefix: str = ""  # e5 models want "query: " and "passage: "; MLPerf's reference gives none
    passage_prefix: str = ""
    batch_tokens: int = 512  # what a core's cache holds: on one here 38 passages/s, with 4,096 tokens 18


class RerankerSpec(msgspec.Struct, kw_only=True, frozen=True):
    """Late interaction by token vectors of an ONNX model, an endpoint that speaks ``/v1/rerank``, or nothing.

    ``colbert``: ColBERTv2's own way (markers, a query filled up with mask tokens, projected unit vectors, no
    punctuation among a passage's tokens). ``plain``: MLPerf's reference: raw dot products of a BERT's last states.
    """

    kind: Literal["none", "colbert", "plain", "endpoint"] = "none"
    path: str = ""
    tokenizer: str = ""
    url: str = ""
    model: str = ""
    api_key_env: str = ""
    threads: int = 0
    query_length: int = 32
    passage_length: int = 512
    batch_tokens: int = 1024


class IndexSpec(msgspec.Struct, kw_only=True, frozen=True):
    """A vector index; the defaults are MLPerf Inference v6.1's."""

    kind: Literal["hnsw", "flat", "ivf", "usearch"] = "hnsw"
    m: int = 32
    ef_construction: int = 200
    ef_search: int = 100
    lists: int = 0  # ivf: 0 for 4·√n
    probes: int = 16  # ivf
    threads: int = 0


class ServerSpec(msgspec.Struct, kw_only=True, frozen=True):
    """What a retrieval server serves."""

    index: str  # folder of a published index
    embedder: EmbedderSpec
    reranker: RerankerSpec = RerankerSpec()
    ef_search: int | None = None
    wait_ms: float = 0.0  # that an idle stage waits for company
