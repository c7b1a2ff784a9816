"""Reranking by a server that speaks ``/v1/rerank`` (Jina's and Cohere's form, which vLLM and llama.cpp serve)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from relaymark.errors import UnreachableError
from relaymark.retrieval.http_call import JsonEndpoint
from relaymark.retrieval.specs import RerankerSpec


class EndpointReranker:
    """One call a query. Every passage must come back with a score."""

    def __init__(self, spec: RerankerSpec) -> None:
        self._spec = spec
        self._endpoint = JsonEndpoint(spec.url, "/v1/rerank", spec.api_key_env)
        self.name = f"{spec.model or 'rerank'} at {spec.url}"

    def scores(self, queries: Sequence[str], passages: Sequence[Sequence[str]]) -> list[list[float]]:
        """For each query, one score per passage of its own, in input order."""
        return [self._one(query, list(texts)) for query, texts in zip(queries, passages, strict=True)]

    def _one(self, query: str, texts: list[str]) -> list[float]:
        if not texts:
            return []
        body: dict[str, Any] = {"query": query, "documents": texts, "top_n": len(texts)}
        if self._spec.model:
            body["model"] = self._spec.model
        results: Any = self._endpoint.post(body).get("results")
        scores: dict[int, float] = {}
        for one in cast(list[Any], results) if isinstance(results, list) else []:
            entry = cast(dict[str, Any], one) if isinstance(one, dict) else {}
            place, score = entry.get("index"), entry.get("relevance_score")
            if isinstance(place, int) and isinstance(score, int | float):
                scores[place] = float(score)
        if set(scores) != set(range(len(texts))):
            raise UnreachableError(
                f"{len(texts)} passages were sent and {len(scores)} scores came back.", where=self._spec.url
            )
        return [scores[place] for place in range(len(texts))]
