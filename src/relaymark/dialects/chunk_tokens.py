"""Exact tokens per event, where the server told them for every event; otherwise nothing is claimed."""

from __future__ import annotations

from collections.abc import Mapping, Set

import msgspec

from relaymark.dialects.decoded import Delta


def with_tokens(
    deltas: list[Delta],
    shared: Set[int],
    running: Mapping[int, int],
    logprobs: Mapping[int, int],
    total: int | None,
) -> list[Delta]:
    """Fill in ``Delta.tokens``.

    Args:
        deltas: Token-bearing pieces in order.
        shared: Indexes of deltas of the same event as the one before; they get 0, the first of them all.
        running: First delta of an event → completion tokens so far, for the events that told.
        logprobs: First delta of an event → tokens in the event by its log-probabilities, likewise.
        total: The response's completion tokens by its last ``usage``, if any.

    Running counts are believed only if every event has one, they never fall, and they are running at all: a server
    that puts the final total on every event, or usage on the last event alone, says nothing about single events.
    With several choices vLLM counts each choice by itself, others count all together; the total decides.
    """
    events = len(deltas) - len(shared)
    if not events:
        return deltas
    tokens = None
    if len(running) == events:
        tokens = _increments(deltas, running, by_choice=False)
        if len({delta.choice for delta in deltas}) > 1 and (tokens is None or sum(tokens.values()) != total):
            tokens = _increments(deltas, running, by_choice=True)
            if tokens is not None and sum(tokens.values()) != total:
                tokens = None
    if tokens is None and len(logprobs) == events and (total is None or sum(logprobs.values()) <= total):
        tokens = logprobs
    if tokens is None:
        return deltas
    return [msgspec.structs.replace(delta, tokens=tokens.get(i, 0)) for i, delta in enumerate(deltas)]


def _increments(deltas: list[Delta], running: Mapping[int, int], by_choice: bool) -> dict[int, int] | None:
    before: dict[int, int] = {}
    tokens: dict[int, int] = {}
    for i, count in running.items():
        choice = deltas[i].choice if by_choice else 0
        tokens[i] = count - before.get(choice, 0)
        if tokens[i] < 0:
            return None
        before[choice] = count
    # The final total on every event: the first takes it all, the rest nothing.
    if len(tokens) > len(before) and sum(step > 0 for step in tokens.values()) <= len(before):
        return None
    return tokens
