"""Durations, rates and sizes as people write them; ns, per second and bytes as the program holds them."""

from __future__ import annotations

import re
from decimal import Decimal

from relaymark.errors import ConfigError

_MINUTE = 60 * 10**9
_NS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,  # U+00B5 and, below, U+03BC: keyboards give either
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "min": _MINUTE,
    "m": _MINUTE,
    "h": 60 * _MINUTE,
    "d": 1440 * _MINUTE,
}
_PER = {"s": 1, "sec": 1, "min": 60, "m": 60, "h": 3600}
_BYTES = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}

# Digits are ASCII and bounded, so that a hostile string can neither smuggle in other scripts nor cost time.
_NUMBER = r"[0-9]{1,20}(?:\.[0-9]{1,20})?"
_PART = re.compile(rf"({_NUMBER})\s*(ns|us|µs|μs|ms|min|s|m|h|d)", re.ASCII)
_DURATION = re.compile(rf"(?:{_NUMBER}\s*(?:ns|us|µs|μs|ms|min|s|m|h|d)\s*)+", re.ASCII)
_RATE = re.compile(rf"({_NUMBER})(?:\s*/\s*(s|sec|min|m|h))?", re.ASCII)
_SIZE = re.compile(rf"({_NUMBER})\s*([A-Za-z]*)", re.ASCII)

MAX_DURATION = 2**62
"""Largest duration accepted, in ns (146 years): sums of two stay within int64."""


def parse_duration(text: str, *, where: str = "") -> int:
    """Return ``text`` in whole ns: ``60s``, ``500ms``, ``2m``, ``1h30m``, ``1.5s``; ``0`` needs no unit.

    Units are ns, us (µs), ms, s, m (min), h and d. Fractions of a ns are cut off.

    Raises:
        ConfigError: not a duration, or longer than ``MAX_DURATION``.
    """
    stripped = text.strip()
    if stripped == "0":
        return 0
    if not _DURATION.fullmatch(stripped):
        mend = "write a number with its unit, such as 500ms, 60s, 2m or 1h30m"
        if re.fullmatch(_NUMBER, stripped):
            mend = f"say the unit: {stripped}s for seconds, {stripped}ms for milliseconds"
        raise ConfigError(f"{_shown(text)} is not a duration", where=where, mend=mend)
    total = sum(Decimal(number) * _NS[unit] for number, unit in _PART.findall(stripped))
    if total > MAX_DURATION:
        raise ConfigError(f"{_shown(text)} is longer than 146 years", where=where, mend="use a shorter duration")
    return int(total)


def format_duration(ns: int) -> str:
    """Return ``ns`` (≥ 0) in the shortest form that `parse_duration` reads back to the same value."""
    if ns < 10**9:
        for unit, size in (("ms", 10**6), ("us", 10**3)):
            if ns >= size:
                return f"{_plain(Decimal(ns) / size)}{unit}"
        return f"{ns}ns" if ns else "0s"
    hours, rest = divmod(ns, 3600 * 10**9)
    minutes, rest = divmod(rest, 60 * 10**9)
    text = f"{hours}h" if hours else ""
    text += f"{minutes}m" if minutes else ""
    return text + (f"{_plain(Decimal(rest) / 10**9)}s" if rest else "")


def parse_rate(text: str, *, where: str = "") -> float:
    """Return ``text`` as a rate per second: ``4/s``, ``120/min``, ``0.5/s``; a bare number is per second.

    Raises:
        ConfigError: not a rate, or not above 0.
    """
    match = _RATE.fullmatch(text.strip())
    mend = "write a number above 0 with its unit, such as 4/s or 120/min"
    if not match:
        raise ConfigError(f"{_shown(text)} is not a rate", where=where, mend=mend)
    rate = float(Decimal(match[1]) / _PER[match[2] or "s"])
    if rate <= 0:
        raise ConfigError(f"a rate must be above 0, got {_shown(text)}", where=where, mend=mend)
    return rate


def format_rate(per_second: float) -> str:
    """Return a rate for people: ``4/s``, ``0.25/s``."""
    return f"{per_second:g}/s"


def parse_size(text: str, *, where: str = "") -> int:
    """Return ``text`` in bytes: ``64MiB``, ``256KiB``, ``1GB``; a bare number is bytes.

    kB, MB, GB are powers of 1000; KiB, MiB, GiB are powers of 1024; case doesn't matter.

    Raises:
        ConfigError: not a size.
    """
    match = _SIZE.fullmatch(text.strip())
    factor = _BYTES.get(match[2].lower() or "b") if match else None
    if not match or factor is None:
        mend = "write a number with B, kB, MB, GB, KiB, MiB or GiB, such as 64MiB"
        raise ConfigError(f"{_shown(text)} is not a size", where=where, mend=mend)
    return int(Decimal(match[1]) * factor)


def format_size(size: int) -> str:
    """Return ``size`` bytes in the shortest form that `parse_size` reads back to the same value."""
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size and size % factor == 0:
            return f"{size // factor}{unit}"
    return f"{size}B"


def _plain(number: Decimal) -> str:
    """Return a decimal without exponent or trailing zeros."""
    return f"{number.normalize():f}"


def _shown(text: str) -> str:
    """Return ``text`` quoted, cut to a length that fits a message."""
    return repr(text if len(text) <= 60 else text[:57] + "…")
