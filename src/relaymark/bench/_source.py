"""Reads YAML to plain data and remembers where every key stood.

Built on the event stream of ruamel's pure parser rather than on its constructors: a benchmark file may come from
anyone, so nothing in it may choose a type (no tags), repeat a key silently, or grow on expansion (aliases count
as what they expand to).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from relaymark.errors import ConfigError

KeyPath = tuple[str | int, ...]

MAX_BYTES = 2**20
MAX_NODES = 20_000
MAX_DEPTH = 32

# YAML 1.2 core schema: no "yes", no sexagesimal, no dates.
_INT = re.compile(r"[-+]?[0-9]+", re.ASCII)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


@dataclass
class Source:
    """Plain data with the place each key came from: ``bench.yaml:12`` or ``--set load.rate=8``."""

    data: dict[str, Any]
    name: str = ""
    places: dict[KeyPath, str] = field(default_factory=dict[KeyPath, str])

    def place(self, path: KeyPath) -> str:
        """Return the place of ``path`` or of the nearest key around it; the source's name failing that."""
        for end in range(len(path), -1, -1):
            if found := self.places.get(path[:end]):
                return found
        return self.name


def dotted(path: KeyPath) -> str:
    """Return a key path as users write it: ``stages.0.load.rate``."""
    return ".".join(str(part) for part in path)


def read_source(path: Path) -> Source:
    """Read a benchmark file.

    Raises:
        ConfigError: missing, a directory, not UTF-8, empty, too large, malformed, or YAML with tags, repeated
            keys or runaway aliases. Names the line.
    """
    name = str(path)
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise ConfigError(
            "the benchmark file doesn't exist", where=name, mend="check the path, or name a preset"
        ) from None
    except IsADirectoryError:
        raise ConfigError(
            "this is a directory, not a benchmark file", where=name, mend="name a .yaml file in it"
        ) from None
    except OSError as error:
        raise ConfigError(
            f"the benchmark file can't be read: {error.strerror}", where=name, mend="check its permissions"
        ) from None
    if len(raw) > MAX_BYTES:
        raise ConfigError(
            "the benchmark file is larger than 1 MiB",
            where=name,
            mend="put prompts in a file of their own and name it under prompts.file",
        )
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            f"the benchmark file isn't UTF-8: byte 0x{raw[error.start]:02x} at offset {error.start}",
            where=f"{name}:{line}",
            mend="save it as UTF-8",
        ) from None
    return parse_source(text, name)


def parse_source(text: str, name: str) -> Source:
    """Parse YAML ``text``; ``name`` stands before the line in messages. Raises as `read_source` does."""
    source = Source(data={}, name=name)
    value = _Builder(text, source).document()
    if value is None:
        raise ConfigError("the benchmark file is empty", where=name, mend="start from a preset: see the README")
    if not isinstance(value, dict):
        raise ConfigError(
            "a benchmark file is a mapping of keys to values",
            where=source.place(()),
            mend="write lines such as 'load: poisson:4/s'",
        )
    source.data = value
    return source


def parse_scalar(text: str) -> Any:
    """Return ``text`` as a plain YAML scalar reads: ``8`` → 8, ``true`` → True, ``null`` → None, else the text."""
    if text in _WORDS:
        return _WORDS[text]
    if len(text) > 400:  # no number anyone means, and int() has a limit of its own
        return text
    if _INT.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text) and math.isfinite(number := float(text)):
        return number
    return text


def parse_value(text: str, where: str) -> Any:
    """Return one YAML value, as on the right of ``--set key=value``: a scalar, ``[a, b]`` or ``{a: 1}``."""
    if text[:1] in "[{\"'":
        return _Builder(text, Source(data={}, name=where), lines=False).document()
    return parse_scalar(text)


class _Builder:
    """Turns parse events into plain data, recording places in ``source``."""

    def __init__(self, text: str, source: Source, *, lines: bool = True) -> None:
        self._text = text
        self._source = source
        self._lines = lines
        self._nodes = 0
        self._anchors: dict[str, list[Any]] = {}

    def document(self) -> Any:
        """Return the only document's value."""
        try:
            events = list(self._events())
        except ConfigError:
            raise
        except MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            problem = error.problem or error.context or "it can't be parsed"
            self._fail(f"this isn't YAML: {problem}", mark.line if mark else 0)
        except YAMLError as error:
            self._fail(f"this isn't YAML: {str(error).splitlines()[0]}", 0)
        except Exception as error:  # the parser lets a few ValueErrors and the like through on hostile input
            self._fail(f"this isn't YAML ({type(error).__name__})", 0)
        starts = [event for event in events if _name(event) == "DocumentStart"]
        if not starts:
            return None
        if len(starts) > 1:
            self._fail("the file holds more than one document", starts[1].start_mark.line)
        stream = iter(events)
        for event in stream:
            if _name(event) == "DocumentStart":
                return self._value(next(stream), stream, ())
        return None

    def _events(self) -> Iterator[Any]:
        for event in YAML(typ="safe", pure=True).parse(self._text):  # pyright: ignore[reportUnknownVariableType]
            self._nodes += 1
            if self._nodes > MAX_NODES:
                self._fail(f"the file holds more than {MAX_NODES} values", event.start_mark.line)
            yield event
        self._nodes = 0

    def _value(self, event: Any, stream: Iterator[Any], path: KeyPath) -> Any:
        name = _name(event)
        line: int = event.start_mark.line
        self._nodes += 1
        if self._nodes > MAX_NODES:
            self._fail(f"the file expands to more than {MAX_NODES} values", line)
        if len(path) > MAX_DEPTH:
            self._fail(f"values are nested more than {MAX_DEPTH} deep", line)
        if name == "Alias":
            return self._alias(event, path)
        if event.tag is not None:
            self._fail(f"tags are not allowed ({str(event.tag)[:40]})", line)
        if event.anchor is not None:
            return self._anchored(event, stream, path)
        if path not in self._source.places:
            self._mark(path, line)
        if name == "Scalar":
            return parse_scalar(event.value) if event.implicit[0] else event.value
        return self._mapping(stream, path) if name == "MappingStart" else self._sequence(stream, path)

    def _mapping(self, stream: Iterator[Any], path: KeyPath) -> dict[str, Any]:
        values: dict[str, Any] = {}
        while _name(key := next(stream)) != "MappingEnd":
            line: int = key.start_mark.line
            if _name(key) != "Scalar" or key.tag is not None:
                self._fail("a key must be a plain word", line)
            word = str(key.value)
            if word == "<<":
                self._fail("merge keys (<<) are not supported", line)
            if word in values:
                self._fail(f"{dotted((*path, word))} is given twice", line)
            self._mark((*path, word), line)
            values[word] = self._value(next(stream), stream, (*path, word))
        return values

    def _sequence(self, stream: Iterator[Any], path: KeyPath) -> list[Any]:
        values: list[Any] = []
        while _name(event := next(stream)) != "SequenceEnd":
            values.append(self._value(event, stream, (*path, len(values))))
        return values

    def _anchored(self, event: Any, stream: Iterator[Any], path: KeyPath) -> Any:
        """Keep the events of an anchored node, then build it: an alias builds them again."""
        anchor = str(event.anchor)
        event.anchor = None
        kept = [event]
        depth = int(_name(event).endswith("Start"))
        while depth:
            kept.append(step := next(stream))
            depth += _name(step).endswith("Start") - _name(step).endswith("End")
        value = self._value(kept[0], iter(kept[1:]), path)
        # Known only from here on: an alias inside its own anchor is refused as unknown instead of looping.
        self._anchors[anchor] = kept
        return value

    def _alias(self, event: Any, path: KeyPath) -> Any:
        kept = self._anchors.get(str(event.anchor))
        if kept is None:
            self._fail(f"the alias *{event.anchor} has no anchor before it", event.start_mark.line)
        return self._value(kept[0], iter(kept[1:]), path)

    def _mark(self, path: KeyPath, line: int) -> None:
        if self._lines:
            self._source.places[path] = f"{self._source.name}:{line + 1}"

    def _fail(self, what: str, line: int) -> NoReturn:
        where = f"{self._source.name}:{line + 1}" if self._lines else self._source.name
        raise ConfigError(what, where=where, mend="correct the YAML at this place")


def _name(event: Any) -> str:
    return type(event).__name__.removesuffix("Event")
