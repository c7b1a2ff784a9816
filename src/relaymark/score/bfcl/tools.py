"""BFCL's functions as an API's tools.

MLPerf's reference sends the types of Java and JavaScript as JSON's own and then wants every value as a string that
holds a literal of the language: a model that does as it is told can pass 36 of 62 Java and 9 of 31 JavaScript
samples. That is reproduced, since the gate is on it; ``hinted`` sends such parameters as strings with a word on what
belongs in them, as BFCL itself does, and is the fairer question.
"""

from __future__ import annotations

from typing import Any, cast

from relaymark.score.bfcl.selection import Language

_TYPES = {
    "integer": ("integer", "byte", "short", "long", "Bigint"),
    "number": ("number", "float", "double"),
    "string": ("string", "char", "any", "Any", "String"),
    "boolean": ("boolean", "bool"),
    "array": ("array", "list", "tuple", "ArrayList", "Array", "Queue", "Stack"),
    "object": ("dict", "object", "HashMap", "Hashtable"),
}
_TYPE_OF = {theirs: ours for ours, every in _TYPES.items() for theirs in every}
_NAMES: dict[Language, str] = {"java": "Java", "javascript": "JavaScript", "python": "Python"}


def tools_of(functions: list[dict[str, Any]], language: Language, *, hinted: bool = False) -> list[dict[str, Any]]:
    """The functions as tool definitions; names without dots, which APIs refuse."""
    return [_tool(function, language, hinted and language != "python") for function in functions]


def _tool(function: dict[str, Any], language: Language, hinted: bool) -> dict[str, Any]:
    told = cast("dict[str, Any]", function.get("parameters") or {})
    properties = cast("dict[str, Any]", told.get("properties") or {})
    made = {name: _hinted(schema, language) if hinted else _converted(schema) for name, schema in properties.items()}
    parameters = {**told, "type": "object", "properties": made}
    return {"type": "function", "function": {**function, "name": wire_name(function["name"]), "parameters": parameters}}


def wire_name(name: str) -> str:
    """A function's name as it is sent and as it comes back."""
    return name.replace(".", "_")


def _converted(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    told = cast("dict[str, Any]", schema)
    theirs = told.get("type")
    made = {**told, "type": _TYPE_OF.get(theirs if isinstance(theirs, str) else "", "string")}
    if theirs == "float":
        made["format"] = "float"
        made["description"] = f"{told.get('description', '')} This is a float type value."
    if isinstance(told.get("properties"), dict):
        made["properties"] = {name: _converted(one) for name, one in told["properties"].items()}
    if isinstance(told.get("items"), dict):
        made["items"] = _converted(told["items"])
    return made


def _hinted(schema: Any, language: Language) -> Any:
    told = cast("dict[str, Any]", schema) if isinstance(schema, dict) else {}
    name = _NAMES[language]
    hint = f"This is a {name} {told.get('type', 'value')} in a string: write the {name} literal."
    items = told.get("items")
    if isinstance(items, dict):
        hint += f" Its items are of the type {cast('dict[str, Any]', items).get('type', 'any')}."
    return {"type": "string", "description": f"{told.get('description', '')} {hint}".strip()}
