"""Token counts as servers report them, under all the names in use. A count nobody sent stays ``None``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeGuard

import msgspec

_LARGEST = 1 << 53  # what a JSON number holds exactly; no honest count comes near


def is_object(value: object) -> TypeGuard[dict[str, object]]:
    """True for a JSON object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[object]]:
    """True for a JSON array."""
    return isinstance(value, list)


def count_of(value: object) -> int | None:
    """A non-negative whole number, or ``None`` for anything else a server may have put there."""
    if type(value) is float and value.is_integer():
        value = int(value)
    if type(value) is int and 0 <= value < _LARGEST:
        return value
    return None


class Usage(msgspec.Struct):
    """Counts of one response; each field holds the last value that was not null."""

    prompt: int | None = None
    completion: int | None = None
    cached: int | None = None
    reasoning: int | None = None

    def take(self, usage: Mapping[str, object]) -> None:
        """Take in one ``usage`` object (OpenAI chat and Responses spellings, DeepSeek's and SGLang's extras)."""
        self.prompt = _first(self.prompt, usage, "prompt_tokens", "input_tokens")
        self.completion = _first(self.completion, usage, "completion_tokens", "output_tokens")
        self.cached = _first(self.cached, usage, "prompt_cache_hit_tokens")
        self.reasoning = _first(self.reasoning, usage, "reasoning_tokens")
        for name in ("prompt_tokens_details", "input_tokens_details"):
            details = usage.get(name)
            if is_object(details):
                self.cached = _first(self.cached, details, "cached_tokens")
        for name in ("completion_tokens_details", "output_tokens_details"):
            details = usage.get(name)
            if is_object(details):
                self.reasoning = _first(self.reasoning, details, "reasoning_tokens")


def _first(before: int | None, source: Mapping[str, object], *names: str) -> int | None:
    for name in names:
        count = count_of(source.get(name))
        if count is not None:
            return count
    return before
