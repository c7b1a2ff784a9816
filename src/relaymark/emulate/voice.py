"""What the paced endpoint says: the events and bodies of each API, built from pieces serialised once."""

from __future__ import annotations

import base64
import hashlib
import struct
from typing import Any

import msgspec

from relaymark.emulate.ask import Ask
from relaymark.emulate.pacedconfig import PacedConfig

WORDS = (
    "the", "relay", "runs", "past", "every", "mark", "and", "hands",
    "its", "time", "on", "to", "next", "leg", "of", "it",
)  # fmt: skip
_CREATED = 1_700_000_000
_ID = "@@ID@@"


def words(first: int, count: int) -> str:
    """Tokens ``first`` … ``first + count − 1`` of the endless answer; a token is a space and a word."""
    return "".join(" " + WORDS[index % len(WORDS)] for index in range(first, first + count))


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def usage_fields(prompt: int, completion: int, reasoning: int) -> dict[str, Any]:
    """The usage object of chat and completions."""
    usage: dict[str, Any] = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
    if reasoning:
        usage["completion_tokens_details"] = {"reasoning_tokens": reasoning}
    return usage


class Voice:
    """Events of chat and completions. One instance serves every request of its API."""

    stocked = True  # its words repeat with period len(WORDS), so that events can be kept in stock

    def __init__(self, config: PacedConfig, api: str) -> None:
        self._chat = api == "chat"
        self.model = config.model
        self._field = config.reasoning_field
        self._pieces: dict[tuple[int, int, bool], tuple[bytes, bytes]] = {}

    def request_id(self, seq: int) -> str:
        """The id of the answer; fixed width."""
        return f"{'chatcmpl' if self._chat else 'cmpl'}-{seq:010d}"

    def _chunk(self, choices: list[dict[str, Any]], usage: dict[str, Any] | None = None) -> str:
        chunk: dict[str, Any] = {
            "id": _ID,
            "object": "chat.completion.chunk" if self._chat else "text_completion",
            "created": _CREATED,
            "model": self.model,
            "choices": choices,
        }
        if usage is not None:
            chunk["usage"] = usage
        return f"data: {_json(chunk)}\n\n"

    def _choice(self, text: str, reasoning: bool) -> dict[str, Any]:
        if not self._chat:
            return {"index": 0, "text": text, "logprobs": None, "finish_reason": None}
        return {"index": 0, "delta": {self._field if reasoning else "content": text}, "finish_reason": None}

    def pieces(self, phase: int, count: int, reasoning: bool) -> tuple[bytes, bytes]:
        """HTTP chunk of an event of ``count`` tokens from word ``phase``, without its request id, to be put between."""
        key = (phase, count, reasoning)
        found = self._pieces.get(key)
        if found is None:
            event = self._chunk([self._choice(words(phase, count), reasoning)])
            before, after = event.encode().split(_ID.encode())
            size = len(before) + len(self.request_id(0)) + len(after)
            found = self._pieces[key] = (b"%x\r\n" % size + before, after + b"\r\n")
        return found

    def opening(self, rid: str, ask: Ask) -> bytes:
        """The role-only first event."""
        del ask
        if not self._chat:
            return b""
        choice = {"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}
        return self._chunk([choice]).replace(_ID, rid).encode()

    def token(self, rid: bytes, first: int, count: int, reasoning: bool) -> bytes:
        """An event of ``count`` tokens from token ``first``."""
        event = self._chunk([self._choice(words(first, count), reasoning)])
        return event.encode().replace(_ID.encode(), rid)

    def token_with_usage(self, rid: str, first: int, count: int, reasoning: bool, usage: dict[str, Any]) -> bytes:
        """The same with running usage."""
        return self._chunk([self._choice(words(first, count), reasoning)], usage).replace(_ID, rid).encode()

    def closing(self, rid: str, finish: str, usage: dict[str, Any] | None, total: int, reasoning: int) -> bytes:
        """The finish_reason event, the usage event when there is usage, and the terminator."""
        del total, reasoning
        last: dict[str, Any] = (
            {"index": 0, "delta": {}, "finish_reason": finish}
            if self._chat
            else {"index": 0, "text": "", "logprobs": None, "finish_reason": finish}
        )
        events = self._chunk([last])
        if usage is not None:
            events += self._chunk([], usage)
        return (events.replace(_ID, rid) + "data: [DONE]\n\n").encode()

    def whole(self, rid: str, finish: str, usage: dict[str, Any] | None, total: int, reasoning: int) -> bytes:
        """The body of a non-streaming answer."""
        answer = words(reasoning, total - reasoning)
        choice: dict[str, Any] = {"index": 0, "finish_reason": finish}
        if self._chat:
            message: dict[str, Any] = {"role": "assistant", "content": answer}
            if reasoning:
                message[self._field] = words(0, reasoning)
            choice["message"] = message
        else:
            choice |= {"text": answer, "logprobs": None}
        body: dict[str, Any] = {
            "id": rid,
            "object": "chat.completion" if self._chat else "text_completion",
            "created": _CREATED,
            "model": self.model,
            "choices": [choice],
        }
        if usage is not None:
            body["usage"] = usage
        return msgspec.json.encode(body)


class ResponsesVoice(Voice):
    """Events of the Responses API: each names its type and carries a running sequence number."""

    def request_id(self, seq: int) -> str:
        """The id of the answer; fixed width."""
        return f"resp_{seq:010d}"

    def _event(self, kind: str, number: int, fields: dict[str, Any]) -> str:
        return f"event: {kind}\ndata: {_json({'type': kind, 'sequence_number': number, **fields})}\n\n"

    def _response(self, rid: str, status: str, output: list[Any], usage: dict[str, Any] | None) -> dict[str, Any]:
        return {
            "id": rid,
            "object": "response",
            "created_at": _CREATED,
            "status": status,
            "model": self.model,
            "output": output,
            "usage": usage,
        }

    def opening(self, rid: str, ask: Ask) -> bytes:
        """response.created and the announcement of the message."""
        del ask
        response = self._response(rid, "in_progress", [], None)
        item = {"id": f"msg_{rid}", "type": "message", "status": "in_progress", "role": "assistant", "content": []}
        part = {"type": "output_text", "text": "", "annotations": []}
        return (
            self._event("response.created", 0, {"response": response})
            + self._event("response.in_progress", 1, {"response": response})
            + self._event("response.output_item.added", 2, {"output_index": 0, "item": item})
            + self._event(
                "response.content_part.added",
                3,
                {"item_id": item["id"], "output_index": 0, "content_index": 0, "part": part},
            )
        ).encode()

    def token(self, rid: bytes, first: int, count: int, reasoning: bool) -> bytes:
        """An event of ``count`` tokens from token ``first``."""
        kind = "response.reasoning_text.delta" if reasoning else "response.output_text.delta"
        fields = {
            "item_id": f"msg_{rid.decode()}",
            "output_index": 0,
            "content_index": 0,
            "delta": words(first, count),
        }
        return self._event(kind, first + 4, fields).encode()

    def token_with_usage(self, rid: str, first: int, count: int, reasoning: bool, usage: dict[str, Any]) -> bytes:
        """This API has no running usage; the same as :meth:`token`."""
        del usage
        return self.token(rid.encode(), first, count, reasoning)

    def _final(
        self, rid: str, finish: str, usage: dict[str, Any] | None, total: int, reasoning: int
    ) -> tuple[dict[str, Any], dict[str, Any], bool]:
        cut = finish == "length"
        status = "incomplete" if cut else "completed"
        message = {
            "id": f"msg_{rid}",
            "type": "message",
            "status": status,
            "role": "assistant",
            "content": [{"type": "output_text", "text": words(reasoning, total - reasoning), "annotations": []}],
        }
        final_usage = None
        if usage is not None:
            final_usage = {
                "input_tokens": usage["prompt_tokens"],
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": usage["completion_tokens"],
                "output_tokens_details": {"reasoning_tokens": reasoning},
                "total_tokens": usage["total_tokens"],
            }
        response = self._response(rid, status, [message], final_usage)
        if cut:
            response["incomplete_details"] = {"reason": "max_output_tokens"}
        return response, message, cut

    def closing(self, rid: str, finish: str, usage: dict[str, Any] | None, total: int, reasoning: int) -> bytes:
        """The done events and response.completed (response.incomplete when max_output_tokens cut it)."""
        response, message, cut = self._final(rid, finish, usage, total, reasoning)
        text = words(reasoning, total - reasoning)
        place = {"item_id": message["id"], "output_index": 0, "content_index": 0}
        kind = "response.incomplete" if cut else "response.completed"
        return (
            self._event("response.output_text.done", total + 4, {**place, "text": text})
            + self._event("response.output_item.done", total + 5, {"output_index": 0, "item": message})
            + self._event(kind, total + 6, {"response": response})
        ).encode()

    def whole(self, rid: str, finish: str, usage: dict[str, Any] | None, total: int, reasoning: int) -> bytes:
        """The body of a non-streaming answer."""
        return msgspec.json.encode(self._final(rid, finish, usage, total, reasoning)[0])


def embeddings_body(config: PacedConfig, ask: Ask, usage: bool) -> bytes:
    """Unit-free vectors that depend on the text alone, so the same text always gets the same vector."""
    data: list[dict[str, Any]] = []
    for index, text in enumerate(ask.inputs):
        packed = hashlib.shake_128(text.encode("utf-8", "surrogatepass")).digest(config.dimensions)
        vector = [byte / 127.5 - 1.0 for byte in packed]
        shown: Any = vector
        if ask.base64:
            shown = base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
        data.append({"object": "embedding", "index": index, "embedding": shown})
    body: dict[str, Any] = {"object": "list", "data": data, "model": config.model}
    if usage:
        body["usage"] = {"prompt_tokens": ask.prompt_tokens, "total_tokens": ask.prompt_tokens}
    return msgspec.json.encode(body)
