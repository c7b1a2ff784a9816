"""Days as people write them, read without guessing: 12 March 1874, March 12th, 1874, 1874-03-12, 31/12/1874."""

from __future__ import annotations

import re
from typing import NamedTuple

_NAMES = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
          "december")  # fmt: skip
_MONTHS = {form: number for number, name in enumerate(_NAMES, 1) for form in (name, name[:3])} | {"sept": 9}
_WEEKDAY = r"(?:(?:mon|tue|tues|wed|wednes|thu|thur|thurs|fri|sat|satur|sun)(?:day)?\.?,? +)?"
_MONTH = r"([a-z]{3,9})\.?"
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(\d{4})"
_DAY_FIRST = re.compile(rf"{_WEEKDAY}(?:the )?{_DAY}[ -](?:of )?{_MONTH}(?:,? | ?-|-)(?:of )?{_YEAR}", re.ASCII)
_MONTH_FIRST = re.compile(rf"{_WEEKDAY}{_MONTH} (?:the )?{_DAY}(?:, ?| ){_YEAR}", re.ASCII)
_YEAR_FIRST = re.compile(rf"{_YEAR} {_MONTH} {_DAY}", re.ASCII)
_ISO = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?:t00:00(?::00(?:\.0+)?)?z?)?", re.ASCII)
_DIGITS = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})", re.ASCII)
_MONTH_YEAR = re.compile(rf"{_MONTH},? (?:of )?{_YEAR}", re.ASCII)
_LENGTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class Day(NamedTuple):
    """A day of the calendar, or a whole month (``day`` 0)."""

    year: int
    month: int
    day: int


def parse_day(text: str) -> Day | None:
    """The day or month that the whole text names; ``None`` when it names none, or could name two.

    Text is taken in any case. ``03/12/1874`` is the third of December to some and the twelfth of March to others, so it
    is no day; ``31/12/1874`` and ``12/31/1874`` can only be one, and so is ``03/03/1874``. A date that the calendar
    doesn't have is none.
    """
    said = " ".join(text.casefold().split()).strip(" .,;")
    if match := _ISO.fullmatch(said):
        return _day(match[1], int(match[3]), match[4])
    if match := _DAY_FIRST.fullmatch(said):
        return _day(match[3], _MONTHS.get(match[2]), match[1])
    if match := _MONTH_FIRST.fullmatch(said):
        return _day(match[3], _MONTHS.get(match[1]), match[2])
    if match := _YEAR_FIRST.fullmatch(said):
        return _day(match[1], _MONTHS.get(match[2]), match[3])
    if match := _DIGITS.fullmatch(said):
        one, other = int(match[1]), int(match[3])
        if one > 12 or one == other:
            return _day(match[4], other, match[1])
        return _day(match[4], one, match[3]) if other > 12 else None
    if match := _MONTH_YEAR.fullmatch(said):
        month = _MONTHS.get(match[1])
        return None if month is None else Day(int(match[2]), month, 0)
    return None


def _day(year: str, month: int | None, day: str) -> Day | None:
    if month is None or not 1 <= month <= 12 or not 1 <= int(day) <= _LENGTHS[month - 1] or int(year) < 1:
        return None
    leap = int(year) % 4 == 0 and (int(year) % 100 != 0 or int(year) % 400 == 0)
    if month == 2 and int(day) == 29 and not leap:
        return None
    return Day(int(year), month, int(day))
