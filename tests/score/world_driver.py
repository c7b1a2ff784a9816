"""The smallest pipeline there could be: plain HTTP calls, and a search that finds a page by its name in the query.

It follows the loop of MLPerf's end-to-end RAG: decompose, retrieve, then up to four times grade, check and either
answer or search on. With the scripted endpoint every figure that comes out can be computed by hand.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Sequence
from typing import Any

from relaymark.data import Question
from relaymark.data.world import World, page_text
from relaymark.trace.answers import TaskAnswer

ROUNDS = 5


class Library:
    """Finds the passage of the page whose subject a query names; two pages that no question needs come along."""

    def __init__(self, encyclopedia: World, asked: Sequence[Question]) -> None:
        entities = [encyclopedia.entity(number) for number in range(len(encyclopedia))]
        gold = {url for question in asked for url in question.gold_urls}
        self._pages = {entity.name: (entity.url, page_text(encyclopedia, entity)[:768]) for entity in entities}
        self._needless = [page for page in self._pages.values() if page[0] not in gold]

    def search(self, query: str) -> list[tuple[str, str]]:
        """(URL, passage) of what a query finds, best first."""
        named = [name for name in self._pages if name in query]
        if not named:
            return []
        place = len(query) % (len(self._needless) - 1)
        return [self._pages[max(named, key=len)], *self._needless[place : place + 2]]


class Pipeline:
    """Answers questions by way of an endpoint. ``schemas``: ask for JSON by schema, or in words only."""

    def __init__(self, url: str, library: Library, *, schemas: bool = True) -> None:
        self._connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=20)
        self._library = library
        self._schemas = schemas
        self.calls = 0

    def close(self) -> None:
        self._connection.close()

    def _say(self, role: str, key: str, question: str, docs: Sequence[str], count: int | None = None) -> str:
        self.calls += 1
        blocks = "\n".join(f"[{number}] {text}" for number, text in enumerate(docs, 1))
        wish = f'Reply in JSON with the key "{key}".' if key else "Answer from the documents alone."
        content = f"You help to answer a question.\nQuestion: {question}\n\nDocuments:\n{blocks}\n\n{wish}"
        body: dict[str, Any] = {"model": "scripted", "messages": [{"role": "user", "content": content}]}
        if self._schemas and key:
            schema: dict[str, Any] = {"type": "object"}
            if count is not None:
                schema["properties"] = {"relevance": {"type": "array", "minItems": count, "maxItems": count}}
            body["response_format"] = {"type": "json_schema", "json_schema": {"name": role, "schema": schema}}
        self._connection.request("POST", "/v1/chat/completions", json.dumps(body))
        answer = self._connection.getresponse()
        told = json.loads(answer.read())
        assert answer.status == 200, told
        message = told["choices"][0]["message"]
        calls = message.get("tool_calls")
        return calls[0]["function"]["arguments"] if calls else message["content"]

    def _json(self, role: str, key: str, question: str, docs: Sequence[str], count: int | None = None) -> Any:
        try:
            said = json.loads(self._say(role, key, question, docs, count))
            return said.get(key)
        except (ValueError, AttributeError):
            return None

    def ask(self, task_id: int, question: Question) -> TaskAnswer:
        before = self.calls
        kept: list[tuple[str, str]] = []
        seen: dict[str, None] = {}
        fresh: list[tuple[str, str]] = []
        answer: str | None = None
        rounds = 0
        for rounds in range(1, ROUNDS + 1):
            if fresh:
                texts = [text for _, text in fresh]
                grades = self._json("relevance", "relevance", question.text, texts, len(texts))
                if not isinstance(grades, list) or len(grades) != len(texts):
                    grades = [1] * len(texts)
                kept += [page for page, grade in zip(fresh, grades, strict=True) if grade == 1]
            documents = [text for _, text in kept]
            if rounds > 1 and kept:
                enough = self._json("sufficiency", "sufficient", question.text, documents)
                if enough is True or rounds == ROUNDS:
                    answer = self._say("answer", "", question.text, documents)
                    break
            queries = self._json("queries", "queries", question.text, documents)
            if not isinstance(queries, list) or not queries:
                queries = [question.text]
            fresh = []
            for query in queries:
                for url, text in self._library.search(query):
                    if url not in seen:
                        seen[url] = None
                        fresh.append((url, text))
        return TaskAnswer(
            task_id=task_id,
            question_id=question.id,
            question=question.text,
            outcome="ok",
            answer=answer,
            gold_answer=question.answer,
            gold_urls=question.gold_urls,
            kept_urls=[url for url, _ in kept],
            retrieved_urls=list(seen),
            iterations=rounds,
            llm_calls=self.calls - before,
        )
