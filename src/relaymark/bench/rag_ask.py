"""The benchmark file of question answering over an index: ``kind: rag-ask``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from relaymark.bench._fields import Count, CountOrZero, Duration, Section, refuse
from relaymark.bench._sections import Endpoint, Sampling
from relaymark.bench.model import Benchmark

RoleName = Literal["queries", "relevance", "sufficiency", "answer"]


class RoleSection(Section):
    """Who plays one LLM role; what is left out is as the file's top level says."""

    endpoint: Endpoint | None = None
    sampling: Sampling | None = None
    stream: bool | None = None
    constrained: bool | None = None


class Loop(Section):
    """The loop's numbers; the defaults are MLPerf Inference v6.1's."""

    rounds: Annotated[Count, Field(ge=2, le=100)] = 5
    k: Annotated[Count, Field(le=1000)] = 10
    max_queries: Annotated[Count, Field(le=32)] = 3
    window: Annotated[Count, Field(le=1000)] = 12
    parallel: bool = False
    once: Literal["page", "passage"] = "passage"


class Embedder(Section):
    """What turns a query into a vector; the one that the index was built with. See `relaymark run rag-build`."""

    kind: Literal["static", "onnx", "endpoint"] = "static"
    path: str = "wordllama"
    tokenizer: str = ""
    url: str = ""
    model: str = ""
    api_key_env: str = ""
    runtime: Literal["auto", "onnxruntime", "openvino"] = "auto"
    precision: Literal["auto", "fp32", "bf16"] = "fp32"
    threads: CountOrZero = 0
    pooling: Literal["mean", "cls"] | None = None
    normalise: bool = True
    max_length: Annotated[Count, Field(le=1 << 20)] = 512
    query_prefix: str = ""
    passage_prefix: str = ""
    batch_tokens: Count = 512


class Reranker(Section):
    """What orders the passages that a search brought."""

    kind: Literal["none", "colbert", "plain", "endpoint"] = "none"
    path: str = ""
    tokenizer: str = ""
    url: str = ""
    model: str = ""
    api_key_env: str = ""
    threads: CountOrZero = 0
    query_length: Count = 32
    passage_length: Count = 512
    batch_tokens: Count = 8192


class Retrieval(Section):
    """The stages that run here: embedder, index, reranker. ``wait``: how long an idle stage waits for company."""

    embedder: Embedder = Embedder()
    reranker: Reranker = Reranker()
    ef_search: CountOrZero = 0
    wait: Duration = 0


class Service(Section):
    """A RAG service of your own, asked as a whole: where in the request the question goes, where the answer is.

    ``body`` is the request's JSON; the text ``${question}`` in it becomes the question. ``answer``, ``urls`` and
    ``contexts`` are paths into the reply: ``$.answer``, ``$.sources[*].url``.
    """

    body: dict[str, Any] = Field(default_factory=lambda: {"question": "${question}"})
    answer: str = "$.answer"
    urls: str = ""
    contexts: str = ""


class RagAsk(Benchmark):
    """Questions answered by decompose, retrieve, rerank, grade, check and answer; or by a service asked as a whole.

    ``requests`` counts questions. Without an index folder, ``service`` must say how the endpoint is asked.
    """

    kind: Literal["rag-ask"] = "rag-ask"
    questions: str
    index: str = ""
    roles: dict[RoleName, RoleSection] = Field(default_factory=dict[RoleName, RoleSection])
    constrained: bool = True
    loop: Loop = Loop()
    retrieval: Retrieval = Retrieval()
    replay: str = ""
    service: Service | None = None
    shuffle: bool = True

    @model_validator(mode="after")
    def _has_a_pipeline(self) -> RagAsk:
        if bool(self.index) == (self.service is not None):
            raise refuse(
                "needs either an index to search or a service to ask",
                "name the folder of an index (index: …), or say how your own service is asked (service: …)",
            )
        return self

    def anchored_to(self, base: Path) -> RagAsk:
        """Return the same with relative files made absolute against ``base``."""
        names = ("questions", "index", "replay")
        given = {name: str(base / value) for name in names if (value := str(getattr(self, name)))}
        embedder, reranker = self.retrieval.embedder, self.retrieval.reranker
        retrieval = self.retrieval.model_copy(
            update={
                "embedder": embedder.model_copy(update={"path": _place(embedder.path, base)}),
                "reranker": reranker.model_copy(update={"path": _place(reranker.path, base)}),
            }
        )
        return self.model_copy(update={**given, "retrieval": retrieval})


def _place(path: str, base: Path) -> str:
    """A model's folder; a bare word that is no folder there is the name of a package's weights."""
    return str(base / path) if path and ("/" in path or (base / path).exists()) else path
