"""What a scripted reply sounds like: its words as the tokens of one answer, streamed or whole."""

from __future__ import annotations

import re
from typing import Any, cast

import msgspec

from relaymark.emulate.pacedconfig import PacedConfig
from relaymark.emulate.script import Reply
from relaymark.emulate.voice import Voice

_WORD = re.compile(r"\s*\S+\s*$|\s*\S+|\s+")
_LONG = 1 << 20  # characters from which an answer isn't cut into words any more
_SLICE = 1 << 16
_Delta = dict[str, Any]


def split_tokens(text: str) -> list[str]:
    """A text's tokens: its words with the whitespace before them. A very long text is cut into slices of 64 KiB."""
    if len(text) > _LONG:
        return [text[start : start + _SLICE] for start in range(0, len(text), _SLICE)]
    return _WORD.findall(text)


class ScriptedVoice(Voice):
    """Speaks one reply. Token i of the answer is delta i: reasoning first, then content, then tool calls."""

    stocked = False

    def __init__(self, config: PacedConfig, reply: Reply, seq: int) -> None:
        super().__init__(config, "chat")
        self._finish = reply.finish
        self._calls = bool(reply.tool_calls)
        self.reasoning = 0
        """How many of the tokens are reasoning."""
        thoughts = split_tokens(reply.reasoning)
        self.reasoning = len(thoughts)
        self._deltas: list[_Delta] = [{config.reasoning_field: word} for word in thoughts]
        self._deltas += [{"content": word} for word in split_tokens(reply.content)]
        for index, call in enumerate(reply.tool_calls):
            function = {"name": call.name, "arguments": ""}
            head = {"index": index, "id": call.id or f"call_{seq}_{index}", "type": "function", "function": function}
            self._deltas.append({"tool_calls": [head]})
            self._deltas += [
                {"tool_calls": [{"index": index, "function": {"arguments": word}}]}
                for word in split_tokens(call.arguments)
            ]
        if not self._deltas:
            self._deltas.append({"content": ""})  # a model that says nothing has still made its end token

    @property
    def tokens(self) -> int:
        """How many tokens the answer has; at least 1."""
        return len(self._deltas)

    def _merged(self, first: int, count: int) -> _Delta:
        """Several deltas as one; pieces of the same tool call are put together."""
        merged: _Delta = {}
        calls: dict[int, dict[str, Any]] = {}
        for delta in self._deltas[first : first + count]:
            for field, value in delta.items():
                if field != "tool_calls":
                    merged[field] = merged.get(field, "") + value
                    continue
                for piece in cast("list[dict[str, Any]]", value):
                    call = calls.get(piece["index"])
                    if call is None:
                        calls[piece["index"]] = {**piece, "function": dict(piece["function"])}
                    else:
                        call["function"]["arguments"] += piece["function"]["arguments"]
        if calls:
            merged["tool_calls"] = list(calls.values())
        return merged

    def token(self, rid: bytes, first: int, count: int, reasoning: bool) -> bytes:
        """An event of ``count`` tokens from token ``first``."""
        del reasoning
        choice = {"index": 0, "delta": self._merged(first, count), "finish_reason": None}
        return self._event(rid.decode(), [choice])

    def token_with_usage(self, rid: str, first: int, count: int, reasoning: bool, usage: dict[str, Any]) -> bytes:
        """The same with running usage."""
        del reasoning
        choice = {"index": 0, "delta": self._merged(first, count), "finish_reason": None}
        return self._event(rid, [choice], usage)

    def _event(self, rid: str, choices: list[dict[str, Any]], usage: dict[str, Any] | None = None) -> bytes:
        # Not by replacing a mark in the text, as the paced voice does: a scripted answer may hold any text.
        chunk: dict[str, Any] = {
            "id": rid,
            "object": "chat.completion.chunk",
            "created": 1_700_000_000,
            "model": self.model,
            "choices": choices,
        }
        if usage is not None:
            chunk["usage"] = usage
        return b"data: %b\n\n" % msgspec.json.encode(chunk)

    def _reason(self, finish: str) -> str:
        if finish == "stop":
            return self._finish or ("tool_calls" if self._calls else "stop")
        return finish

    def closing(self, rid: str, finish: str, usage: dict[str, Any] | None, total: int, reasoning: int) -> bytes:
        """The finish_reason event, the usage event when there is usage, and the terminator."""
        del total, reasoning
        last = self._event(rid, [{"index": 0, "delta": {}, "finish_reason": self._reason(finish)}])
        tail = b"" if usage is None else self._event(rid, [], usage)
        return last + tail + b"data: [DONE]\n\n"

    def whole(self, rid: str, finish: str, usage: dict[str, Any] | None, total: int, reasoning: int) -> bytes:
        """The body of a non-streaming answer."""
        del reasoning
        message = {"role": "assistant", "content": None, **self._merged(0, total)}
        if message["content"] is None and not self._calls:
            message["content"] = ""
        for call in message.get("tool_calls", ()):
            call.pop("index")
        body: dict[str, Any] = {
            "id": rid,
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": self.model,
            "choices": [{"index": 0, "finish_reason": self._reason(finish), "message": message}],
        }
        if usage is not None:
            body["usage"] = usage
        return msgspec.json.encode(body)
