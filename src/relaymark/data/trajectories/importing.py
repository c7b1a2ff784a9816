"""Trajectories out of a user's own logs: chats as JSON lines, and mini-swe-agent's trajectories.

The general form is a line a conversation: ``{"id": …, "messages": […], "tools": […]}`` with OpenAI's messages, each
of which may say how long the tool or the user took (``delay_seconds``). Logs of requests fit too: a line whose
messages begin with those of an earlier line is the same conversation further on, and takes its place. What was
answered may stand in ``response`` or ``choices``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, cast

import msgspec

from relaymark.data.trajectories.messages import trajectory_of
from relaymark.data.trajectories.model import Trajectory
from relaymark.errors import ConfigError

Format = Literal["openai", "mini-swe-agent"]
_MAX_FILE = 1 << 30
_encode = msgspec.json.Encoder(order="sorted").encode


class Imported(msgspec.Struct):
    """What came of an import."""

    trajectories: list[Trajectory]
    lines: int  # records that were read
    continued: int  # records that only began or went on with another
    left_out: dict[str, int]


def import_logs(paths: Sequence[Path], form: Format | None = None) -> Imported:
    """Reads logs; the form is told by a file's ending where none is given (``.traj``, ``.traj.json``: mini-swe-agent).

    Raises:
        ConfigError: A file cannot be read or is no such log; names the line.
    """
    left_out: Counter[str] = Counter()
    found: dict[str, _Chat] = {}
    seen: set[str] = set()
    records = 0
    for path in paths:
        chosen = form or ("mini-swe-agent" if path.name.endswith((".traj", ".traj.json")) else "openai")
        for chat in _mini_swe(path) if chosen == "mini-swe-agent" else _openai(path):
            records += 1
            _take(found, seen, chat)
    taken: Counter[str] = Counter()
    trajectories: list[Trajectory] = []
    for chat in found.values():
        name = _name(chat.id or "conversation")
        taken[name] += 1
        unique = name if taken[name] == 1 else f"{name}-{taken[name]}"
        trajectories.append(trajectory_of(unique, chat.messages, chat.tools, where=chat.where, left_out=left_out))
    if not trajectories:
        raise ConfigError("the logs hold no conversation", where=", ".join(map(str, paths))[:200])
    return Imported(trajectories, records, records - len(trajectories), dict(left_out))


class _Chat(msgspec.Struct):
    id: str
    messages: list[Any]
    tools: list[Any]
    where: str


def _take(found: dict[str, _Chat], seen: set[str], chat: _Chat) -> None:
    """Puts a chat among those found, by the hash of its messages: in the place of what it goes on with.

    ``seen`` has the hash of every beginning of every chat: one that is only the beginning of another is nothing new.
    """
    whole = sha256()
    begun: list[str] = []
    for message in chat.messages:
        whole.update(_encode(message) + b"\0")
        begun.append(whole.hexdigest())
    if begun[-1] in seen:
        return
    for prefix in reversed(begun[:-1]):
        if prefix in found:
            earlier = found.pop(prefix)
            chat.id = earlier.id or chat.id
            chat.tools = chat.tools or earlier.tools
            break
    seen.update(begun)
    found[begun[-1]] = chat


def _openai(path: Path) -> Iterator[_Chat]:
    number = 0
    for line in _read(path).splitlines():
        number += 1
        where = f"{path}:{number}"
        if not line.strip():
            continue
        record = _object(line, where)
        request = record.get("request") or record.get("body")
        fields = {**record, **cast("dict[str, Any]", request)} if isinstance(request, dict) else record
        messages = fields.get("messages")
        if not isinstance(messages, list) or not messages:
            raise ConfigError("the record has no messages", where=where, mend="see `relaymark data import --help`")
        said = _answer(fields)
        known = next((fields[key] for key in ("conversation_id", "id", "session_id") if fields.get(key)), "")
        tools = fields.get("tools")
        yield _Chat(
            str(known),
            [*cast("list[Any]", messages), *([said] if said else [])],
            cast("list[Any]", tools) if isinstance(tools, list) else [],
            where,
        )


def _answer(fields: dict[str, Any]) -> dict[str, Any] | None:
    response = fields.get("response")
    told = cast("dict[str, Any]", response) if isinstance(response, dict) else fields
    body = told.get("body")
    told = cast("dict[str, Any]", body) if isinstance(body, dict) else told
    choices = told.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        message = cast("dict[str, Any]", choices[0]).get("message")
        return cast("dict[str, Any]", message) if isinstance(message, dict) else None
    return told if response is not None and told.get("role") == "assistant" else None


def _mini_swe(path: Path) -> Iterator[_Chat]:
    record = _object(_read(path), str(path))
    messages = record.get("messages")
    if not isinstance(messages, list) or not messages:
        raise ConfigError("this is no trajectory of mini-swe-agent: it has no messages", where=str(path))
    timed: list[Any] = []
    before: float | None = None
    for raw in cast("list[Any]", messages):
        message = dict(cast("dict[str, Any]", raw)) if isinstance(raw, dict) else raw
        if isinstance(message, dict):
            extra = message.pop("extra", None)
            at = cast("dict[str, Any]", extra).get("timestamp") if isinstance(extra, dict) else None
            now = float(at) if isinstance(at, int | float) and not isinstance(at, bool) else None
            # What stands between an answer and the next message is what the tool took.
            if message.get("role") in ("user", "tool") and now is not None and before is not None and now >= before:
                message["delay_seconds"] = round(now - before, 6)
            before = now if now is not None else before
            if message.get("role") == "exit":
                continue
        timed.append(message)
    yield _Chat(path.name.removesuffix(".json").removesuffix(".traj"), timed, [], str(path))


def _read(path: Path) -> bytes:
    try:
        if path.stat().st_size > _MAX_FILE:
            raise ConfigError(f"the file is larger than {_MAX_FILE >> 30} GiB", where=str(path), mend="split it")
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"the log can't be read: {error.strerror}", where=str(path)) from None


def _object(data: bytes, where: str) -> dict[str, Any]:
    try:
        found: Any = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"this is no JSON object: {error}", where=where) from None
    if not isinstance(found, dict):
        raise ConfigError("this is no JSON object", where=where)
    return cast("dict[str, Any]", found)


def _name(text: str) -> str:
    """A name that a header can hold."""
    return re.sub(r"[^A-Za-z0-9._:/@-]+", "-", text)[:120] or "conversation"
