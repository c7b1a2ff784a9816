"""Chat answers: tokens per event, tool calls, several choices, errors in every shape, whole answers."""

from __future__ import annotations

import pytest
from dialect_captures import USAGE, body, delta, hello, sse, stream

from relaymark.dialects import Channel, ToolCall
from relaymark.trace import Outcome

END = [sse(delta(finish="stop")), sse("[DONE]")]


def tokens(*events: dict[str, object], end: list[bytes] | None = None) -> list[int | None]:
    decoded = stream([*map(sse, events), *(END if end is None else end)])
    assert decoded.outcome is Outcome.OK
    return [piece.tokens for piece in decoded.deltas]


def running(count: int, **fields: object) -> dict[str, object]:
    return delta(**fields, usage={"prompt_tokens": 7, "completion_tokens": count})


def test_running_usage_gives_increments() -> None:
    assert tokens(
        running(0, role="assistant"), running(1, content="a"), running(5, content="b"), running(6, content="c")
    ) == [1, 4, 1]


def test_a_final_total_is_no_running_count() -> None:
    assert tokens(delta(content="a"), running(9, content="b")) == [None, None]
    assert tokens(running(9, content="a"), running(9, content="b"), running(9, content="c")) == [None] * 3
    assert tokens(running(5, content="a"), running(3, content="b")) == [None, None]


def test_one_event_with_a_count_has_it_all() -> None:
    assert tokens(running(20, content="all")) == [20]


def test_running_timings_of_llamacpp() -> None:
    events = [delta(content=text, timings={"predicted_n": n, "prompt_ms": 1.5}) for text, n in (("a", 1), ("b", 3))]
    assert tokens(*events) == [1, 2]


def test_logprobs_count_tokens() -> None:
    def told(n: int, text: str) -> dict[str, object]:
        return delta(content=text, logprobs={"content": [{"token": "x"}] * n})

    assert tokens(told(1, "a"), told(3, "b")) == [1, 3]
    assert tokens(told(1, "a"), delta(content="b")) == [None, None]
    # More of them than the server's total: then they are not this answer's tokens.
    assert tokens(told(3, "a"), told(3, "b"), end=[sse(delta(finish="stop")), sse(USAGE), sse("[DONE]")]) == [
        None,
        None,
    ]


def test_two_channels_in_one_event_share_its_tokens() -> None:
    assert tokens(running(2, reasoning_content="a", content="b"), running(3, content="c")) == [2, 0, 1]


@pytest.mark.parametrize("counts", [[1, 1, 2, 2, 3, 3], [1, 2, 3, 4, 5, 6]], ids=["by choice", "together"])
def test_two_choices_stay_apart(counts: list[int]) -> None:
    events = [
        delta(index=i % 2, content=f"{'ab'[i % 2]}{i}", usage={"completion_tokens": count})
        for i, count in enumerate(counts)
    ]
    finish = [sse(delta(index=i, finish="stop")) for i in (0, 1)]
    usage = sse({"choices": [], "usage": {"completion_tokens": 6}})
    decoded = stream([*map(sse, events), *finish, usage, sse("[DONE]")])
    assert (decoded.outcome, decoded.texts, decoded.completion_tokens) == (Outcome.OK, ["a0a2a4", "b1b3b5"], 6)
    assert [(piece.choice, piece.tokens) for piece in decoded.deltas] == [(0, 1), (1, 1)] * 3


def test_one_of_two_choices_unfinished() -> None:
    events = [sse(delta(index=i, content="x")) for i in (0, 1)]
    assert stream([*events, sse(delta(index=1, finish="stop"))]).outcome is Outcome.TRUNCATED
    capped = stream([*events, sse(delta(index=0, finish="stop")), sse(delta(index=1, finish="length")), sse("[DONE]")])
    assert (capped.outcome, capped.finish_reason) == (Outcome.OK_LENGTH, "length")


def call(index: int | None = 0, **fields: object) -> dict[str, object]:
    function = {key: fields.pop(key) for key in ("name", "arguments") if key in fields}
    piece = {**fields, "function": function}
    return delta(content=None, tool_calls=[piece if index is None else {"index": index, **piece}])


def test_17_tool_calls_only() -> None:
    decoded = stream(
        [
            sse(delta(role="assistant", content=None, tool_calls=None)),
            sse(call(0, id="c0", type="function", name="find", arguments="")),
            sse(call(0, arguments='{"q":')),
            sse(call(1, id="c1", name="sum", arguments=None)),
            sse(call(0, arguments='"x"}', id=None, name=None)),
            sse(call(1, arguments="{}", name="sum")),
            sse(delta(finish="tool_calls")),
            sse(USAGE),
            sse("[DONE]"),
        ]
    )
    assert (decoded.outcome, decoded.finish_reason, decoded.texts, decoded.completion_tokens) == (
        Outcome.OK,
        "tool_calls",
        [],
        3,
    )
    assert decoded.tool_calls == [ToolCall(0, 0, "c0", "find", '{"q":"x"}'), ToolCall(0, 1, "c1", "sum", "{}")]
    assert [(piece.read, piece.channel) for piece in decoded.deltas] == [
        (read, Channel.TOOL) for read in (2, 3, 4, 5, 6)
    ]


def test_tool_calls_without_index_and_with_objects() -> None:
    decoded = stream(
        [
            sse(call(None, id="c0", name="find", arguments={"q": 1})),
            sse(call(None, id="c1", name="su", arguments="")),
            sse(call(None, name="m", arguments="{")),
            sse(call(None, id="c1", arguments="}")),
            *END,
        ]
    )
    assert decoded.tool_calls == [ToolCall(0, 0, "c0", "find", '{"q":1}'), ToolCall(0, 1, "c1", "sum", "{}")]


def test_legacy_function_call() -> None:
    decoded = stream(
        [sse(delta(function_call={"name": "f", "arguments": "{"})), sse(delta(function_call={"arguments": "}"})), *END]
    )
    assert decoded.tool_calls == [ToolCall(0, 0, None, "f", "{}")]


def test_content_parts_and_refusal() -> None:
    decoded = stream(
        [
            sse(delta(content=[{"type": "text", "text": "a"}, {"type": "image_url"}, "b"])),
            sse(delta(refusal="no")),
            *END,
        ]
    )
    assert decoded.texts == ["abno"]


@pytest.mark.parametrize(
    ("event", "kind", "message"),
    [
        (sse({"error": {"message": "boom", "type": "server_error", "code": 500}}), "server_error", "boom"),
        (sse({"error": "boom"}), None, "boom"),
        (sse({"object": "error", "message": "boom", "code": 400}), "400", "boom"),
        (sse({"type": "error", "error": {"type": "overloaded_error", "message": "boom"}}), "overloaded_error", "boom"),
        (sse({"choices": [], "error": {"detail": [{"loc": ["body", "n"], "msg": "boom"}]}}), None, "body.n: boom"),
        (sse({"error": {"odd": 1}}), None, '{"odd": 1}'),
        (b"event: error\ndata: boom\n\n", None, "boom"),
        (b'event: error\ndata: "boom"\n\n', None, "boom"),
        (b'event: error\ndata: {"message": "boom"}\n\n', None, "boom"),
        (sse(delta(finish="error")), "error", "finish reason 'error'"),
        (sse(delta(finish="abort")), "abort", "finish reason 'abort'"),
    ],
)
@pytest.mark.parametrize("place", [3, 7], ids=["middle", "after done"])
def test_errors_in_the_stream(event: bytes, kind: str | None, message: str, place: int) -> None:
    events = hello()
    events.insert(place, event)
    if b"finish reason" in event or b'"finish_reason": "' in event:
        events = events[: place + 1] if place == 3 else [*events[:4], event, *events[5:]]
    decoded = stream(events)
    assert (decoded.outcome, decoded.error_type, decoded.error_message) == (Outcome.INBAND_ERROR, kind, message)
    assert decoded.deltas


def test_null_and_empty_errors_are_none() -> None:
    assert (
        stream([sse({**delta(content="a"), "error": None}), sse({**delta(), "error": {}}), *END]).outcome is Outcome.OK
    )


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (b'data: {"choices": [{"index": 0, "del\n\n', 'not JSON: {"choices": [{"index": 0, "del'),
        (b"data: hello\n\n", "not JSON: hello"),
        (b"data: 7\n\n", "not a JSON object"),
        (sse({"choices": {}, "x": 1}), None),
        (sse({"choices": {"a": 1}}), "choices is not an array"),
        (sse({"choices": [7]}), "a choice is not an object"),
        (sse(delta(index=10**9, content="x")), "choice index out of range"),
        (sse(call(10**9, name="x")), "tool call index out of range"),
        (sse(delta(tool_calls={"a": 1})), "tool_calls is not an array"),
    ],
)
def test_broken_events(event: bytes, message: str | None) -> None:
    decoded = stream([*hello()[:3], event, *hello()[3:]])
    if message is None:
        assert decoded.outcome is Outcome.OK
    else:
        assert decoded.outcome is Outcome.PROTOCOL_ERROR
        assert decoded.error_message == f"1 broken event(s) in the stream; first: {message}"
    assert decoded.texts == ["Hello 日本"]


def test_lenient_json() -> None:
    halves = [
        b'data: {"choices":[{"index":0,"delta":{"content":"\\ud83d"}}]}\n\n',
        b'data: {"choices":[{"index":0,"delta":{"content":"\\ude00"}}]}\n\n',
    ]
    nan = b'data: {"choices":[{"index":0,"delta":{"content":"a"},"logprobs":{"content":[{"logprob":NaN}]}}]}\n\n'
    decoded = stream([*halves, nan, *END])
    assert (decoded.outcome, decoded.texts, decoded.warnings) == (Outcome.OK, ["😀a"], ["an event is not strict JSON"])
    "".join(piece.text for piece in decoded.deltas).encode()
    bad = stream([b'data: {"choices":[{"index":0,"delta":{"content":"\xff"}}]}\n\n', *END])
    assert (bad.outcome, bad.texts) == (Outcome.OK, ["\ufffd"])


def test_leftover_events() -> None:
    decoded = stream([*hello()[:-1], b"data: [DONE]"])
    assert (decoded.outcome, decoded.warnings) == (Outcome.OK, ["no blank line after [DONE]"])
    decoded = stream([*hello()[:4], hello()[4].rstrip()])
    assert decoded.outcome is Outcome.TRUNCATED
    assert decoded.warnings == ["the stream ends inside an event, which was not counted"]


def test_nothing_before_done() -> None:
    assert stream([sse("[DONE]")]).outcome is Outcome.PROTOCOL_ERROR
    assert stream([b": ping\n\n"]).outcome is Outcome.TRUNCATED
    assert stream([*END]).outcome is Outcome.OK  # the model had nothing to say, and said so


WHOLE = {
    "object": "chat.completion",
    "model": "m",
    "choices": [
        {"index": 1, "message": {"content": "b"}, "finish_reason": "stop"},
        {
            "index": 0,
            "message": {
                "content": "a",
                "reasoning": "r",
                "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}],
            },
            "finish_reason": "stop",
        },
    ],
    "usage": {
        "prompt_tokens": 9,
        "completion_tokens": 4,
        "prompt_tokens_details": {"cached_tokens": 8},
        "completion_tokens_details": {"reasoning_tokens": 2},
    },
    "timings": {
        "prompt_ms": 1.5,
        "predicted_ms": 20,
        "prompt_n": 1,
        "predicted_n": 4,
        "cache_n": 7,
        "draft_n": 6,
        "draft_n_accepted": 3,
    },
}


def test_whole_answers() -> None:
    decoded = body(WHOLE, streamed=False)
    assert (decoded.outcome, decoded.texts, decoded.reasonings, decoded.warnings) == (
        Outcome.OK,
        ["a", "b"],
        ["r", ""],
        [],
    )
    assert decoded.tool_calls == [ToolCall(0, 0, "c", "f", "{}")]
    assert (decoded.deltas, decoded.incremental, decoded.first_event_read) == ([], None, None)
    counts = (decoded.prompt_tokens, decoded.completion_tokens, decoded.cached_tokens, decoded.reasoning_tokens)
    assert counts == (9, 4, 8, 2)
    assert (decoded.server_prefill_ns, decoded.server_decode_ns) == (1_500_000, 20_000_000)
    assert (decoded.server_prompt_tokens, decoded.server_completion_tokens) == (1, 4)
    assert (decoded.drafted_tokens, decoded.accepted_tokens) == (6, 3)


def test_a_stream_was_asked_for_and_none_came_and_the_reverse() -> None:
    decoded = body(WHOLE)
    assert (decoded.outcome, decoded.warnings, decoded.incremental) == (Outcome.OK, ["not streamed"], False)
    decoded = stream(hello(), streamed=False)
    assert (decoded.outcome, decoded.texts) == (Outcome.OK, ["Hello 日本"])
    assert decoded.warnings == ["streamed though no stream was asked for"]


def test_odd_counts_are_absent() -> None:
    odd = {
        "prompt_tokens": -1,
        "completion_tokens": True,
        "prompt_tokens_details": [],
        "completion_tokens_details": {"reasoning_tokens": 2.5},
    }
    timings = {"prompt_ms": "fast", "predicted_ms": -3, "prompt_n": 1e300, "predicted_n": None}
    decoded = body({**WHOLE, "usage": odd, "timings": timings}, streamed=False)
    assert (decoded.prompt_tokens, decoded.completion_tokens, decoded.cached_tokens, decoded.reasoning_tokens) == (
        None,
    ) * 4
    assert (decoded.server_prefill_ns, decoded.server_decode_ns, decoded.server_prompt_tokens) == (None,) * 3
