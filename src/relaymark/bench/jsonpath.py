"""Paths into a JSON reply: the part of JSONPath (RFC 9535) that names a way down, and nothing that computes.

``$.answer``, ``$.choices[0].message.content``, ``$.sources[*].url``, ``$['odd name'][-1]``: names, positions (from the
end where negative) and ``*`` for every entry.
"""

from __future__ import annotations

import re
from typing import Any, Literal, cast

from relaymark.errors import ConfigError

Path = tuple[tuple[Literal["name", "place", "every"], str | int], ...]

_STEP = re.compile(
    r"""\.(?P<name>[^\W\d][\w-]*)            # .name
      | \[\s*'(?P<single>[^'\\]*)'\s*\]      # ['name']
      | \[\s*"(?P<double>[^"\\]*)"\s*\]      # ["name"]
      | \[\s*(?P<place>0|-?[1-9]\d{0,8})\s*\]
      | (?P<every>\.\*|\[\s*\*\s*\])""",
    re.VERBOSE,
)
_MOST = 100_000  # values that one path finds


def parse_path(text: str) -> Path:
    """The steps of a path.

    Raises:
        ConfigError: It is none that is understood here.
    """
    text = text.strip()
    steps: list[tuple[Literal["name", "place", "every"], str | int]] = []
    position = 1
    while text.startswith("$") and position < len(text) and (match := _STEP.match(text, position)) is not None:
        if match["place"] is not None:
            steps.append(("place", int(match["place"])))
        elif match["every"] is not None:
            steps.append(("every", "*"))
        else:
            name = next(part for part in (match["name"], match["single"], match["double"]) if part is not None)
            steps.append(("name", name))
        position = match.end()
    if not text.startswith("$") or position != len(text):
        raise ConfigError(
            f"{text[:80]!r} is no path into a reply",
            mend="write it as $.answer, $.choices[0].message.content or $.sources[*].url",
        )
    return tuple(steps)


def look_up(reply: Any, path: Path) -> list[Any]:
    """What stands at a path, in order; nothing where nothing does."""
    here: list[Any] = [reply]
    for kind, step in path:
        below: list[Any] = []
        for one in here:
            if isinstance(one, dict):
                held = cast(dict[str, Any], one)
                if kind == "every":
                    below += held.values()
                elif kind == "name" and step in held:
                    below.append(held[step])
            elif isinstance(one, list):
                entries = cast(list[Any], one)
                if kind == "every":
                    below += entries
                elif kind == "place" and -len(entries) <= cast(int, step) < len(entries):
                    below.append(entries[cast(int, step)])
        here = below[:_MOST]
    return here
