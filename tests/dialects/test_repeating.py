"""A stream whose events repeat must decode to just what it decodes to when every event is parsed."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from dialect_captures import chunk, cut, decode, head
from hypothesis import given, settings
from hypothesis import strategies as st

from relaymark.dialects.repeating import Repeating

TEXTS = [
    " a",
    "word",
    "index",
    "content",
    "m",
    "0",
    "",
    '"',
    "\\",
    "\n",
    "\u00a0",
    "ß漢字",
    "😀",
    "a text of our own",
    "data: ",
]

content = st.sampled_from(TEXTS) | st.text(max_size=6)
deltas = st.one_of(
    content.map(lambda text: {"content": text}),
    content.map(lambda text: {"content": text}),
    content.map(lambda text: {"content": text}),
    content.map(lambda text: {"reasoning_content": text}),
    content.map(lambda text: {"content": text, "role": text}),
    content.map(lambda text: {"content": text, "reasoning": text}),
    content.map(lambda text: {"content": [{"type": "text", "text": text}]}),
    content.map(lambda text: {"tool_calls": [{"index": 0, "function": {"arguments": text}}]}),
    content.map(lambda text: {"refusal": text}),
    st.just({"content": None}),
)
oddities = st.sampled_from(
    [
        {},
        {},
        {},
        {},
        {"created": 2},
        {"usage": {"completion_tokens": 3}},
        {"usage": None},
        {"timings": {"predicted_n": 2}},
        {"error": {"message": "no"}},
        {"object": "error"},
        {"index": 1},
        {"finish_reason": "stop"},
        {"logprobs": {"content": [{"token": "a"}]}},
    ]
)


def event(delta: dict[str, Any], oddity: dict[str, Any]) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    whole = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    for key, value in oddity.items():
        (choice if key in ("index", "finish_reason", "logprobs") else whole)[key] = value
    return b"data: " + msgspec.json.encode(whole) + b"\n\n"


@settings(deadline=None, max_examples=400)
@given(
    st.lists(st.tuples(deltas, oddities).map(lambda pair: event(*pair)), max_size=25),
    st.lists(st.integers(0, 5000), max_size=5),
    st.booleans(),
    st.sampled_from([b"\n", b"\r\n"]),
)
def test_what_repeats_is_taken_as_if_it_were_parsed(
    events: list[bytes], places: list[int], ended: bool, eol: bytes
) -> None:
    stream = [*events, *([b"data: [DONE]\n\n"] if ended else [])]
    raw = head("content-type: text/event-stream", "transfer-encoding: chunked")
    raw += b"".join(chunk(one.replace(b"\n", eol)) for one in stream) + b"0\r\n\r\n"
    pieces = cut(raw, places)
    fast = decode(pieces)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Repeating, "learn", lambda self, data: False)
        slow = decode(pieces)
    assert fast == slow


def test_a_usual_stream_is_parsed_at_its_ends_only(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    give = Repeating.give

    def counted(self: Repeating, texts: list[str], reads: list[int]) -> None:
        taken.append(len(texts))
        give(self, texts, reads)

    monkeypatch.setattr(Repeating, "give", counted)
    events = [event({"role": "assistant", "content": ""}, {})]
    events += [event({"content": f" token{n}"}, {}) for n in range(100)]
    events += [event({}, {"finish_reason": "stop"}), b"data: [DONE]\n\n"]
    raw = head("content-type: text/event-stream") + b"".join(events)
    decoded = decode([raw[:700], raw[700:]])
    assert sum(taken) == 99
    assert decoded.texts == ["".join(f" token{n}" for n in range(100))]
    assert len(decoded.deltas) == 100
