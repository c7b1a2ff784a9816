"""Turns a validation error into one message in plain words: key path, what it must be, where it stands."""

from __future__ import annotations

import difflib
import re
from typing import Any, cast, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from relaymark.bench._fields import shown
from relaymark.bench._source import KeyPath, Source, dotted
from relaymark.bench.spec import LoadKind
from relaymark.errors import ConfigError

_WORDS = {
    "string_type": "must be text",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "dict_type": "must be a mapping of keys to values",
    "model_type": "must be a mapping of keys to values",
    "model_attributes_type": "must be a mapping of keys to values",
    "list_type": "must be a list",
    "greater_than": "must be a number above {gt:g}",
    "greater_than_equal": "must be a number of at least {ge:g}",
    "less_than": "must be a number below {lt:g}",
    "less_than_equal": "must be a number of at most {le:g}",
    "literal_error": "must be {expected}",
    "too_short": "must have at least {min_length} entries",
    "too_long": "must have at most {max_length} entries",
    "string_too_short": "must not be empty",
    "string_too_long": "must be at most {max_length} characters long",
}


def explain(error: ValidationError, source: Source, model: type[BaseModel]) -> ConfigError:
    """Return the first problem of ``error`` as a message, with the number of those behind it."""
    details = error.errors(include_url=False)
    # An unknown key often explains a missing one (a misspelling gives both), so it goes first.
    details.sort(key=lambda item: item["type"] != "extra_forbidden")
    first = details[0]
    path = _path(first["loc"], source)
    what, mend = _sentence(first, path, model)
    more = len(details) - 1
    if more:
        what += f" (and {more} more problem{'s' if more > 1 else ''})"
    return ConfigError(what, where=source.place(path), mend=mend)


def _path(loc: tuple[str | int, ...], source: Source) -> KeyPath:
    """Return the key path of the file from pydantic's location, which names union members in between."""
    path: list[str | int] = []
    value: Any = source.data
    kinds = get_args(LoadKind)
    for position, part in enumerate(loc):
        inside = (isinstance(value, dict) and part in value) or (isinstance(value, list) and isinstance(part, int))
        last = position == len(loc) - 1
        if not inside and ((part in kinds and path and path[-1] == "load") or (_is_type(part) and path)):
            continue
        path.append(part)
        if inside and not (isinstance(value, list) and int(part) >= len(value)):
            value = cast(Any, value)[part]
        elif not last:
            value = None
    return tuple(path)


def _is_type(part: str | int) -> bool:
    """True for the names that pydantic gives to members of a plain union."""
    return isinstance(part, str) and (part in ("str", "int", "literal['auto']") or "[" in part)


def _sentence(item: ErrorDetails, path: KeyPath, model: type[BaseModel]) -> tuple[str, str]:
    name = dotted(path) or "the benchmark"
    kind = item["type"]
    context: dict[str, Any] = item.get("ctx") or {}
    if kind == "extra_forbidden":
        known = _known_keys(model, item["loc"])
        close = difflib.get_close_matches(str(path[-1]), known, n=1, cutoff=0.6)
        mend = f"did you mean {close[0]}?" if close else f"known keys here: {', '.join(known)}"
        return f"{name} is not a known key", mend
    if kind == "missing":
        return f"{name} is missing", _mend_missing(path)
    if kind == "plain":
        return f"{name} {context['what']}", str(context.get("mend") or "")
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        kinds = list(get_args(LoadKind))
        given = str(context.get("tag", ""))
        close = difflib.get_close_matches(given, kinds, n=1)
        mend = f"did you mean {close[0]}?" if close else f"kinds: {', '.join(kinds)}"
        if kind == "union_tag_not_found":
            return f"{name}.kind is missing", f"add one of: {', '.join(kinds)}"
        return f"{name}.kind must be a kind of load, got {shown(given)}", mend
    if kind in ("model_attributes_type", "model_type") and path and path[-1] == "load":
        return f"{name} must be a load, got {shown(item['input'])}", "write load: poisson:4/s"
    words = _WORDS.get(kind)
    sentence = words.format(**context) if words else f"can't be used: {item['msg']}"
    secret = "headers" in path or "api_key_env" in path
    mend = ""
    if kind == "literal_error":
        allowed = re.findall(r"'([^']+)'", str(context["expected"]))
        close = difflib.get_close_matches(str(item["input"]), allowed, n=1, cutoff=0.5)
        mend = f"did you mean {close[0]}?" if close else ""
    return f"{name} {sentence}" + ("" if secret else f", got {shown(item['input'])}"), mend


def _mend_missing(path: KeyPath) -> str:
    if path in (("endpoint",), ("endpoint", "url")):
        return "give --url, or set endpoint.url in the file"
    return f"add {path[-1]}" if path else ""


def _known_keys(model: type[BaseModel], loc: tuple[str | int, ...]) -> list[str]:
    """Return the keys allowed where the last part of ``loc`` was found."""
    found: list[type[BaseModel]] = [model]
    for part in loc[:-1]:
        if isinstance(part, int):
            continue
        inner = [kind for one in found for kind in _models_of(one, part)]
        narrowed = [kind for kind in found if kind.__name__.lower() == part]
        found = inner or narrowed or found
    return sorted({key for kind in found for key in kind.model_fields})


def _models_of(model: type[BaseModel], key: str) -> list[type[BaseModel]]:
    field = model.model_fields.get(key)
    return _models_in(field.annotation) if field else []


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for part in get_args(annotation) for found in _models_in(part)]
