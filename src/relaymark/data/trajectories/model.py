"""A recorded conversation of an agent, turn by turn (MLPerf Inference v6.1, edge agentic: the dataset's rows)."""

from __future__ import annotations

from typing import Any, Literal

import msgspec


class Call(msgspec.Struct, frozen=True):
    """A tool call that was recorded. ``arguments`` is the JSON text as it stood."""

    id: str
    name: str
    arguments: str


class Result(msgspec.Struct, frozen=True):
    """What a tool gave back to the call of this id."""

    call_id: str
    content: str


class Reply(msgspec.Struct, frozen=True):
    """What the model had answered when this was recorded."""

    content: str | None = None
    reasoning: str | None = None
    calls: tuple[Call, ...] = ()
    intents: tuple[str, ...] = ()  # right answers of a workflow turn, by code


class Turn(msgspec.Struct, frozen=True):
    """One request to the model: what came in since the last one, and what was answered.

    ``reply`` is ``None`` where the record has no answer to this turn. ``delay`` is how long the tools had taken, in
    seconds. ``overrides`` are request fields that the row sets itself (``temperature``, ``max_new_tokens``, …).
    """

    role: Literal["user", "tool"]
    content: str = ""
    results: tuple[Result, ...] = ()
    delay: float | None = None
    reply: Reply | None = None
    overrides: dict[str, Any] = {}


class Trajectory(msgspec.Struct, frozen=True):
    """A whole conversation. ``tools`` are OpenAI tool definitions."""

    id: str
    turns: tuple[Turn, ...]
    system: str = ""
    tools: tuple[dict[str, Any], ...] = ()

    def messages(self, turn: int, *, system: str | None = None) -> list[dict[str, Any]]:
        """The request's messages of a turn (from 0): everything before it as it was recorded, then what is new.

        The model's own answers never come in, so that every endpoint gets the same work (fixed history).
        """
        said: list[dict[str, Any]] = []
        system = self.system if system is None else system
        if system:
            said.append({"role": "system", "content": system})
        for place, one in enumerate(self.turns[: turn + 1]):
            said += incoming(one)
            if place < turn and one.reply is not None:
                said.append(answered(one.reply))
        return said


def incoming(turn: Turn) -> list[dict[str, Any]]:
    """The messages of what came in: one of the user, or one for each tool's result."""
    if turn.role == "user":
        return [{"role": "user", "content": turn.content}]
    return [{"role": "tool", "tool_call_id": one.call_id, "content": one.content} for one in turn.results]


def answered(reply: Reply) -> dict[str, Any]:
    """The message of a recorded answer. A call without content has none: some servers refuse a null."""
    message: dict[str, Any] = {"role": "assistant"}
    if reply.content is not None:
        message["content"] = reply.content
    if reply.reasoning is not None:
        message["reasoning_content"] = reply.reasoning
    if reply.calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in reply.calls
        ]
    return message
