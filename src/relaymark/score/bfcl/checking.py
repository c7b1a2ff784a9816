"""Whether a model's function calls are right: names, parameters, types and values, by BFCL's rules.

A right answer lists for each parameter the values that are accepted; an empty text among them says that it may be
left out. The rules are those of the data set's own checker (bfcl-eval 2026.3.23), to the oddities, because scores
must agree; a test holds the two against each other. Where that one breaks down, on arguments that are no object, on a
type it does not know, the answer is wrong here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from relaymark.score.bfcl.literals import NoLiteralError, java_value, js_value
from relaymark.score.bfcl.selection import Language
from relaymark.score.bfcl.tools import wire_name

Accepted = Mapping[str, Sequence[Any]]

_PYTHON: dict[str, type] = {
    "string": str, "integer": int, "float": float, "boolean": bool, "array": list, "tuple": list, "dict": dict,
    "any": str,
}  # fmt: skip
_JAVA: dict[str, type] = {
    "byte": int, "short": int, "integer": int, "long": int, "float": float, "double": float, "boolean": bool,
    "char": str, "String": str, "any": str, "Array": list, "ArrayList": list, "Queue": list, "Stack": list, "Set": set,
    "HashMap": dict, "Hashtable": dict,
}  # fmt: skip
_JAVASCRIPT: dict[str, type] = {
    "String": str, "integer": int, "float": float, "Bigint": int, "Boolean": bool, "dict": dict, "array": list,
    "any": str,
}  # fmt: skip
_TYPES: dict[Language, dict[str, type]] = {"python": _PYTHON, "java": _JAVA, "javascript": _JAVASCRIPT}
_LITERALS: dict[Language, Callable[[str, str, str | None], Any]] = {"java": java_value, "javascript": js_value}
_WITH_ITEMS: dict[Language, tuple[str, ...]] = {
    "python": ("array", "tuple"),
    "java": ("Array", "ArrayList"),
    "javascript": ("array",),
}
_IGNORED = re.compile(r"[ \,\.\/\-\_\*\^]")


class ModelCall(NamedTuple):
    """A call as the model made it; ``arguments`` is what its JSON says, an object or not."""

    name: str
    arguments: Any


class _Wrong(Exception):
    """The call is not the wanted one."""


class _Broken(Exception):
    """Nothing of the sample can be decided: it is wrong as a whole."""


def check_calls(
    subset: str,
    functions: Sequence[Mapping[str, Any]],
    calls: Sequence[ModelCall],
    truth: Sequence[Mapping[str, Accepted]],
    language: Language,
) -> str | None:
    """Whether the calls are right; ``None`` when they are, else why not.

    Args:
        subset: Its name decides how calls are matched: ``parallel`` in any order, ``multiple`` and others one.
        functions: What the model was offered, in BFCL's own form.
        calls: What it called.
        truth: A mapping of one function's name to its accepted values for each expected call.
        language: What types and values are written in.
    """
    parallel = "parallel" in subset
    if len(calls) != (len(truth) if parallel or "multiple" in subset else 1):
        return f"{len(calls)} calls where {len(truth)} were expected"
    left = list(calls)
    try:
        for expected in truth if parallel else truth[:1]:
            name = next(iter(expected))
            one_of_many = parallel or "multiple" in subset
            function = _described(functions, name) if one_of_many else functions[0]
            why = _match(function, left, next(iter(expected.values())), language)
            if why is not None:
                return why
    except _Broken as broken:
        return str(broken)
    return None


def _match(function: Mapping[str, Any], left: list[ModelCall], accepted: Accepted, language: Language) -> str | None:
    """Takes the first of the calls that are left and is right; why none is."""
    reasons: list[str] = []
    for place, call in enumerate(left):
        try:
            _check_call(function, call, accepted, language)
        except _Wrong as wrong:
            reasons.append(str(wrong))
        except (TypeError, AttributeError, KeyError, ValueError, OverflowError, RecursionError) as error:
            raise _Broken(f"not comparable: {error}"[:200]) from None
        else:
            del left[place]
            return None
    return "; ".join(dict.fromkeys(reasons))[:500] or "no call is left"


def _described(functions: Sequence[Mapping[str, Any]], name: str) -> Mapping[str, Any]:
    for function in functions:
        if function["name"] == name:
            return function
    raise _Broken(f"the expected function {name} was not offered")


def _check_call(function: Mapping[str, Any], call: ModelCall, accepted: Accepted, language: Language) -> None:
    if call.name != wire_name(function["name"]):
        raise _Wrong(f"called {call.name[:80]} instead of {wire_name(function['name'])}")
    if not isinstance(call.arguments, dict):
        raise _Broken("the arguments are no object")
    given = cast("dict[str, Any]", call.arguments)
    schema = cast("Mapping[str, Any]", function["parameters"])
    properties = cast("Mapping[str, Mapping[str, Any]]", schema["properties"])
    for name in cast("Sequence[str]", schema["required"]):
        if name not in given:
            raise _Wrong(f"{name} is missing")
    for name, value in given.items():
        if name not in properties or name not in accepted:
            raise _Wrong(f"{name[:80]} is no parameter, or should not be given")
        _check_value(name, value, accepted[name], properties[name], language)
    for name, values in accepted.items():
        if name not in given and "" not in values:
            raise _Wrong(f"{name} should be given")


def _check_value(name: str, value: Any, accepted: Sequence[Any], schema: Mapping[str, Any], language: Language) -> None:
    kind = cast("str", schema["type"])
    wanted = _TYPES[language][kind]
    items = cast("str", schema["items"]["type"]) if kind in _WITH_ITEMS[language] else None
    inner = None if items is None else _TYPES[language][items]
    if language != "python":
        if type(value) is not str:
            raise _Wrong(f"{name} is no string with a {language} literal")
        try:
            value = _LITERALS[language](value, kind, items)
        except NoLiteralError:
            raise _Broken(f"values of the type {kind} can't be read") from None
    elif kind == "float" and type(value) is int:
        value = float(value)
    if _is_variable(name, value, accepted, wanted, inner):
        right = value in accepted
    elif wanted is dict:
        right = _right_dict(value, accepted)
    elif wanted is list:
        right = _right_dicts(value, accepted) if inner is dict else _right_list(value, accepted)
    elif wanted is str:
        right = _plain(value) in [_plain(one) for one in accepted if type(one) is str]
    else:
        right = value in accepted
    if not right:
        raise _Wrong(f"{name} should not be {value!r}"[:200])


def _is_variable(name: str, value: Any, accepted: Sequence[Any], wanted: type, inner: type | None) -> bool:
    """Checks the type; whether the value stands for a variable, so that it is compared as it is.

    Where the accepted values are of another type than the schema's, they name a variable, which has their type.
    """
    first = _first_type(accepted)
    variable = first is not None and first is not wanted
    if type(value) is wanted:
        if inner is None or any(_right_items(value, one, inner) for one in accepted):
            return variable
        raise _Wrong(f"{name} has items of the wrong type")
    if first is not None and type(value) is first:
        return True
    raise _Wrong(f"{name} is of the type {type(value).__name__} and should be {wanted.__name__}")


def _first_type(accepted: Sequence[Any]) -> type | None:
    return next((type(one) for one in accepted if one != ""), None)


def _right_items(value: Sequence[Any], accepted: Any, inner: type) -> bool:
    """One level deep, and only against what is a list itself."""
    if type(accepted) is not list:
        return True
    first = _first_type(cast("list[Any]", accepted))
    return all(type(item) is inner or (first is not None and type(item) is first) for item in value)


def _plain(text: str) -> str:
    """A text without case, blanks and the punctuation that does not count."""
    return _IGNORED.sub("", text).lower().replace("'", '"')


def _plain_each(values: Any) -> list[Any]:
    return [_plain(one) if type(one) is str else one for one in values]


def _right_list(value: Sequence[Any], accepted: Sequence[Any]) -> bool:
    every = [_plain_each(one) for one in accepted]
    return _plain_each(value) in every


def _right_dict(value: Mapping[str, Any], accepted: Sequence[Any]) -> bool:
    return any(_same_dict(value, one) for one in accepted if one != "")


def _same_dict(value: Mapping[str, Any], accepted: Any) -> bool:
    for key, one in value.items():
        if key not in accepted:
            return False
        if (_plain(one) if type(one) is str else one) not in _plain_each(accepted[key]):
            return False
    return all(key in value or "" in values for key, values in accepted.items())


def _right_dicts(value: Sequence[Any], accepted: Sequence[Any]) -> bool:
    """Lists of objects, in order."""
    for one in accepted:
        if len(value) == len(one) and all(
            wanted != "" and _same_dict(given, wanted) for given, wanted in zip(value, one, strict=True)
        ):
            return True
    return False
