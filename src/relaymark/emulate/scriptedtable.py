"""Scripts read from a file: a table of what to answer to what, and a recording to be repeated.

Both are JSON lines. A table's line is ``{"match": {…}, "reply": {…}}``; the first line that matches answers. A
recording's line is ``{"key": "…", "reply": {…}}``; what a request's key is, ``key`` of the settings says. ``reply`` has
the fields of :class:`Reply`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from relaymark.emulate.script import Reply, ScriptRequest, read_settings
from relaymark.errors import ConfigError

_Line = TypeVar("_Line", bound=msgspec.Struct)


class Match(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """What a request must be for a line to answer it; everything that is set must hold, and nothing set is any request.

    "last" is the text of the last message, whoever said it.
    """

    contains: str | None = None  # somewhere in the last message
    last: str | None = None  # the last message, to the letter
    last_sha256: str | None = None  # hex
    body_sha256: str | None = None  # of the request's body as it was sent
    headers: dict[str, str] = {}  # names in lower case
    model: str | None = None
    tools: bool | None = None  # whether tools were offered
    messages: Annotated[int, msgspec.Meta(ge=1)] | None = None  # how many there are

    def fits(self, request: ScriptRequest) -> bool:
        """Whether the request is meant."""
        last = request.last
        return (
            (self.contains is None or self.contains in last)
            and (self.last is None or self.last == last)
            and (self.last_sha256 is None or self.last_sha256.lower() == _sha256(last))
            and (self.body_sha256 is None or self.body_sha256.lower() == hashlib.sha256(request.body).hexdigest())
            and all(request.headers.get(name) == value for name, value in self.headers.items())
            and (self.model is None or self.model == request.ask.model)
            and (self.tools is None or self.tools == bool(request.fields.get("tools")))
            and (self.messages is None or self.messages == len(request.messages))
        )


class _TableLine(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    reply: Reply
    match: Match = Match()
    times: Annotated[int, msgspec.Meta(ge=1)] | None = None  # it answers so often; None: always


class _RecordLine(msgspec.Struct, kw_only=True, frozen=True):
    key: str
    reply: Reply


class RecordSettings(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """How a request's key is made: ``body`` or ``last`` (SHA-256 in hex of the body or the last message's text), or
    ``header:NAME``.
    """

    key: Annotated[str, msgspec.Meta(pattern=r"^(body|last|header:[A-Za-z0-9-]+)$")] = "body"


class _NoSettings(msgspec.Struct, forbid_unknown_fields=True):
    pass


class TableScript:
    """Answers by the first line that fits."""

    def __init__(self, lines: list[_TableLine]) -> None:
        self._lines = lines
        self._left = [line.times for line in lines]

    def reply(self, request: ScriptRequest) -> Reply:
        """The reply of the first line that fits and isn't used up; 404 when there is none."""
        for place, line in enumerate(self._lines):
            left = self._left[place]
            if left != 0 and line.match.fits(request):
                if left is not None:
                    self._left[place] = left - 1
                return line.reply
        return Reply(status=404, error="no line of the table fits this request")


class RecordScript:
    """Repeats a recording. A key that was recorded several times gives its replies in turn, then the last one again."""

    def __init__(self, lines: list[_RecordLine], settings: RecordSettings) -> None:
        self._replies: dict[str, list[Reply]] = {}
        for line in lines:
            self._replies.setdefault(line.key, []).append(line.reply)
        self._asked: dict[str, int] = {}
        self._key = _key_reader(settings.key)

    def reply(self, request: ScriptRequest) -> Reply:
        """What was recorded for the request's key; 404 when nothing was."""
        key = self._key(request)
        replies = self._replies.get(key)
        if replies is None:
            return Reply(status=404, error=f"nothing is recorded for key {key[:80]!r}")
        nth = self._asked.get(key, 0)
        self._asked[key] = nth + 1
        return replies[min(nth, len(replies) - 1)]


def _key_reader(how: str) -> Callable[[ScriptRequest], str]:
    if how == "body":
        return lambda request: hashlib.sha256(request.body).hexdigest()
    if how == "last":
        return lambda request: _sha256(request.last)
    name = how.partition(":")[2].lower()
    return lambda request: request.headers.get(name, "")


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def open_table(place: str, settings: Mapping[str, Any]) -> TableScript:
    """Opens a table.

    Raises:
        ConfigError: The file is missing, empty or malformed; names the line.
    """
    read_settings(settings, _NoSettings)
    return TableScript(_read(Path(place), _TableLine))


def open_record(place: str, settings: Mapping[str, Any]) -> RecordScript:
    """Opens a recording.

    Raises:
        ConfigError: As :func:`open_table`, or the settings can't be used.
    """
    return RecordScript(_read(Path(place), _RecordLine), read_settings(settings, RecordSettings))


def _read(path: Path, kind: type[_Line]) -> list[_Line]:
    decode = msgspec.json.Decoder(kind).decode
    lines: list[_Line] = []
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    try:
                        lines.append(decode(line))
                    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
                        raise ConfigError(f"not a line of a script: {problem}", where=f"{path}:{number}") from None
    except OSError as problem:
        raise ConfigError(f"the script can't be read: {problem.strerror}", where=str(path)) from None
    if not lines:
        raise ConfigError("the script is empty", where=str(path))
    return lines
