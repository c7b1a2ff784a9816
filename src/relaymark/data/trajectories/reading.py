"""Reads a trajectory file: JSON lines, one message each, the rows of a conversation together.

What a row holds and which may follow which is MLPerf Inference v6.1's (edge agentic, dataset): a user row, an assistant
row, then tool or user rows and assistant rows by turns; a tool row needs the calls that it answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import msgspec

from relaymark.data.trajectories.model import Call, Reply, Result, Trajectory, Turn
from relaymark.errors import ConfigError

MAX_LINE = 64 << 20
OVERRIDES = (
    "max_new_tokens", "max_completion_tokens", "temperature", "top_p", "top_k", "seed", "repetition_penalty",
    "frequency_penalty", "presence_penalty", "stop", "n", "logit_bias", "name", "user", "chat_template",
)  # fmt: skip
"""Request fields that a row may set for itself."""

_decode = msgspec.json.Decoder(dict[str, Any]).decode


def load_trajectories(path: Path) -> list[Trajectory]:
    """All conversations of a file, in its order.

    Raises:
        ConfigError: It is missing or empty, or a row is none of a trajectory's; names the line.
    """
    found: list[Trajectory] = []
    seen: set[str] = set()
    begun: _Begun | None = None
    for row, place in _rows(path):
        name = _text(row, "conversation_id", place)
        if not name.isascii() or not name.isprintable() or not name.strip():
            raise ConfigError("conversation_id goes into a header: plain printable letters only", where=place)
        if begun is None or begun.id != name:
            if begun is not None:
                found.append(begun.ended(place))
            if name in seen:
                raise ConfigError(
                    f"the rows of conversation {name[:80]} do not stand together", where=place, mend="sort the file"
                )
            seen.add(name)
            begun = _Begun(name)
        begun.take(row, place)
    if begun is not None:
        found.append(begun.ended(str(path)))
    if not found:
        raise ConfigError("the file holds no conversation", where=str(path))
    return found


def _rows(path: Path) -> Iterator[tuple[dict[str, Any], str]]:
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(MAX_LINE + 1):
                number += 1
                place = f"{path}:{number}"
                if len(line) > MAX_LINE:
                    raise ConfigError(f"the line is longer than {MAX_LINE >> 20} MiB", where=place)
                if not line.strip():
                    continue
                try:
                    row = _decode(line)
                except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                    raise ConfigError(f"the line is no JSON object: {error}", where=place) from None
                if row.get("_type") != "dataset_metadata":
                    yield row, place
    except OSError as error:
        raise ConfigError(
            f"the trajectory file can't be read: {error.strerror}",
            where=str(path),
            mend="name one with --set trajectories=FILE.jsonl, or make one with `relaymark data synth`",
        ) from None


class _Begun:
    """A conversation whose rows are being read."""

    def __init__(self, name: str) -> None:
        self.id = name
        self._system = ""
        self._tools: tuple[dict[str, Any], ...] = ()
        self._turns: list[Turn] = []
        self._number = 0
        self._calls: tuple[Call, ...] = ()  # that wait for their results
        self._last = ""

    def take(self, row: Mapping[str, Any], place: str) -> None:
        """The next row."""
        self._number += 1
        number = row.get("turn")
        if number != self._number or isinstance(number, bool):
            raise ConfigError(f"turn should be {self._number} and is {number!r}", where=place)
        role = row.get("role")
        if role == "user":
            self._take_user(row, place)
        elif role == "tool":
            self._take_tool(row, place)
        elif role == "assistant":
            self._take_assistant(row, place)
        else:
            raise ConfigError(f"role must be user, assistant or tool, not {str(role)[:40]!r}", where=place)
        self._last = cast("str", role)

    def _take_user(self, row: Mapping[str, Any], place: str) -> None:
        if self._calls:
            raise ConfigError("a user's row stands where the result of a tool call should", where=place)
        if self._last == "user":
            raise ConfigError("two rows of the user follow one another", where=place, mend="join them into one")
        system = row.get("system")
        if isinstance(system, str) and system and not self._system:
            self._system = system
        self._take_tools(row, place)
        self._turns.append(
            Turn("user", _text(row, "content", place), delay=_delay(row, place), overrides=_overrides(row))
        )

    def _take_tool(self, row: Mapping[str, Any], place: str) -> None:
        if not self._calls:
            raise ConfigError("a tool's row follows no call", where=place)
        results = row.get("tool_results")
        if not isinstance(results, list) or not results:
            raise ConfigError("a tool's row needs tool_results, one for each call", where=place)
        self._take_tools(row, place)
        given = tuple(
            Result(_text(one, "tool_call_id", place), _text(one, "content", place, empty=True))
            for one in (_object(each, "a tool result", place) for each in cast("list[Any]", results))
        )
        self._turns.append(Turn("tool", results=given, delay=_delay(row, place), overrides=_overrides(row)))
        self._calls = ()

    def _take_assistant(self, row: Mapping[str, Any], place: str) -> None:
        if self._last not in ("user", "tool"):
            raise ConfigError("an assistant's row must follow a user's or a tool's", where=place)
        told = row.get("tool_calls")
        calls = tuple(_call(each, place) for each in cast("list[Any]", told)) if isinstance(told, list) else ()
        content, reasoning, intents = row.get("content"), row.get("reasoning_content"), row.get("intent_codes")
        if not calls and not (isinstance(content, str) and content):
            raise ConfigError("an assistant's row needs content or tool_calls", where=place)
        reply = Reply(
            content if isinstance(content, str) else None,
            reasoning if isinstance(reasoning, str) else None,
            calls,
            tuple(str(code) for code in cast("list[Any]", intents)) if isinstance(intents, list) else (),
        )
        self._turns[-1] = msgspec.structs.replace(self._turns[-1], reply=reply)
        self._calls = calls

    def _take_tools(self, row: Mapping[str, Any], place: str) -> None:
        tools = row.get("tools")
        if isinstance(tools, list) and tools and not self._tools:
            self._tools = tuple(_object(one, "a tool", place) for one in cast("list[Any]", tools))

    def ended(self, place: str) -> Trajectory:
        """The conversation, whole."""
        if not self._turns:
            raise ConfigError(f"conversation {self.id[:80]} has no turn", where=place)
        return Trajectory(self.id, tuple(self._turns), self._system, self._tools)


def _call(value: Any, place: str) -> Call:
    one = _object(value, "a tool call", place)
    function = _object(one.get("function"), "a tool call's function", place)
    arguments = function.get("arguments")
    if isinstance(arguments, dict):
        arguments = msgspec.json.encode(arguments).decode()
    if not isinstance(arguments, str):
        raise ConfigError("a tool call's arguments must be JSON text or an object", where=place)
    return Call(_text(one, "id", place), _text(function, "name", place), arguments)


def _object(value: Any, what: str, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError(f"{what} must be an object", where=place)
    return cast("dict[str, Any]", value)


def _text(row: Mapping[str, Any], key: str, place: str, *, empty: bool = False) -> str:
    value = row.get(key)
    if not isinstance(value, str) or (not value and not empty):
        raise ConfigError(f"{key} must be a text", where=place)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ConfigError(f"{key} holds half a character (a lone surrogate)", where=place) from None
    return value


def _delay(row: Mapping[str, Any], place: str) -> float | None:
    value = row.get("delay_seconds")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e7:
        raise ConfigError("delay_seconds must be a number of seconds", where=place)
    return float(value)


def _overrides(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: row[key] for key in OVERRIDES if row.get(key) is not None}
