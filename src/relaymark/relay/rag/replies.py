"""What LLM roles reply, checked: the type that was asked for, or a defined way to go on that is counted by its reason.

| reply | when it is empty, no JSON, or of another shape |
|---|---|
| queries | the question itself is the only query |
| relevance | every new document counts as relevant |
| sufficiency | not sufficient |
| answer | "Unknown" |

The text ``"false"`` is no true, a number in quotes is no grade, and a query that is no text is left out: the reference
implementation took the first two for what they are not and failed at the third.
"""

from __future__ import annotations

import re

import msgspec

MAX_TEXT = 1 << 20
"""Longest reply in characters that is looked at; a longer one counts as too long and is treated as no JSON."""
_MOST_QUERIES = 32
_LONGEST_QUERY = 1000
_FENCED = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL)
_REFUSALS = ("i'm sorry", "i’m sorry", "i cannot", "i can't", "i can’t", "i am unable", "sorry, but")


class Said(msgspec.Struct, frozen=True):
    """A reply: its text, what the model thought aloud, its tokens."""

    text: str
    reasoning: str = ""
    completion_tokens: int | None = None


class Queries(msgspec.Struct, frozen=True):
    """Sub-queries, at least one."""

    queries: list[str]
    feedback: str = ""
    fallbacks: tuple[str, ...] = ()


class Relevance(msgspec.Struct, frozen=True):
    """A grade for each new document."""

    relevant: list[bool]
    fallbacks: tuple[str, ...] = ()


class Sufficiency(msgspec.Struct, frozen=True):
    """Whether what was kept is enough."""

    sufficient: bool
    fallbacks: tuple[str, ...] = ()


class AnswerText(msgspec.Struct, frozen=True):
    """The answer."""

    text: str
    fallbacks: tuple[str, ...] = ()


def queries(said: Said, question: str) -> Queries:
    """Reads the reply of the planner."""
    found, problem = _object(said)
    asked = found.get("queries")
    if not isinstance(asked, list):
        return Queries([question], "", (f"queries: {problem or 'wrong shape'}",))
    problems: list[str] = []
    texts: list[str] = []
    for query in asked[:_MOST_QUERIES]:
        text = _query_text(query)
        if text is None:
            problems.append("queries: a query is no text")
        elif text:
            texts.append(text[:_LONGEST_QUERY])
    if len(asked) > _MOST_QUERIES:
        problems.append("queries: too many")
    if not texts:
        problems.append("queries: none")
        texts = [question]
    feedback = found.get("feedback")
    return Queries(texts, feedback.strip() if isinstance(feedback, str) else "", tuple(problems))


def relevance(said: Said, count: int) -> Relevance:
    """Reads the reply of the grader; exactly 1 is relevant."""
    found, problem = _object(said)
    grades = found.get("relevance")
    if not isinstance(grades, list):
        return Relevance([True] * count, (f"relevance: {problem or 'wrong shape'}",))
    if len(grades) != count:
        return Relevance([True] * count, ("relevance: another number of grades than documents",))
    if not all(type(grade) in (int, float, bool) for grade in grades):
        return Relevance([grade == 1 for grade in grades], ("relevance: a grade is no number",))
    return Relevance([grade == 1 for grade in grades])


def sufficiency(said: Said) -> Sufficiency:
    """Reads the reply of the checker."""
    found, problem = _object(said)
    told = found.get("sufficient")
    if isinstance(told, bool):
        return Sufficiency(told)
    if isinstance(told, str) and told.strip().lower() in ("true", "false"):
        return Sufficiency(told.strip().lower() == "true", ("sufficiency: text instead of true or false",))
    return Sufficiency(False, (f"sufficiency: {problem or 'wrong shape'}",))


def answer(said: Said) -> AnswerText:
    """Reads the answer: any text but none."""
    text = said.text.strip()
    if not text:
        return AnswerText("Unknown", ("answer: empty",))
    if len(text) > MAX_TEXT:
        return AnswerText(text[:MAX_TEXT], ("answer: too long",))
    return AnswerText(text)


def _object(said: Said) -> tuple[dict[str, object], str]:
    """The JSON object in a reply and, where there is none, why: empty, refusal, not JSON, too long.

    The content; if it is empty, what the model thought aloud. In it a fenced block if there is one, else what lies
    between the first and the last brace.
    """
    text = said.text if said.text.strip() else said.reasoning
    if not text.strip():
        return {}, "empty"
    if len(text) > MAX_TEXT:
        return {}, "too long"
    fenced = _FENCED.search(text)
    body = fenced[1] if fenced and "{" in fenced[1] else text
    begin, end = body.find("{"), body.rfind("}")
    if begin < 0 or end < begin:
        refused = text.strip().lower().startswith(_REFUSALS)
        return {}, "refusal" if refused else "not JSON"
    try:
        found = msgspec.json.decode(body[begin : end + 1].encode("utf-8", "replace"))
    except (msgspec.MsgspecError, RecursionError):
        return {}, "not JSON"
    return found if isinstance(found, dict) else {}, "wrong shape"


def _query_text(query: object) -> str | None:
    """A query as text; objects that hold just one text, as some models write them, are that text."""
    if isinstance(query, str):
        return " ".join(query.split())
    if isinstance(query, dict):
        texts = [value for value in query.values() if isinstance(value, str)]
        if len(texts) == 1:
            return " ".join(texts[0].split())
    return None
