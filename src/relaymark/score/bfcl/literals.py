"""Values that BFCL wants as source literals of Java and JavaScript: what a text means there, where it means anything.

The grammar is the one that the data set's own checker takes, gaps and all, because scores must agree: a text that is no
literal of the wanted type stays the text that it is, and is wrong later.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_WHOLE = re.compile(r"-?\d+$")
_LONG = re.compile(r"-?\d+[lL]$")
_FLOAT = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?[fF]$")
_DOUBLE = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?$")
_PLAIN_FLOAT = re.compile(r"-?\d+(\.\d+)?$")
_BIGINT = re.compile(r"-?\d+n$")
_LIST_OF = re.compile(r"new\s+ArrayList<\w*>\(Arrays\.asList\((.+?)\)\)")
_LIST_ADDED = re.compile(r"new\s+ArrayList<\w*>\(\)\s*\{\{\s*(.+?)\s*\}\}", re.DOTALL)
_LIST_EMPTY = re.compile(r"new\s+ArrayList<\w*>\(\)")
_ADDED = re.compile(r"add\((.+?)\)")
_ARRAY = re.compile(r"new\s+\w+\[\]\s*\{(.*?)\}")
_MAP = re.compile(r"new\s+HashMap<.*?>\s*\(\)\s*\{\s*\{?\s*(.*?)\s*\}?\s*\}", re.DOTALL)
_MAP_EMPTY = re.compile(r"new\s+HashMap<.*?>\s*\(\)")
_PUT = re.compile(r"put\(\"(.*?)\",\s*(.*?)\)")
_JS_ROWS = re.compile(r"\[\s*\[.*?\]\s*(,\s*\[.*?\]\s*)*\]|\bnew\s+Array\(\s*\[.*?\]\s*(,\s*\[.*?\]\s*)*\)")
_JS_ROW = re.compile(r"\[(.*?)\]")
_JS_ARRAY = re.compile(r"\[(.*?)\]|\bnew\s+Array\((.*?)\)")
_JS_OBJECT = re.compile(r"\{(.*?)\}")
_JS_PAIR = re.compile(r"([^:]+):\s*(.*?)(?:,\s*(?=[^,]+:)|$)")


class NoLiteralError(ValueError):
    """A type that the data set's checker cannot read values of: whatever is given is wrong."""


# -- Java -------------------------------------------------------------------------------------------------------


def java_value(text: str, kind: str, items: str | None = None) -> Any:
    """What ``text`` is as a Java value of type ``kind``; lists and arrays have ``items`` of a type.

    Raises:
        NoLiteralError: Nobody can read that type.
    """
    simple = _JAVA_SIMPLE.get(kind)
    if simple is not None:
        return simple(text)
    if kind == "ArrayList":
        return _java_list(text, items)
    if kind == "Array":
        found = _ARRAY.search(text)
        return text if found is None else [_java_item(one, items) for one in _stripped(found[1]) if one]
    if kind == "HashMap":
        return _java_map(text)
    raise NoLiteralError(kind)


def _java_whole(text: str) -> Any:
    return int(text) if _WHOLE.match(text) else text


_JAVA_SIMPLE: dict[str, Callable[[str], Any]] = {
    "byte": _java_whole,
    "short": _java_whole,
    "integer": _java_whole,
    "long": lambda text: int(re.sub("[lL]$", "", text)) if _LONG.match(text) else text,
    "float": lambda text: float(re.sub("[fF]$", "", text)) if _FLOAT.match(text) else text,
    "double": lambda text: float(text) if _DOUBLE.match(text) else text,
    "boolean": lambda text: text == "true" if text in ("true", "false") else text,
    "char": str,
    "String": str,
    "any": str,
}


def _java_list(text: str, items: str | None) -> Any:
    found = _LIST_OF.search(text)
    if found is not None:
        return [_java_element(one, items) for one in _stripped(found[1])]
    found = _LIST_ADDED.search(text)
    if found is not None:
        return [_java_element(one.strip(), items) for one in _ADDED.findall(found[1])]
    return [] if _LIST_EMPTY.search(text) is not None else text


def _java_element(text: str, items: str | None) -> Any:
    """An element of a list: of texts and characters the quotes go, whatever they are."""
    return text[1:-1] if items in ("char", "String") else _java_item(text, items)


def _java_item(text: str, items: str | None) -> Any:
    return java_value(text, items) if items else _java_any(text)


def _java_map(text: str) -> Any:
    found = _MAP.search(text)
    if found is not None:
        return {key: _java_any(value.strip()) for key, value in _PUT.findall(found[1])}
    return {} if _MAP_EMPTY.search(text) is not None else text


def _java_any(text: str) -> Any:
    """A value whose type nobody told."""
    if text in ("true", "false"):
        return text == "true"
    if text.startswith('"') and text.endswith('"'):
        return text[1:-1]
    if _LONG.match(text):
        return int(text[:-1])
    if _FLOAT.match(text):
        return float(re.sub("[fF]$", "", text))
    return _number(text)


# -- JavaScript -------------------------------------------------------------------------------------------------


def js_value(text: str, kind: str, items: str | None = None) -> Any:
    """What ``text`` is as a JavaScript value of type ``kind``; arrays have ``items`` of a type.

    Raises:
        NoLiteralError: Nobody can read that type.
    """
    simple = _JS_SIMPLE.get(kind)
    if simple is not None:
        return simple(text)
    if kind == "array":
        return _js_array(text.strip(), items)
    if kind == "dict":
        return _js_object(text.strip())
    raise NoLiteralError(kind)


def _quoted(text: str) -> bool:
    return any(text.startswith(mark) and text.endswith(mark) for mark in "\"'")


_JS_SIMPLE: dict[str, Callable[[str], Any]] = {
    "String": lambda text: text[1:-1] if _quoted(text) else text,
    "integer": _java_whole,
    "float": lambda text: float(text) if _PLAIN_FLOAT.match(text) else text,
    "Bigint": lambda text: int(text[:-1]) if _BIGINT.match(text) else text,
    "Boolean": lambda text: text == "true" if text in ("true", "false") else text,
    "any": str,
}


def _js_array(text: str, items: str | None) -> Any:
    try:
        rows = _JS_ROWS.match(text)
        if rows is not None:
            return [
                [_js_any(one) for one in row.strip().removeprefix("[" if not place else "\0").split(",")]
                for place, row in enumerate(_JS_ROW.findall(rows[0]))
            ]
        found = _JS_ARRAY.match(text)
        if found is None:
            return text
        inside = (found[1] if found[1] is not None else found[2]).strip()
        elements = [one.strip() for one in inside.split(",")] if inside else []
        return [js_value(one, items) if items else _js_any(one) for one in elements]
    except ValueError:
        return text


def _js_object(text: str) -> Any:
    found = _JS_OBJECT.match(text)
    if text == "{}" or found is None:
        return {} if text == "{}" else text
    made: dict[str, Any] = {}
    for key, raw in _JS_PAIR.findall(found[1]):
        value = raw.strip()
        if value.startswith("[") and value.endswith("]"):
            read = _js_array(value, None)
        elif value.startswith("{") and value.endswith("}"):
            read = _js_object(value)
        else:
            read = _js_any(value.strip("'\""))
        made[key.strip().strip("'\"")] = read
    return made


def _js_any(text: str) -> Any:
    text = text.strip()
    if text in ("true", "false"):
        return text == "true"
    return text[1:-1] if _quoted(text) else _number(text)


# -- both -------------------------------------------------------------------------------------------------------


def _stripped(text: str) -> list[str]:
    return [one.strip() for one in text.split(",")]


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
