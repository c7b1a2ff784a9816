"""The accuracy column: metrics by name, and the scale they are on."""

from __future__ import annotations

import math
import re

BARE = "accuracy"
"""The name a number has here that was published without one."""
TOKENS_PER_SAMPLE = "TOKENS_PER_SAMPLE"

_METRIC = re.compile(r"([A-Za-z][A-Za-z0-9_.-]{0,40})\s*:\s*([-+]?[0-9.]{1,30}(?:[eE][-+]?[0-9]{1,3})?)")
_BARE = re.compile(r"[-+]?[0-9.]{1,30}(?:[eE][-+]?[0-9]{1,3})?")
# Counts and lengths say how much was written, not how well.
_AMOUNTS = frozenset({"tokens_per_sample", "gen_len", "gen_num"})


def read_accuracy(text: str) -> dict[str, float]:
    """Metric → value as published; a number alone is called ``accuracy``. What cannot be read is left out.

    Names are folded to upper case, except that one that stands in lower case everywhere stays as it is:
    ``rouge1`` and ``ROUGE1`` are one metric.
    """
    stripped = text.strip()
    if _BARE.fullmatch(stripped):
        value = _number(stripped)
        return {} if value is None else {BARE: value}
    found = {name: _number(value) for name, value in _METRIC.findall(stripped)}
    return {_folded(name): value for name, value in found.items() if value is not None}


def quality(accuracy: dict[str, float]) -> dict[str, float]:
    """The metrics that say how good the answers are: without counts and lengths."""
    return {name: value for name, value in accuracy.items() if name.lower() not in _AMOUNTS}


def form_of(accuracy: dict[str, float]) -> str:
    """How the accuracy is written: its metrics, and of a bare number whether it is a share or a percentage."""
    told = quality(accuracy)
    if not told:
        return "absent"
    if set(told) == {BARE}:
        return "a bare share (0 to 1)" if 0 <= told[BARE] <= 1 else "a bare number above 1"
    return " ".join(sorted(told))


def _folded(name: str) -> str:
    upper = name.upper()
    return upper if upper.startswith(("ROUGE", "GEN_", "TOKENS_PER")) else name


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
