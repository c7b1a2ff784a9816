"""Numbers with and without units as people write them: 1,234 km; 1.5 million; seven; 12 %."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

_SPACES = "\u00a0\u2007\u2009\u202f"  # no-break, figure, thin and narrow no-break space: thousands separators
_SMALL = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_WORDS = {word: number for number, word in enumerate(_SMALL)} | {word: 10 * n for n, word in enumerate(_TENS, 2)}
_SCALES = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_HEDGE = re.compile(
    r"(?:~|≈|about|approximately|approx\.?|around|roughly|circa|c\.|ca\.|exactly|almost exactly)\s*(?=\S)"
)
_CURRENCY = {"$": "dollar", "€": "euro", "£": "pound", "¥": "yen"}
_GROUPS = rf"\d{{1,3}}(?P<sep>[,'’ {_SPACES}])\d{{3}}(?:(?P=sep)\d{{3}})*"
_DIGITS = re.compile(rf"(?P<sign>[-+\u2212]?)(?P<whole>{_GROUPS}|\d+)(?P<part>\.\d+)?", re.ASCII)
_NO_UNIT = re.compile(r"(?:st|nd|rd|th|'?s)\b", re.ASCII)
_WORD_OR_HYPHEN = re.compile(r"[^\s-]+")
_CODE = re.compile(r"0\d", re.ASCII)
_LONGEST = 120
_SYMBOL = 3  # letters of a unit's symbol, at most
# What a unit is a multiple of: (dimension, factor). Equal values in other units of one dimension are equal.
_UNITS: dict[str, tuple[str, Fraction]] = {}


def _unit(dimension: str, factor: str, *names: str) -> None:
    for name in names:
        _UNITS[name] = (dimension, Fraction(factor))


_unit("length", "0.001", "mm", "millimetre", "millimeter")
_unit("length", "0.01", "cm", "centimetre", "centimeter")
_unit("length", "1", "m", "metre", "meter")
_unit("length", "1000", "km", "kilometre", "kilometer")
_unit("length", "0.3048", "ft", "foot", "feet")
_unit("length", "0.0254", "in", "inch", "inches")
_unit("length", "1609.344", "mi", "mile")
_unit("area", "1", "m2", "sq m", "square metre", "square meter")
_unit("area", "10000", "ha", "hectare")
_unit("area", "1000000", "km2", "sq km", "square kilometre", "square kilometer")
_unit("area", "2589988.110336", "mi2", "sq mi", "square mile")
_unit("mass", "0.001", "g", "gram", "gramme")
_unit("mass", "1", "kg", "kilogram", "kilogramme", "kilo")
_unit("mass", "1000", "t", "ton", "tonne", "metric ton")
_unit("mass", "0.45359237", "lb", "lbs")
_unit("time", "1", "s", "sec", "second")
_unit("time", "60", "min", "minute")
_unit("time", "3600", "h", "hr", "hour")
_unit("time", "86400", "day")
_unit("time", "604800", "week")
_unit("percent", "1", "%", "percent", "per cent", "pct")


class Quantity(NamedTuple):
    """A number and what it counts: ``unit`` is empty for a bare number, else the unit or noun in the singular."""

    value: Fraction
    unit: str = ""
    titled: bool = False  # the unit was a word with a capital: it may be a title's, and isn't left out

    def same(self, other: Quantity) -> bool:
        """Whether both say the same amount.

        Units of one dimension are converted, exactly. Where one side has no unit the values decide: the question has
        named it. Two different nouns are different things.
        """
        if self.unit == other.unit or not ((self.unit and other.unit) or self.titled or other.titled):
            return self.value == other.value
        here, there = _UNITS.get(self.unit), _UNITS.get(other.unit)
        if here is None or there is None or here[0] != there[0]:
            return False
        return self.value * here[1] == other.value * there[1]


def parse_quantity(text: str) -> Quantity | None:
    """The quantity that the whole text is, or ``None``.

    Thousands separators are commas, apostrophes and spaces between groups of three; the decimal mark is the point:
    ``1.234`` is less than two, and ``1,23`` is no number. A unit is a known one, or one or two words in lower case.
    """
    said = re.sub(r"[ \t\r\n]+", " ", text).strip().removesuffix(".").strip()
    if len(said) > _LONGEST:
        return None
    said = _HEDGE.sub("", said, count=1)
    currency = _CURRENCY.get(said[:1], "")
    if currency:
        said = said[1:].strip()
    match = _DIGITS.match(said)
    if match is not None:
        value = Fraction(re.sub(r"\D", "", match["whole"], flags=re.ASCII) + (match["part"] or ""))
        value = -value if match["sign"] in ("-", "\u2212") else value
        rest = said[match.end() :]
        # "1,2345" is no number, "3rd" an ordinal, "1970s" a decade and "007" a name.
        if rest[:1].isdigit() or _NO_UNIT.match(rest) or _CODE.match(match["whole"]):
            return None
    else:
        spelled = _spelled(said)
        if spelled is None:
            return None
        value, rest = spelled
    value, rest = _scaled(value, rest.strip())
    if not rest:
        return Quantity(value, currency)
    unit = None if currency else _unit_name(rest)
    return None if unit is None else Quantity(value, unit, titled=rest[0].isupper() and len(rest) > _SYMBOL)


def _spelled(text: str) -> tuple[Fraction, str] | None:
    """A number in words at the start of the text, and what follows it as it was written."""
    words = _WORD_OR_HYPHEN.findall(text)
    plain = [word.casefold() for word in words]
    total, current, used = 0, -1, 0
    for place, word in enumerate(plain):
        if word in _WORDS:
            number = _WORDS[word]
            if current < 0 or (current % 100 == 0 and used):
                current = max(current, 0) + number
            elif number < 10 and current % 10 == 0 and current % 100 >= 20:
                current += number
            else:
                break
        elif word == "hundred" and 0 < current < 100:
            current *= 100
        elif word in _SCALES and word != "hundred" and current > 0:
            total, current = total + current * _SCALES[word], 0
        elif not (word == "and" and used and plain[place + 1 : place + 2] and plain[place + 1] in _WORDS):
            break
        used += 1
    return None if current < 0 else (Fraction(total + current), " ".join(words[used:]))


def _scaled(value: Fraction, rest: str) -> tuple[Fraction, str]:
    """Takes "million" and its like off the front of what follows a number."""
    word, _, after = rest.partition(" ")
    scale = _SCALES.get(word.casefold())
    return (value, rest) if scale is None else (value * scale, after.strip())


def _unit_name(text: str) -> str | None:
    """A unit in the singular; ``None`` for what is none."""
    name = text.strip().rstrip(".")
    name = name.replace("²", "2").replace("km^2", "km2").replace("m^2", "m2")
    for candidate in (name, name.casefold()):
        for form in (candidate, candidate.removesuffix("s")):
            if form in _UNITS:
                return _singular(form)
    # Any other word with a capital makes a title of it: "Seven Samurai".
    if re.fullmatch(r"[a-zà-öø-ÿ]+(?: [a-zà-öø-ÿ]+)?", name):
        return _singular(name)
    return None


def _singular(name: str) -> str:
    canonical = {"meter": "metre", "kilometer": "kilometre", "percent": "%", "per cent": "%", "pct": "%"}
    if name in canonical:
        return canonical[name]
    if name in _UNITS:
        return name
    return name.removesuffix("s") if len(name) > 3 and not name.endswith("ss") else name
