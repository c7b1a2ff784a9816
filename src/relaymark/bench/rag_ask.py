"""The benchmark file of question answering over an index: ``kind: rag-ask``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar, cast

from pydantic import Field, ValidationInfo, field_validator, model_validator

from relaymark.bench._fields import Count, CountOrZero, Duration, MaybeDuration, Section, refuse, shown
from relaymark.bench._sections import Endpoint, Retries, Sampling, Timeouts
from relaymark.bench.jsonpath import parse_path
from relaymark.bench.model import Benchmark
from relaymark.errors import ConfigError

RoleName = Literal["queries", "relevance", "sufficiency", "answer"]


_LLM_DIALECTS = ("openai-chat", "openai-completions", "openai-responses")
_QUESTION = "${question}"
_SHARE = re.compile(r"(\d{1,3}(?:\.\d{1,12})?|\.\d{1,12})(\s*%)?", re.ASCII)


class RoleSection(Section):
    """Who plays one LLM role and how it is asked; what is left out is as the file's top level says.

    So ``sampling: {max_tokens: 64}`` changes that and keeps the temperature of the top level.
    """

    endpoint: Endpoint | None = None
    sampling: Sampling | None = None
    stream: bool | None = None
    constrained: bool | None = None
    timeouts: Timeouts | None = None
    retries: Retries | None = None

    @field_validator("timeouts")
    @classmethod
    def _no_drain(cls, value: Timeouts | None) -> Timeouts | None:
        if value is not None and "drain" in value.model_fields_set:
            raise refuse("has a drain, which is a stage's and not a role's", "set timeouts.drain at the top level")
        return value


@dataclass(frozen=True, slots=True)
class Role:
    """A role with nothing left out."""

    endpoint: Endpoint
    sampling: Sampling
    stream: bool
    constrained: bool
    timeouts: Timeouts
    retries: Retries


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

    kind: Literal["static", "onnx", "endpoint", "sentence-transformers"] = "static"
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
    batch_tokens: Count = 1024


class Retrieval(Section):
    """The stages that run here: embedder, index, reranker.

    ``wait``: how long an idle stage waits for company. ``timeout``: the longest that one call may take.
    """

    embedder: Embedder = Embedder()
    reranker: Reranker = Reranker()
    ef_search: CountOrZero = 0
    wait: Duration = 0
    timeout: MaybeDuration = 120 * 10**9


class Service(Section):
    """A RAG service of your own, asked as a whole: where in the request the question goes, where the answer is.

    ``body`` is the request's JSON; the text ``${question}`` in it becomes the question. ``answer``, ``urls`` (of
    the pages it used) and ``contexts`` (texts it used, kept with the answer) are paths into the reply: ``$.answer``,
    ``$.sources[*].url``.
    """

    body: dict[str, Any] = Field(default_factory=lambda: {"question": _QUESTION})
    answer: str = "$.answer"
    urls: str = ""
    contexts: str = ""

    @field_validator("body")
    @classmethod
    def _asks(cls, value: dict[str, Any]) -> dict[str, Any]:
        if not _holds_question(value):
            raise refuse(f"must hold the text {_QUESTION}", "write it where the question goes")
        return value

    @field_validator("answer", "urls", "contexts")
    @classmethod
    def _is_a_path(cls, value: str, info: ValidationInfo) -> str:
        if value or info.field_name == "answer":
            try:
                parse_path(value)
            except ConfigError as error:
                raise refuse(f"must be a path into the reply, got {shown(value)}", error.mend) from None
        return value


def _holds_question(template: Any) -> bool:
    if isinstance(template, str):
        return _QUESTION in template
    if isinstance(template, dict):
        return any(map(_holds_question, cast(dict[str, Any], template).values()))
    return isinstance(template, list) and any(map(_holds_question, cast(list[Any], template)))


class Accuracy(Section):
    """The accuracy to be reached: ``share`` of ``reference``, each as ``0.35`` or ``35%``; applied by ``score``."""

    reference: str
    share: str = "97%"

    @field_validator("reference", "share", mode="before")
    @classmethod
    def _is_a_share(cls, value: object) -> str:
        text = str(value).strip()
        match = _SHARE.fullmatch(text)
        if isinstance(value, bool) or match is None or float(match[1]) > (100 if match[2] else 1):
            raise refuse(f"must be a share such as 0.35 or 35%, got {shown(value)}")
        return text


class RagAsk(Benchmark):
    """Questions answered by decompose, retrieve, rerank, grade, check and answer; or by a service asked as a whole.

    ``requests`` counts questions. Without an index folder, ``service`` must say how the endpoint is asked.
    """

    task_word: ClassVar[str] = "tasks"

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
    accuracy: Accuracy | None = None

    @model_validator(mode="after")
    def _has_a_pipeline(self) -> RagAsk:
        if bool(self.index) == (self.service is not None):
            raise refuse(
                "needs either an index to search or a service to ask",
                "name the folder of an index (index: …), or say how your own service is asked (service: …)",
            )
        return self

    @model_validator(mode="after")
    def _roles_can_speak(self) -> RagAsk:
        if self.service is None:
            endpoints = {"endpoint": self.endpoint}
            endpoints |= {f"roles.{name}.endpoint": role.endpoint for name, role in self.roles.items() if role.endpoint}
            for place, endpoint in endpoints.items():
                if endpoint.dialect not in _LLM_DIALECTS:
                    raise refuse(f"has an LLM role at an endpoint that speaks {endpoint.dialect} ({place}.dialect)")
        return self

    def role(self, name: RoleName) -> Role:
        """One role with what its section leaves out filled in from the top level."""
        own = self.roles.get(name) or RoleSection()
        return Role(
            endpoint=own.endpoint or self.endpoint,
            sampling=_laid_over(self.sampling, own.sampling),
            stream=self.stream if own.stream is None else own.stream,
            constrained=self.constrained if own.constrained is None else own.constrained,
            timeouts=_laid_over(self.timeouts, own.timeouts),
            retries=_laid_over(self.retries, own.retries),
        )

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


_S = TypeVar("_S", bound=Section)


def _laid_over(under: _S, over: _S | None) -> _S:
    """The one with whatever the other was given."""
    if over is None:
        return under
    return under.model_copy(update={key: getattr(over, key) for key in over.model_fields_set})


def _place(path: str, base: Path) -> str:
    """A model's folder; a bare word that is no folder there is the name of a package's weights."""
    return str(base / path) if path and ("/" in path or (base / path).exists()) else path
