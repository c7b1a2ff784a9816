"""What a turn of a coding agent does, as MLPerf Inference v6.1 counts it: the programs its shell commands call.

The rule ("inline IoU", edge agentic): quoted spans go, commands are split at ``||``, ``|``, ``&&``, ``;`` and line
breaks, assignments and a few prefixes are dropped, and the first word's class is looked up. Words that are in no
class, ``cd`` and ``echo`` among them, count for nothing. Here-documents are not known: their lines count as commands,
as in the reference.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, cast

import msgspec

from relaymark.trace.turns import SaidCall

_CLASSES: dict[str, tuple[str, ...]] = {
    "python": ("python", "python2", "python3", "py"),
    "pip": ("pip", "pip3"),
    "cat": ("cat", "less", "more"),
    "grep": ("grep", "egrep", "fgrep", "rg", "ag"),
    "awk": ("awk", "gawk"),
    "find": ("find", "locate"),
    "sphinx": ("sphinx-build", "sphinx-quickstart"),
    "source": ("source", "."),
    "curl": ("curl", "wget"),
    "apt": ("apt", "apt-get"),
}
_THEMSELVES = (
    "pytest pylint cython make conda head tail wc diff sed tr sort uniq cut ls xargs cp mv rm mkdir touch tee which "
    "alias unset export git true false timeout date yum"
)
CLASS_OF = {head: name for name, heads in _CLASSES.items() for head in heads} | {
    word: word for word in _THEMSELVES.split()
}
_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|`[^`]*`", re.DOTALL)
_SPLIT = re.compile(r"\|\||\||&&|;|\n")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_PREFIXES = frozenset(("env", "time", "nice", "sudo", "exec", "command"))
_VERSION = re.compile(r"\.\d+(?:\.\d+)?$")
_decode = msgspec.json.Decoder().decode


def actions_of(calls: Iterable[SaidCall]) -> Counter[str]:
    """The classes of all commands of a turn's calls of ``bash``, with how often each comes."""
    found: Counter[str] = Counter()
    for call in calls:
        if call.name == "bash" and (command := _command(call.arguments)) is not None:
            found.update(classes_of(command))
    return found


def _command(arguments: str) -> str | None:
    try:
        told: Any = _decode(arguments)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    if not isinstance(told, dict):
        return None
    fields = cast("dict[str, Any]", told)
    return next((value for key in ("command", "cmd") if isinstance(value := fields.get(key), str)), None)


def classes_of(command: str) -> Iterable[str]:
    """The class of every piece of a command that has one, in order."""
    for piece in _SPLIT.split(_QUOTED.sub(" ", command)):
        words = piece.split()
        place = 0
        while place < len(words) and (words[place] in _PREFIXES or _ASSIGNMENT.match(words[place])):
            place += 1
        if place < len(words):
            head = _VERSION.sub("", words[place].rsplit("/", 1)[-1].lower()) if words[place] != "." else "."
            if (name := CLASS_OF.get(head)) is not None:
                yield name


def overlap(wanted: Counter[str], done: Counter[str]) -> float:
    """Intersection over union of two multisets; ``wanted`` must not be empty."""
    return (wanted & done).total() / (wanted | done).total()
