"""What chunks may hold: roles, empty deltas, usage in every place, reasoning in three spellings, tools, choices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relaymark.emulate.faults.registry import absent, fault, none_at_all
from relaymark.emulate.faults.stage import DONE, Piece, Stage
from relaymark.trace import Outcome

_CHAT = ("chat",)


def _content(stage: Stage, first: int = 0, **extra: Any) -> list[Piece]:
    return [Piece(stage.chat({"content": stage.words(index)}, **extra), 1) for index in range(first, stage.n)]


@fault(
    "role-first", 11, "A role-only delta at once, the first token much later.", apis=_CHAT, note="TTFT is the token's"
)
async def _role_first(stage: Stage) -> None:
    role = Piece(stage.chat({"role": "assistant", "content": ""}))
    await stage.answer([role, *_content(stage), *stage.chat_ending()])


@fault("empty-deltas", 11, "Deltas with empty or null content before the first token.", apis=_CHAT, count=5)
async def _empty_deltas(stage: Stage) -> None:
    empty = [{"content": ""}, {"content": None}, {}]
    lead = [Piece(stage.chat(empty[index % 3])) for index in range(stage.count("count"))]
    await stage.answer([*lead, *_content(stage), *stage.chat_ending()])


@fault(
    "tokens-per-chunk",
    12,
    "Several tokens an event: speculative decoding, stream intervals.",
    events=lambda tokens, params: -(-tokens // max(1, int(params["k"]))),
    apis=_CHAT,
    note="gaps weighted by tokens",
    k=5,
)
async def _per_chunk(stage: Stage) -> None:
    step = max(1, stage.count("k"))
    spoken: list[Piece] = []
    for first in range(0, stage.n, step):
        count = min(step, stage.n - first)
        spoken.append(Piece(stage.chat({"content": stage.words(first, count)}), count))
    await stage.answer([*spoken, *stage.chat_ending()])


@fault("azure-first", 13, "Azure's first chunk: no choices, prompt filter results.", apis=_CHAT)
async def _azure(stage: Stage) -> None:
    lead = Piece(stage.chat(None, prompt_filter_results=[{"prompt_index": 0, "content_filter_results": {}}]))
    await stage.answer([lead, *_content(stage), *stage.chat_ending()])


@fault("usage-every-chunk", 13, "Running usage in every chunk (continuous_usage_stats).", apis=_CHAT)
async def _usage_every(stage: Stage) -> None:
    spoken = [
        Piece(stage.chat({"content": stage.words(index)}, usage=stage.usage(index + 1)), 1) for index in range(stage.n)
    ]
    await stage.answer([*spoken, *stage.chat_ending()])


@fault("usage-null", 13, "usage: null in every chunk but the last, and null again after it.", apis=_CHAT)
async def _usage_null(stage: Stage) -> None:
    ending = stage.chat_ending()
    ending.insert(2, Piece(stage.chat(None, usage=None)))
    await stage.answer([*_content(stage, usage=None), *ending])


@fault("usage-with-finish", 13, "Usage in the chunk that holds finish_reason, no chunk of its own.", apis=_CHAT)
async def _usage_finish(stage: Stage) -> None:
    await stage.answer([*_content(stage), Piece(stage.chat({}, finish="stop", usage=stage.usage())), Piece(DONE)])


@fault("no-usage", 14, "No usage at all, though it was asked for.", tokens=absent, apis=_CHAT)
async def _no_usage(stage: Stage) -> None:
    await stage.answer([*_content(stage), Piece(stage.chat({}, finish="stop")), Piece(DONE)])


@fault("no-done", 14, "No usage and no [DONE]; the finish_reason is there.", tokens=absent, apis=_CHAT,
       note="warning: no [DONE]")  # fmt: skip
async def _no_done(stage: Stage) -> None:
    await stage.answer([*_content(stage), Piece(stage.chat({}, finish="stop"))])


async def _reasoned(stage: Stage, spell: Callable[[str], dict[str, Any]]) -> None:
    think = stage.n // 2
    thoughts = [Piece(stage.chat(spell(stage.words(index))), 1) for index in range(think)]
    await stage.answer([*thoughts, *_content(stage, think), *stage.chat_ending(reasoning=think)])


@fault(
    "reasoning-content", 15, "Reasoning as reasoning_content (DeepSeek, vLLM, SGLang), half of the tokens.", apis=_CHAT
)
async def _reasoning_content(stage: Stage) -> None:
    await _reasoned(stage, lambda text: {"reasoning_content": text, "content": None})


@fault("reasoning", 15, "Reasoning as reasoning (OpenRouter, newer vLLM), half of the tokens.", apis=_CHAT)
async def _reasoning(stage: Stage) -> None:
    await _reasoned(stage, lambda text: {"reasoning": text, "content": ""})


@fault(
    "reasoning-details", 15, "Reasoning as a list of reasoning_details (OpenRouter), half of the tokens.", apis=_CHAT
)
async def _reasoning_details(stage: Stage) -> None:
    await _reasoned(
        stage, lambda text: {"reasoning_details": [{"type": "reasoning.text", "text": text, "index": 0}], "content": ""}
    )


@fault("length-in-reasoning", 16, "The token limit strikes while the model still reasons: no answer at all.",
       Outcome.OK_LENGTH, apis=_CHAT, note="TTFT present, TTFAT absent")  # fmt: skip
async def _length_reasoning(stage: Stage) -> None:
    thoughts = [Piece(stage.chat({"reasoning_content": stage.words(index)}), 1) for index in range(stage.n)]
    await stage.answer([*thoughts, *stage.chat_ending("length", reasoning=stage.n)])


@fault("tool-calls", 17, "Tool calls only: content null, two calls whose arguments come interleaved.", apis=_CHAT,
       note="two tool calls, TTFT at the first delta")  # fmt: skip
async def _tool_calls(stage: Stage) -> None:
    spoken: list[Piece] = []
    for index in range(stage.n):
        call, part = index % 2, index // 2
        last = index + 2 >= stage.n
        text = '{"n": [' if part == 1 else f"{part}, " if not last else f"{part}]}}"
        function: dict[str, Any] = {"arguments": "" if part == 0 else text}
        entry: dict[str, Any] = {"index": call, "function": function}
        if part == 0:
            function["name"] = f"look_{call}"
            entry |= {"id": f"call_{call}", "type": "function"}
        spoken.append(Piece(stage.chat({"content": None, "tool_calls": [entry]}), 1))
    end = Piece(stage.chat({"content": None, "tool_calls": None}, finish="tool_calls"))
    await stage.answer([*spoken, end, *stage.chat_ending()[1:]])


@fault("n2", 18, "Two choices, interleaved; usage is the total of both.", apis=_CHAT, note="texts kept apart by choice")
async def _n2(stage: Stage) -> None:
    spoken = [
        Piece(stage.chat({"content": f" {'left' if index % 2 == 0 else 'right'}"}, index=index % 2), 1)
        for index in range(stage.n)
    ]
    ends = [Piece(stage.chat({}, finish="stop", index=choice)) for choice in range(2)]
    await stage.answer([*spoken, *ends, *stage.chat_ending()[1:]])


@fault("done-no-finish", 21, "[DONE] without any finish_reason.", tokens=absent, apis=_CHAT,
       note="warning: no finish_reason")  # fmt: skip
async def _done_no_finish(stage: Stage) -> None:
    await stage.answer([*_content(stage), Piece(DONE)])


@fault("only-done", 21, "A stream that holds nothing but [DONE].", Outcome.PROTOCOL_ERROR, events=none_at_all,
       tokens=absent, apis=_CHAT)  # fmt: skip
async def _only_done(stage: Stage) -> None:
    await stage.answer([Piece(DONE)])
