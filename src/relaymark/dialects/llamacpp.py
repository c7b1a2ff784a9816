"""llama.cpp's own ``timings`` object, which its server adds to OpenAI-shaped answers.

Fields read (llama.cpp ``tools/server``, ``result_timings``): ``prompt_n``, ``prompt_ms``, ``predicted_n``,
``predicted_ms``, ``cache_n``, and with speculative decoding ``draft_n``, ``draft_n_accepted``. Times are ms as
floating point; here they become ns. ``prompt_n`` counts the tokens processed, without those taken from the cache.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from relaymark.dialects.usage import count_of

_LONGEST_MS = 1e12


class Timings(msgspec.Struct):
    """What the server says it spent; each field holds the last value that made sense."""

    prefill_ns: int | None = None
    decode_ns: int | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    drafted: int | None = None
    accepted: int | None = None

    def take(self, timings: Mapping[str, object]) -> None:
        """Take in one ``timings`` object; with ``timings_per_token`` every chunk brings one and the last wins."""
        self.prefill_ns = _ns(timings.get("prompt_ms"), self.prefill_ns)
        self.decode_ns = _ns(timings.get("predicted_ms"), self.decode_ns)
        self.prompt_tokens = _count(timings.get("prompt_n"), self.prompt_tokens)
        self.completion_tokens = _count(timings.get("predicted_n"), self.completion_tokens)
        self.cached_tokens = _count(timings.get("cache_n"), self.cached_tokens)
        self.drafted = _count(timings.get("draft_n"), self.drafted)
        self.accepted = _count(timings.get("draft_n_accepted"), self.accepted)


def _ns(value: object, before: int | None) -> int | None:
    if type(value) in (int, float) and isinstance(value, (int, float)) and 0 <= value < _LONGEST_MS:
        return round(value * 1e6)
    return before


def _count(value: object, before: int | None) -> int | None:
    count = count_of(value)
    return before if count is None else count
