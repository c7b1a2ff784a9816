"""MLPerf's compliance test TEST09 for end-to-end RAG: is the mean length of answers that of the reference?"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

LOWEST, HIGHEST = 246.43, 301.19
"""Bounds of the mean answer length in tokens, both included: v6.1 enforces ± 10 % of the reference's 273.81."""

BYTES_PER_TOKEN = 4
"""A response's payload is one little-endian int32 a token."""


class LengthVerdict(msgspec.Struct, kw_only=True, frozen=True):
    """Outcome of the test."""

    count: int
    mean: float | None  # None: there were no answers
    passed: bool
    lowest: float = LOWEST
    highest: float = HIGHEST


def answer_length(answer: str | None, completion_tokens: int | None) -> int:
    """Length of a task's answer in tokens.

    The completion tokens of the final answer call, reasoning included; of a task that made no such call, the words of
    its answer, at least 1.
    """
    if completion_tokens is not None:
        return completion_tokens
    return max(1, len((answer or "").split()))


def response_payload(tokens: int) -> bytes:
    """What a submission returns for a task: as many zero int32 values as its answer has tokens."""
    return bytes(BYTES_PER_TOKEN * tokens)


def verify_lengths(payload_bytes: Iterable[int], *, lowest: float = LOWEST, highest: float = HIGHEST) -> LengthVerdict:
    """Runs the test over the sizes in bytes of all responses, as the verifier finds them in the accuracy log."""
    total = count = 0
    for size in payload_bytes:
        total += size // BYTES_PER_TOKEN
        count += 1
    mean = total / count if count else None
    return LengthVerdict(
        count=count, mean=mean, passed=mean is not None and lowest <= mean <= highest, lowest=lowest, highest=highest
    )


def verification_text(result: LengthVerdict) -> str:
    """Contents of ``verify_output_len.txt``; a checker looks for TEST PASS in it."""
    mean = "none" if result.mean is None else f"{result.mean:.2f}"
    return (
        f"responses: {result.count}\n"
        f"mean output length: {mean} tokens\n"
        f"bounds: {result.lowest:.2f} to {result.highest:.2f}\n"
        f"TEST {'PASS' if result.passed else 'FAIL'}\n"
    )
