"""The deterministic judge: an answer is right when it says the reference answer, whatever its dress.

Right means equal after normalisation: the same day, the same quantity, the same list in any order, or the same text
without case, accents, punctuation and a leading article. An answer that says more than the reference is wrong here;
whether it would do is for a judge that can read.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from relaymark.score.dates import parse_day
from relaymark.score.numbers import parse_quantity

MOST = 20_000
"""Longest answer that is looked at, in characters; a longer one says more than any reference."""

_FOLDED = str.maketrans(
    {"ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "&": " and "}
)
_ACCENTS = re.compile("[\u0300-\u036f]")
_SIGNS = re.compile(r"(?<=[a-z])(?:[+#]+)|(?<=\b[a-z])-$", re.ASCII)  # C++, C#, A-: without their signs all others
_NOT_WORD = re.compile(r"[^\w]+|_")
_APOSTROPHE = re.compile(r"(?<=\w)['’ʼ´`](?=\w)")
_ARTICLE = re.compile(r"^(?:the|an|a) (?=\S)")
_INITIALS = re.compile(r"\b(\w) (?=\w\b)")
_PREFACE = re.compile(r"^(?:so,? )?(?:the )?(?:final |correct |short )?answer(?: is|:)\s*:?\s*", re.IGNORECASE)
_NOTHING = frozenset(
    ("", "unknown", "i do not know", "i dont know", "none", "n a", "na", "not known", "cannot be determined",
     "not enough information", "insufficient information", "no answer", "null", "not specified", "not mentioned")
)  # fmt: skip
_SPLITS = (
    re.compile(r"\s*[;\n|]\s*"),
    re.compile(r"\s*(?:;|\band\b|&)\s*"),
    re.compile(r"\s*(?:[;,]\s*(?:and\b)?|\band\b|&)\s*"),
)
_ORDINALS = {
    "first": "1st", "second": "2nd", "third": "3rd", "fourth": "4th", "fifth": "5th", "sixth": "6th",
    "seventh": "7th", "eighth": "8th", "ninth": "9th", "tenth": "10th",
}  # fmt: skip
_SIGN = {"+": " plus ", "#": " sharp ", "-": " minus "}


class Verdict(NamedTuple):
    """Right or wrong, and by what."""

    correct: bool
    why: str


def normalise(text: str) -> str:
    """The text without case, accents, punctuation and a leading article; initials are joined, ordinals in digits.

    Idempotent.
    """
    said = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    said = _ACCENTS.sub("", said).translate(_FOLDED)
    said = unicodedata.normalize("NFKC", _APOSTROPHE.sub("", said)).casefold()
    said = _SIGNS.sub(lambda match: "".join(_SIGN[sign] for sign in match[0]), said.strip())
    words = _NOT_WORD.sub(" ", said).split()
    said = " ".join(_ORDINALS.get(word, word) for word in words)
    return _ARTICLE.sub("", _INITIALS.sub(r"\1", said))


def says_nothing(answer: str | None) -> bool:
    """Whether an answer is none: missing, empty, or one of the ways to say that one doesn't know."""
    return answer is None or (len(answer) < 200 and normalise(_undressed(answer)) in _NOTHING)


def judge_exact(gold: str, given: str | None) -> Verdict:
    """Judges an answer by its reference.

    Raises:
        ValueError: The reference is blank.
    """
    if not gold.strip():
        raise ValueError("a blank reference answer judges nothing")
    if given is None:
        return Verdict(False, "no answer")
    if gold.strip() == given.strip():
        return Verdict(True, "equal")
    if len(given) > MOST:
        return Verdict(False, "far longer than the reference")
    said = _undressed(given)
    if _same(gold, said):
        return Verdict(True, "equal when normalised")
    if says_nothing(said):
        return Verdict(False, "no answer")
    if _same_list(gold, said):
        return Verdict(True, "the same list")
    return Verdict(False, "not the reference")


def _undressed(text: str) -> str:
    """An answer without markup, quotation marks and an introduction."""
    said = text.strip().strip("*_`#").strip()
    said = _PREFACE.sub("", said).strip().strip("*_`").strip()
    if len(said) > 1 and said[0] + said[-1] in ('""', "''", "“”", "‘’", "«»"):
        said = said[1:-1].strip()
    return said


def _same(gold: str, given: str) -> bool:
    day = parse_day(gold)
    if day is not None:
        return parse_day(given) == day
    quantity = parse_quantity(gold)
    if quantity is not None:
        other = parse_quantity(given)
        if other is not None:
            return quantity.same(other)
        if any(character.isdigit() for character in gold):
            # Without its marks "3.5" would be "3 5".
            return " ".join(gold.casefold().split()) == " ".join(given.casefold().split())
    right = normalise(gold)
    return bool(right) and right == normalise(given)


def _same_list(gold: str, given: str) -> bool:
    """The same items, each as often, in any order, by some way of taking both apart."""
    for split in _SPLITS:
        wanted = [item for item in split.split(gold.strip()) if item.strip()]
        if len(wanted) < 2:
            continue
        for other in _SPLITS:
            found = [item for item in other.split(given.strip().rstrip(".")) if item.strip()]
            if len(found) == len(wanted) and _matched(wanted, found):
                return True
    return False


def _matched(wanted: list[str], found: list[str]) -> bool:
    left = list(found)
    for item in wanted:
        place = next((place for place, other in enumerate(left) if _same(item, other)), None)
        if place is None:
            return False
        del left[place]
    return True
