"""What each LLM role is asked, in our own words; the order is the reference's, since it decides what a prefix cache can
reuse: question, then documents, which grow at their end.

Every prompt is one user message. Documents are numbered blocks of text without title or URL.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from relaymark.retrieval.protocols import Passage

_SNIPPET = 300  # characters of a kept passage that a grader sees
_SNIPPETS = 5


class Prompt(msgspec.Struct, frozen=True):
    """A user message, and the JSON schema that its reply must fit; ``None`` for free text."""

    text: str
    name: str = ""
    schema: dict[str, Any] | None = None


def queries(
    question: str, kept: Sequence[Passage], history: Sequence[tuple[str, int]], feedback: Sequence[str], most: int
) -> Prompt:
    """Asks for the next sub-queries, given what was kept and what was tried."""
    parts = ["You plan the searches that will answer a question from an encyclopedia.", _question(question)]
    if kept:
        parts.append("Documents found so far:\n" + _blocks(kept))
    if history:
        tried = "\n".join(f"- {query}: {count} new" for query, count in history)
        parts.append("Searches so far, and how many new documents each brought:\n" + tried)
    if feedback:
        parts.append("Notes from earlier rounds:\n" + "\n".join(f"- {note}" for note in feedback))
    parts.append(
        f"Give up to {most} short searches (two to four words, usually one entity each) for facts that are still "
        "missing. Give up a kind of search that brought nothing new or was tried three times, and go broader: the "
        'entity\'s own page, a "List of …" page, a related entity, another name.\n'
        'Reply with JSON only, such as {"queries": ["Ada Lovelace", "Analytical Engine"], "feedback": "what is still '
        'missing"}. The key "queries" holds a list of texts.'
    )
    schema = _object(
        queries={"type": "array", "items": {"type": "string", "maxLength": 200}, "minItems": 1, "maxItems": most},
        feedback={"type": "string", "maxLength": 400},
    )
    return Prompt("\n\n".join(parts), "queries", schema)


def relevance(question: str, fresh: Sequence[Passage], kept: Sequence[Passage]) -> Prompt:
    """Asks which of the new documents matter."""
    count = len(fresh)
    parts = [
        "You decide which documents help to answer a question.",
        _question(question),
        "New documents:\n" + _blocks(fresh),
    ]
    if kept:
        snippets = "\n".join(f"- {_one_line(passage.text)[:_SNIPPET]}" for passage in kept[:_SNIPPETS])
        parts.append("Already kept, shortened:\n" + snippets)
    example = ", ".join("10"[place % 2] for place in range(count))
    parts.append(
        "Be generous: 1 for a document that mentions an entity of the question or a fact that could lead on, 0 only "
        f'for one that has nothing to do with it.\nReply with JSON only: the key "relevance" holds a list of {count} '
        f'numbers, one for each new document in order, such as {{"relevance": [{example}]}}.'
    )
    grades = {"type": "array", "items": {"type": "integer", "enum": [0, 1]}, "minItems": count, "maxItems": count}
    return Prompt("\n\n".join(parts), "relevance", _object(relevance=grades))


def sufficiency(question: str, kept: Sequence[Passage], round_: int, rounds: int, last: bool) -> Prompt:
    """Asks whether what was kept is enough to answer."""
    parts = [
        "You decide whether these documents together are enough to answer a question.",
        _question(question),
        "Documents:\n" + _blocks(kept),
        "Connect facts across documents: names, relations, dates, chains of them. "
        f"This is round {round_} of {rounds}." + (" It is the last: say that they are enough." if last else ""),
        'Reply with JSON only, such as {"sufficient": true, "reasoning": "why"}. "sufficient" is true or false.',
    ]
    schema = _object(sufficient={"type": "boolean"}, reasoning={"type": "string", "maxLength": 400})
    return Prompt("\n\n".join(parts), "sufficiency", schema)


def answer(question: str, kept: Sequence[Passage]) -> Prompt:
    """Asks for the answer."""
    parts = [
        "Answer the question from the documents alone.",
        _question(question),
        "Documents:\n" + _blocks(kept),
        "Be short and exact. If the documents do not hold the answer, reply Unknown. Do not guess.",
    ]
    return Prompt("\n\n".join(parts))


def _question(question: str) -> str:
    return "Question: " + _one_line(question)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _blocks(passages: Sequence[Passage]) -> str:
    return "\n\n".join(f"[{number}] {_one_line(passage.text)}" for number, passage in enumerate(passages, 1))


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
