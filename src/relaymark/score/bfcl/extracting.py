"""The function calls of an answer: its tool calls, or what its text holds where a server left them there."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Any, cast

import msgspec

from relaymark.score.bfcl.checking import ModelCall
from relaymark.trace.turns import SaidCall

_CALL = re.compile(r"([A-Za-z_][\w.]*)\(")
_WORDS = frozenset(
    ("if", "for", "while", "with", "print", "and", "or", "not", "in", "is", "function", "the", "e", "i", "a", "def")
)
_LONGEST = 20_000  # characters of text that calls are looked for in
_MOST = 50
_TRIES = 500  # a text of nothing but brackets would be walked through from each of them


def calls_of(calls: Sequence[SaidCall], text: str | None) -> list[ModelCall]:
    """What was called. Arguments that are no JSON are an empty object, as the reference has it."""
    if calls:
        return [ModelCall(call.name, _arguments(call.arguments)) for call in calls]
    return _from_json(text or "") or _from_words((text or "")[:_LONGEST])


def _arguments(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return {}


def _from_json(text: str) -> list[ModelCall]:
    """A JSON list of calls: each with a ``function``, or with a ``name`` of its own."""
    try:
        found: Any = msgspec.json.decode(text.strip())
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return []
    if not isinstance(found, list) or not found:
        return []
    entries = cast("list[Any]", found)
    if not all(isinstance(one, dict) for one in entries):
        return []
    objects = cast("list[dict[str, Any]]", entries)
    if all(isinstance(one.get("function"), dict) for one in objects):
        objects = [cast("dict[str, Any]", one["function"]) for one in objects]
    if not all(isinstance(one.get("name"), str) for one in objects):
        return []
    made: list[ModelCall] = []
    for one in objects:
        arguments = one.get("arguments", one.get("parameters", {}))
        made.append(ModelCall(one["name"], _arguments(arguments) if isinstance(arguments, str) else arguments))
    return made


def _from_words(text: str) -> list[ModelCall]:
    """``name(key=value, …)`` in running text, the values Python literals."""
    made: list[ModelCall] = []
    place = 0
    for _ in range(_TRIES):
        if len(made) >= _MOST or (match := _CALL.search(text, place)) is None:
            break
        place = match.end()
        if match[1].lower() in _WORDS:
            continue
        end = _closing(text, match.end())
        if end is None:
            continue
        arguments = _keywords(text[match.end() : end])
        if arguments is not None:
            made.append(ModelCall(match[1].replace(".", "_"), arguments))
            place = end
    return made


def _closing(text: str, begin: int) -> int | None:
    """Where the bracket that was opened before ``begin`` closes; quotes are skipped."""
    depth, quote = 1, ""
    for place in range(begin, min(len(text), begin + 4_000)):
        char = text[place]
        if quote:
            quote = "" if char == quote and text[place - 1] != "\\" else quote
        elif char in "\"'":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
            if not depth:
                return place
    return None


def _keywords(text: str) -> dict[str, Any] | None:
    """Keyword arguments with literal values; ``None`` where it is something else, such as a signature."""
    try:
        tree = ast.parse(f"f({text.strip()})", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not isinstance(tree, ast.Call) or tree.args:
        return None
    made: dict[str, Any] = {}
    for keyword in tree.keywords:
        try:
            if keyword.arg is None:
                return None
            made[keyword.arg] = ast.literal_eval(keyword.value)
        except (ValueError, TypeError, RecursionError, MemoryError):
            return None
    return made
