"""The accuracy that a run must reach: a share of a reference."""

from __future__ import annotations

import re
from fractions import Fraction

import msgspec

from relaymark.errors import ConfigError

DEFAULT_SHARE = "0.97"
REFERENCES: dict[str, str] = {"mlperf/v6.1/e2e-rag-qna": "0.35"}
"""Reference accuracies by preset: MLPerf Inference v6.1 asks for 97 % of 35.0 %, that is 33.95 %."""

_NUMBER = re.compile(r"(\d{1,3}(?:\.\d{1,12})?|\.\d{1,12})(\s*%)?", re.ASCII)


class Gate(msgspec.Struct, kw_only=True, frozen=True):
    """What is asked for, exactly: decimal texts, so that 97 % of 0.35 is 0.3395 and not a little less."""

    reference: str
    share: str = DEFAULT_SHARE
    source: str = ""  # the preset that the reference is from

    @property
    def threshold(self) -> Fraction:
        """Lowest accuracy that passes."""
        return Fraction(self.reference) * Fraction(self.share)

    def passes(self, correct: int, of: int) -> bool:
        """Whether ``correct`` right answers of ``of`` reach the threshold; compared without rounding."""
        return of > 0 and Fraction(correct, of) >= self.threshold


def parse_share(text: str, where: str) -> str:
    """A share as decimal text: ``0.35`` or ``35%``.

    Raises:
        ConfigError: Neither, or above 1: 35 without a percent sign could mean either.
    """
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        raise ConfigError(f"{text[:40]!r} is not a share", where=where, mend="write 0.35 or 35%")
    value = Fraction(match[1]) / (100 if match[2] else 1)
    if value > 1:
        raise ConfigError(f"{text[:40]!r} is more than 1", where=where, mend=f"write {match[1]}% for percent")
    return _decimal(value)


def _decimal(value: Fraction) -> str:
    """A fraction of a power of ten as text."""
    digits = 0
    while (value * 10**digits).denominator != 1:
        digits += 1
    whole = str(int(value * 10**digits)).rjust(digits + 1, "0")
    return f"{whole[:-digits]}.{whole[-digits:]}" if digits else whole


def make_gate(reference: str, share: str = DEFAULT_SHARE) -> Gate:
    """The gate of a reference accuracy (``0.35``, ``35%``) or of a preset's (``mlperf/v6.1/e2e-rag-qna``).

    Raises:
        ConfigError: Neither a share nor a preset with a reference.
    """
    if reference in REFERENCES:
        return Gate(reference=REFERENCES[reference], share=parse_share(share, "--gate"), source=reference)
    if "/" in reference:
        known = ", ".join(REFERENCES)
        raise ConfigError(f"no reference is known for {reference!r}", where="--reference", mend=f"known: {known}")
    return Gate(reference=parse_share(reference, "--reference"), share=parse_share(share, "--gate"))
