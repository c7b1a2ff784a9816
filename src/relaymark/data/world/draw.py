"""Draws that depend on nothing but numbers: the same on every machine, Python and day."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from math import gcd
from typing import TypeVar

_MASK = (1 << 64) - 1
_Item = TypeVar("_Item")


def key_of(text: str) -> int:
    """A 64-bit key from a text."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


def mix(key: int, index: int, salt: int) -> int:
    """64 well-stirred bits for (key, index, salt): the finaliser of SplitMix64 (Steele, Lea, Flood 2014)."""
    x = (key + index * 0x9E3779B97F4A7C15 + salt * 0xC2B2AE3D27D4EB4F) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


class Draws:
    """A stream of draws for one entity. A stirred number serves several draws, as the digits of a mixed radix."""

    __slots__ = ("_index", "_key", "_pool", "_salt")

    def __init__(self, key: int, index: int, salt: int) -> None:
        self._key = key
        self._index = index
        self._salt = salt << 20  # a million refills before two streams could meet
        self._pool = 0

    def below(self, n: int) -> int:
        """A number from 0 to n − 1; n well below 2³²."""
        pool = self._pool
        if pool < 1 << 32:
            self._salt += 1
            pool = mix(self._key, self._index, self._salt)
        self._pool = pool // n
        return pool % n

    def between(self, low: int, high: int) -> int:
        """A number from low to high, both included."""
        return low + self.below(high - low + 1)

    def one(self, items: Sequence[_Item]) -> _Item:
        """One of the items."""
        return items[self.below(len(items))]

    def some(self, items: Sequence[_Item], count: int) -> list[_Item]:
        """``count`` different items in drawn order (all of them where there are fewer)."""
        rest = list(items)
        return [rest.pop(self.below(len(rest))) for _ in range(min(count, len(rest)))]


class Shuffle:
    """A permutation of 0 … size − 1 that is computed, not stored: x → a·x + b modulo size, a coprime to size.

    ``a`` lies near size divided by the golden ratio, so that neighbours land far apart.
    """

    __slots__ = ("_a", "_b", "_size")

    def __init__(self, size: int, key: int) -> None:
        self._size = size
        self._a = max(1, size * 618 // 1000 + key % 97)
        while gcd(self._a, size) != 1:
            self._a += 1
        self._b = (key >> 8) % size

    def __call__(self, x: int) -> int:
        """Where x, from 0 to size − 1, goes."""
        return (self._a * x + self._b) % self._size
