"""What a worker must know to run question-answering tasks."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from relaymark.relay.policies import Patience
from relaymark.retrieval.specs import ServerSpec

Role = Literal["queries", "relevance", "sufficiency", "answer"]
ROLES: tuple[Role, ...] = ("queries", "relevance", "sufficiency", "answer")
QUESTIONS_FILE = "questions.jsonl"
RECORDING_FILE = "responses.jsonl"


class Rules(msgspec.Struct, kw_only=True, frozen=True):
    """The loop's numbers; the defaults are MLPerf Inference v6.1's (end-to-end RAG, question answering)."""

    rounds: int = 5
    k: int = 10  # passages retrieved for a query
    max_queries: int = 3  # asked for; more are not cut
    window: int = 12  # kept passages that the next sub-queries are drawn from
    parallel: bool = False  # sub-queries of a round at once instead of one after the other
    once: Literal["page", "passage"] = "page"  # what is never found twice; MLPerf: a page, whichever passage came first


class Speaker(msgspec.Struct, kw_only=True, frozen=True):
    """Who plays a role: an endpoint, a model and how it is asked. Headers may hold ``${NAME}``."""

    url: str
    path: str
    dialect: str
    model: str
    streamed: bool
    max_tokens: int | None = None
    sampling: dict[str, Any] = {}
    constrained: bool = False  # ask for JSON by schema (response_format), not in words alone
    patience: Patience = Patience()
    api_key_env: str = ""
    headers: dict[str, str] = {}
    verify_tls: bool = True


class ServiceSpec(msgspec.Struct, kw_only=True, frozen=True):
    """A RAG service of the user's, asked as a whole (relaymark.relay.rag.blackbox)."""

    path: str
    body: Any  # JSON; the text "${question}" anywhere in it becomes the question
    answer: str  # path into the reply, such as $.answer or $.choices[0].message.content
    contexts: str = ""  # path to the texts it used, if it tells
    urls: str = ""  # path to the pages it used, if it tells: $.contexts[*].url


class RagPlan(msgspec.Struct, kw_only=True):
    """The whole of it."""

    questions: int
    rules: Rules = Rules()
    speakers: dict[Role, Speaker] = {}
    server: ServerSpec | None = None  # what the retrieval server serves
    socket: str = ""  # where it does; known when it has started
    retrieval_ns: int | None = None  # the longest that one call to it may take
    rerank: bool = False
    replay: str = ""  # a recording that drives the pipeline while live calls are timed
    service: ServiceSpec | None = None
