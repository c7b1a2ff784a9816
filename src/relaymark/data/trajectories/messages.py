"""From a chat's messages, as OpenAI's API has them, to a trajectory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, cast

import msgspec

from relaymark.data.trajectories.model import Call, Reply, Result, Trajectory, Turn
from relaymark.errors import ConfigError


def trajectory_of(
    name: str, messages: Sequence[Any], tools: Sequence[Any] = (), *, where: str, left_out: Counter[str]
) -> Trajectory:
    """A conversation out of its messages.

    Messages of the user that follow one another become one, with a blank line between; so do tool results. System (and
    developer) messages become the system prompt. What cannot be replayed is left out and counted in ``left_out``:
    images and other parts that are no text, and all that comes after a call whose result is missing.

    Raises:
        ConfigError: It is no conversation: no message of the user, or one of a role that is not known.
    """
    system: list[str] = []
    turns: list[Turn] = []
    waiting: tuple[Call, ...] = ()
    last = ""
    for raw in messages:
        if not isinstance(raw, dict):
            raise ConfigError("a message is no object", where=where)
        message = cast("dict[str, Any]", raw)
        role = message.get("role")
        text = _text(message.get("content"), left_out)
        if role in ("system", "developer"):
            system.append(text)
            continue
        if role == "user":
            if waiting:
                left_out["messages after a tool call whose result is missing"] += 1
                break
            if last == "user":
                turns[-1] = msgspec.structs.replace(turns[-1], content=f"{turns[-1].content}\n\n{text}")
            elif text:
                turns.append(Turn("user", text, delay=_delay(message)))
            else:
                left_out["messages of the user without text"] += 1
                continue
        elif role == "tool":
            last = _take_result(turns, message, text, waiting, last, left_out)
            if not last:
                break
            answered = {one.call_id for one in turns[-1].results}
            if answered >= {call.id for call in waiting}:
                waiting = ()
            continue
        elif role == "assistant":
            if last == "tool" and waiting:
                left_out["messages after a tool call whose result is missing"] += 1
                break
            if not turns or last == "assistant":
                left_out["answers that nothing was said before"] += 1
                continue
            reply = _reply(message, text, where)
            if reply is None:
                left_out["answers without content"] += 1
                continue
            turns[-1] = msgspec.structs.replace(turns[-1], reply=reply)
            waiting = reply.calls
        else:
            raise ConfigError(f"a message has the role {str(role)[:40]!r}", where=where)
        last = cast("str", role)
    if not turns:
        raise ConfigError("the conversation has no message of the user", where=where)
    known = tuple(cast("dict[str, Any]", tool) for tool in tools if isinstance(tool, dict))
    return Trajectory(name, tuple(turns), "\n\n".join(filter(None, system)), known)


def _take_result(
    turns: list[Turn], message: dict[str, Any], text: str, waiting: tuple[Call, ...], last: str, left_out: Counter[str]
) -> str:
    """Adds a tool's result; the role it leaves behind, or nothing where it answers no call."""
    known = message.get("tool_call_id")
    if not waiting or not isinstance(known, str) or known not in {call.id for call in waiting}:
        left_out["tool results that answer no call, and what comes after"] += 1
        return ""
    result = Result(known, text)
    if last == "tool":
        turns[-1] = msgspec.structs.replace(turns[-1], results=(*turns[-1].results, result))
    else:
        turns.append(Turn("tool", results=(result,), delay=_delay(message)))
    return "tool"


def _reply(message: dict[str, Any], text: str, where: str) -> Reply | None:
    calls: list[Call] = []
    told = message.get("tool_calls")
    for place, raw in enumerate(cast("list[Any]", told) if isinstance(told, list) else []):
        call = cast("dict[str, Any]", raw) if isinstance(raw, dict) else {}
        function = call.get("function")
        if not isinstance(function, dict) or not isinstance(cast("dict[str, Any]", function).get("name"), str):
            raise ConfigError("a tool call has no function with a name", where=where)
        fields = cast("dict[str, Any]", function)
        arguments = fields.get("arguments", "")
        if not isinstance(arguments, str):
            arguments = msgspec.json.encode(arguments).decode()
        known = call.get("id")
        calls.append(Call(known if isinstance(known, str) and known else f"call_{place}", fields["name"], arguments))
    thought = message.get("reasoning_content") or message.get("reasoning")
    if not calls and not text:
        return None
    return Reply(text or None, thought if isinstance(thought, str) and thought else None, tuple(calls))


def _text(content: Any, left_out: Counter[str]) -> str:
    if isinstance(content, str):
        return content
    parts: list[str] = []
    for raw in cast("list[Any]", content) if isinstance(content, list) else []:
        part = cast("dict[str, Any]", raw) if isinstance(raw, dict) else {}
        if isinstance(part.get("text"), str):
            parts.append(part["text"])
        else:
            left_out["parts of messages that are no text"] += 1
    return "\n".join(parts)


def _delay(message: dict[str, Any]) -> float | None:
    delay = message.get("delay_seconds")
    return float(delay) if isinstance(delay, int | float) and not isinstance(delay, bool) and delay >= 0 else None
