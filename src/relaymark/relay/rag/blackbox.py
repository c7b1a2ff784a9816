"""A RAG service of the user's, asked as a whole: one request a question."""

from __future__ import annotations

from itertools import islice
from typing import Any, cast

import msgspec

from relaymark.bench.jsonpath import look_up, parse_path
from relaymark.dialects.response import parse_response
from relaymark.relay.attempts import converse
from relaymark.relay.context import Context
from relaymark.relay.rag.pipeline import CallFailedError, Progress
from relaymark.relay.rag.plan import ServiceSpec
from relaymark.trace import Capture

MAX_CONTEXTS, MAX_CONTEXT = 100, 20_000  # kept with an answer; characters of each
_PLACE = "${question}"


class Service:
    """Asks it. Its response must be one JSON document; times are those of its leg.

    Raises:
        RelaymarkError: The URL or a header cannot be used.
    """

    def __init__(self, context: Context, spec: ServiceSpec) -> None:
        plan = context.plan
        self._context = context
        self._spec = spec
        self._answer = parse_path(spec.answer)
        self._urls = parse_path(spec.urls) if spec.urls else None
        self._contexts = parse_path(spec.contexts) if spec.contexts else None
        self._client, self._head = context.reach(plan, plan.url, spec.path)

    async def answer(self, progress: Progress, task: Capture) -> list[str] | None:
        """Puts the answer into ``progress``; returns the pages it used, ``None`` where it does not tell.

        Raises:
            CallFailedError: No answer came.
        """
        context = self._context
        capture = Capture(
            leg_id=context.next_leg_id(),
            task_id=task.task_id,
            parent_id=task.leg_id,
            request=-1,
            stage=task.stage,
            warmup=task.warmup,
            worker=context.worker,
            endpoint=context.plan.url,
            dialect="json",
            kind="llm",
            role="service",
            streamed=False,
        )
        body = msgspec.json.encode(filled(self._spec.body, progress.question))
        head = b"%s%d\r\n\r\n" % (self._head, len(body))
        done, decoded = await converse(context, self._client, head, capture, body)
        progress.rounds = 1
        if not decoded.outcome.good:
            raise CallFailedError(f"service: {decoded.outcome.value}: {decoded.error_message or ''}", decoded.outcome)
        reply: Any = msgspec.json.decode(parse_response(done.raw, (len(done.raw),)).body)
        answers = [one for one in look_up(reply, self._answer) if isinstance(one, str | int | float)]
        if not answers:
            progress.fallbacks["service: no answer where it was to be"] += 1
        progress.answer = str(answers[0]) if answers else ""
        if self._contexts is not None:
            found = (one for one in look_up(reply, self._contexts) if isinstance(one, str))
            progress.contexts = [text[:MAX_CONTEXT] for text in islice(found, MAX_CONTEXTS)]
        if self._urls is None:
            return None
        return [str(url) for url in look_up(reply, self._urls) if isinstance(url, str)]


def filled(template: Any, question: str) -> Any:
    """A request's body with the question wherever the template says ``${question}``."""
    if isinstance(template, str):
        return template.replace(_PLACE, question)
    if isinstance(template, dict):
        return {key: filled(value, question) for key, value in cast(dict[str, Any], template).items()}
    if isinstance(template, list):
        return [filled(value, question) for value in cast(list[Any], template)]
    return template
