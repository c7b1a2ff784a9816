"""How sure a share is."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

Z95 = 1.959963984540054
"""97.5 % quantile of the normal distribution."""


class Interval(NamedTuple):
    """An interval of shares, 0 to 1."""

    low: float
    high: float


def wilson(share: float, n: float, z: float = Z95) -> Interval:
    """Wilson's score interval of a binomial share (E. B. Wilson 1927, J. Am. Stat. Assoc. 22, 209-212).

    Args:
        share: The observed share, 0 to 1.
        n: Independent trials, above 0.
        z: Quantile; 1.96 for 95 %.

    Raises:
        ValueError: n is not positive or share not within 0 … 1.
    """
    if n <= 0 or not 0 <= share <= 1:
        raise ValueError(f"no interval for share {share} of {n}")
    spread = z * z / n
    middle = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * sqrt(share * (1 - share) / n + spread / (4 * n))
    # At the ends the sum is exact on paper only.
    return Interval(0.0 if share == 0 else max(0.0, middle - half), 1.0 if share == 1 else min(1.0, middle + half))
