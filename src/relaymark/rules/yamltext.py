"""Plain data as YAML that every reader reads alike.

Other programs read these files with YAML 1.1, where ``on``, ``2026-12-01`` and ``1:30`` are no texts, and this one with
1.2. So a text stands bare only where it can be nothing else, and otherwise in double quotes with JSON's escapes, which
are YAML's too.
"""

from __future__ import annotations

import json
import re
from typing import Any, cast

_BARE = re.compile(r"[A-Za-z_<][A-Za-z0-9_./<>+-]*(?: [A-Za-z0-9_./<>+-]+)*", re.ASCII)
_WORDS = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "nan", "inf"])


def yaml_text(data: dict[str, Any]) -> str:
    """A mapping of texts, numbers, booleans, ``None``, lists and mappings as a block of YAML."""
    return "".join(line + "\n" for line in _lines(data, 0))


def _lines(value: Any, depth: int) -> list[str]:
    pad = "  " * depth
    lines: list[str] = []
    if isinstance(value, dict):
        for key, inner in cast(dict[str, Any], value).items():
            lines += _entry(f"{pad}{_scalar(str(key))}:", inner, depth + 1)
    else:
        for inner in cast(list[Any], value):
            nested = _entry(f"{pad}-", inner, depth + 1)
            if len(nested) > 1 and nested[0] == f"{pad}-":
                # a mapping's first key goes beside its dash
                nested = [f"{pad}- {nested[1].lstrip()}", *nested[2:]]
            lines += nested
    return lines


def _entry(head: str, value: Any, depth: int) -> list[str]:
    if isinstance(value, dict | list) and value:
        return [head, *_lines(cast(Any, value), depth)]
    return [f"{head} {_scalar(value)}"]


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        bare = _BARE.fullmatch(value) is not None and value.lower() not in _WORDS
        return value if bare else json.dumps(value)
    if isinstance(value, dict):
        return "{}"
    if isinstance(value, list):
        return "[]"
    return json.dumps(value)
