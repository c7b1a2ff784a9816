"""Text completions, Responses and embeddings; and the requests of every API."""

from __future__ import annotations

import base64
import json
import struct

import pytest
from dialect_captures import body, sse, stream

from relaymark.dialects import DIALECTS, Channel, Dialect, ToolCall, dialect
from relaymark.errors import ConfigError
from relaymark.trace import Outcome

COMPLETIONS = {"dialect": "openai-completions"}
RESPONSES = {"dialect": "openai-responses"}
EMBEDDINGS = {"dialect": "openai-embeddings", "streamed": False}


def text(piece: str, finish: str | None = None, **fields: object) -> bytes:
    return sse({"choices": [{"index": 0, "text": piece, "finish_reason": finish, **fields}], "model": "m"})


def test_completions_stream() -> None:
    usage = sse({"choices": [], "usage": {"prompt_tokens": 2, "completion_tokens": 2}})
    decoded = stream([text(""), text("a"), text("b", "length"), usage, sse("[DONE]")], **COMPLETIONS)
    assert (decoded.outcome, decoded.texts, decoded.completion_tokens) == (Outcome.OK_LENGTH, ["ab"], 2)
    assert [piece.read for piece in decoded.deltas] == [2, 3]


def test_completions_logprobs() -> None:
    pieces = [
        text("a", logprobs={"tokens": ["a"]}),
        text("bc", logprobs={"tokens": ["b", "c"]}),
        text("", "stop"),
        sse("[DONE]"),
    ]
    assert [piece.tokens for piece in stream(pieces, **COMPLETIONS).deltas] == [1, 2]


def test_completions_whole() -> None:
    answer = {"choices": [{"index": 0, "text": "ab", "finish_reason": "stop"}], "usage": {"completion_tokens": 2}}
    decoded = body(answer, streamed=False, **COMPLETIONS)
    assert (decoded.outcome, decoded.texts, decoded.completion_tokens) == (Outcome.OK, ["ab"], 2)


def typed(kind: str, **fields: object) -> bytes:
    return f"event: {kind}\n".encode() + sse({"type": kind, **fields})


RESPONSE = {
    "model": "m",
    "status": "completed",
    "output": [],
    "usage": {
        "input_tokens": 9,
        "input_tokens_details": {"cached_tokens": 4},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 1},
    },
}

EVENTS = [
    typed("response.created", response={"model": "m", "error": None}),
    typed("response.output_item.added", output_index=0, item={"type": "reasoning"}),
    typed("response.reasoning_summary_text.delta", output_index=0, delta="hm"),
    typed("response.output_text.delta", output_index=1, delta="Hi"),
    typed("response.output_text.delta", output_index=1, delta=""),
    typed("response.output_text.done", output_index=1, text="Hi"),
    typed(
        "response.output_item.added",
        output_index=2,
        item={"type": "function_call", "call_id": "c", "name": "f", "arguments": ""},
    ),
    typed("response.function_call_arguments.delta", output_index=2, delta="{"),
    typed("response.function_call_arguments.delta", output_index=2, delta="}"),
    typed("response.function_call_arguments.done", output_index=2, arguments="{}"),
]


def test_responses_stream() -> None:
    decoded = stream([*EVENTS, typed("response.completed", response=RESPONSE)], **RESPONSES)
    assert (decoded.outcome, decoded.texts, decoded.reasonings, decoded.warnings) == (Outcome.OK, ["Hi"], ["hm"], [])
    assert decoded.tool_calls == [ToolCall(0, 2, "c", "f", "{}")]
    assert [(piece.read, piece.channel) for piece in decoded.deltas] == [
        (3, Channel.REASONING),
        (4, Channel.ANSWER),
        (7, Channel.TOOL),
        (8, Channel.TOOL),
        (9, Channel.TOOL),
    ]
    counts = (decoded.prompt_tokens, decoded.cached_tokens, decoded.completion_tokens, decoded.reasoning_tokens)
    assert counts == (9, 4, 5, 1)
    assert (decoded.model, decoded.finish_reason, decoded.end_mark_read) == ("m", "completed", 11)


def test_responses_ends() -> None:
    capped = {**RESPONSE, "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    decoded = stream([*EVENTS, typed("response.incomplete", response=capped)], **RESPONSES)
    assert (decoded.outcome, decoded.finish_reason) == (Outcome.OK_LENGTH, "max_output_tokens")
    failed = {**RESPONSE, "status": "failed", "error": {"code": "server_error", "message": "boom"}}
    decoded = stream([*EVENTS, typed("response.failed", response=failed)], **RESPONSES)
    assert (decoded.outcome, decoded.error_type, decoded.error_message) == (
        Outcome.INBAND_ERROR,
        "server_error",
        "boom",
    )
    decoded = stream([*EVENTS, typed("error", code="rate_limit", message="slow")], **RESPONSES)
    assert (decoded.outcome, decoded.error_type, decoded.error_message) == (Outcome.INBAND_ERROR, "rate_limit", "slow")
    assert stream(EVENTS, **RESPONSES).outcome is Outcome.TRUNCATED
    assert stream([*EVENTS, sse("[DONE]")], **RESPONSES).outcome is Outcome.OK


def test_responses_whole() -> None:
    output = [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "message", "content": [{"type": "output_text", "text": "Hi"}]},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
    ]
    decoded = body({**RESPONSE, "output": output, "error": None}, streamed=False, **RESPONSES)
    assert (decoded.outcome, decoded.texts, decoded.reasonings) == (Outcome.OK, ["Hi"], ["hm"])
    assert (decoded.tool_calls, decoded.completion_tokens) == ([ToolCall(0, 2, "c", "f", "{}")], 5)
    failed = {**RESPONSE, "status": "failed", "error": {"code": "server_error", "message": "boom"}}
    assert body(failed, streamed=False, **RESPONSES).outcome is Outcome.PROTOCOL_ERROR


def test_embeddings() -> None:
    packed = base64.b64encode(struct.pack("<4f", 1, 2, 3, 4)).decode()
    usage = {"prompt_tokens": 6, "total_tokens": 6}
    for vector in ([1, 2, 3, 4], packed):
        decoded = body(
            {"object": "list", "data": [{"embedding": vector}] * 2, "usage": usage, "model": "e"}, **EMBEDDINGS
        )
        assert (decoded.outcome, decoded.vectors, decoded.dimensions, decoded.prompt_tokens) == (Outcome.OK, 2, 4, 6)
        assert (decoded.warnings, decoded.model, decoded.completion_tokens) == ([], "e", None)
    for data in ([], [{}], [{"embedding": []}], [7], None):
        assert body({"data": data}, **EMBEDDINGS).outcome is Outcome.PROTOCOL_ERROR
    odd = body({"data": [{"embedding": [1]}, {"embedding": [1, 2]}]}, **EMBEDDINGS)
    assert (odd.outcome, odd.dimensions, odd.warnings) == (Outcome.OK, 1, ["vectors differ in length"])


def sent(api: Dialect, **options: object) -> dict[str, object]:
    path, data = api.encode(**options)  # type: ignore[arg-type]  # forwarded as given
    assert path == api.default_path
    return json.loads(data)


def test_requests_say_only_what_was_set() -> None:
    chat = dialect("openai-chat")
    user = [{"role": "user", "content": "hé"}]
    assert sent(chat, messages=user, stream=False) == {"messages": user}
    assert sent(
        chat, text="hé", model="m", max_tokens=5, sampling={"temperature": 0, "top_p": None, "ignore_eos": True}
    ) == {
        "model": "m",
        "messages": user,
        "temperature": 0,
        "ignore_eos": True,
        "max_tokens": 5,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    kept = sent(
        chat,
        text="x",
        extra={"tools": [], "stream": False},
        sampling={"stream_options": {"continuous_usage_stats": True}},
    )
    assert (kept["tools"], kept["stream"]) == ([], True)
    assert kept["stream_options"] == {"include_usage": True, "continuous_usage_stats": True}
    assert "max_tokens" not in sent(chat, text="x", max_tokens=5, sampling={"max_completion_tokens": 9})
    assert sent(dialect("openai-completions"), text="x", max_tokens=5, stream=False) == {"prompt": "x", "max_tokens": 5}
    assert sent(dialect("openai-responses"), text="x", max_tokens=5) == {
        "input": "x",
        "max_output_tokens": 5,
        "stream": True,
    }
    assert sent(dialect("openai-responses"), messages=user, stream=False) == {"input": user}
    assert sent(dialect("openai-embeddings"), text="x", max_tokens=5, model="e") == {"model": "e", "input": "x"}
    assert sent(dialect("openai-embeddings"), extra={"input": ["a", "b"]}) == {"input": ["a", "b"]}
    assert chat.encode(text="x", model="m") == chat.encode(text="x", model="m")


@pytest.mark.parametrize("name", DIALECTS)
def test_prompts_of_the_wrong_kind(name: str) -> None:
    with pytest.raises(ConfigError):
        dialect(name).encode()
    if name in ("openai-completions", "openai-embeddings"):
        with pytest.raises(ConfigError):
            dialect(name).encode(messages=[{"role": "user", "content": "x"}])
    with pytest.raises(ConfigError):
        dialect(name).encode(text="x", extra={"bad": object()})
    with pytest.raises(ConfigError):
        dialect(name).encode(text="\ud800")


def test_unknown_api() -> None:
    with pytest.raises(ConfigError, match="no API called 'grpc'"):
        dialect("grpc")
