"""Exact tokens per event, where the server told them for every event; otherwise nothing is claimed."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from relaymark.dialects.decoded import Delta


def with_tokens(
    deltas: list[Delta], running: Sequence[int | None], logprobs: Sequence[int | None], total: int | None
) -> list[Delta]:
    """Fill in ``Delta.tokens``.

    Args:
        deltas: Token-bearing pieces in order.
        running: Completion tokens so far as told by each delta's event, ``None`` where it told none, -1 for a
            delta of the same event as the one before.
        logprobs: Tokens of each delta's event by its log-probabilities, marked the same way.
        total: The response's completion tokens by its last ``usage``, if any.

    Running counts are believed only if every event has one, they never fall, and they are running at all: a server
    that puts the final total on every event, or usage on the last event alone, says nothing about single events.
    With several choices vLLM counts each choice by itself, others count all together; the total decides.
    """
    if not deltas:
        return deltas
    tokens = None
    if running[0] is not None:
        choices = {delta.choice for delta in deltas}
        tokens = _increments(deltas, running, by_choice=False)
        if len(choices) > 1 and (tokens is None or sum(tokens) != total):
            tokens = _increments(deltas, running, by_choice=True)
            if tokens is not None and sum(tokens) != total:
                tokens = None
    if tokens is None and logprobs[0] is not None and None not in logprobs:
        tokens = [max(count or 0, 0) for count in logprobs]
        if total is not None and sum(tokens) > total:
            tokens = None
    if tokens is None:
        return deltas
    return [msgspec.structs.replace(delta, tokens=count) for delta, count in zip(deltas, tokens, strict=True)]


def _increments(deltas: Sequence[Delta], running: Sequence[int | None], by_choice: bool) -> list[int] | None:
    before: dict[int, int] = {}
    tokens: list[int] = []
    events = 0
    counted = 0
    for delta, count in zip(deltas, running, strict=True):
        if count is None:
            return None
        if count < 0:
            tokens.append(0)
            continue
        choice = delta.choice if by_choice else 0
        step = count - before.get(choice, 0)
        if step < 0:
            return None
        before[choice] = count
        tokens.append(step)
        events += 1
        counted += step > 0
    # The final total on every event: the first takes it all, the rest nothing.
    if events > 1 and counted <= len(before) and events > len(before):
        return None
    return tokens
