"""Reads values out of files that anybody may have written, and notes every one that is not what was asked for."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, cast

Keys = tuple[str | int, ...]


@dataclass(slots=True)
class Problem:
    """A value that cannot stand: where, and what is wrong."""

    keys: Keys
    says: str


@dataclass(slots=True)
class Fields:
    """One mapping of a file. Getters return ``None`` for what is absent or wrong; what is wrong goes to ``problems``.

    ``null`` counts as absent. Numbers may come as whole floats, never as booleans; text never as a number.
    """

    data: dict[str, Any]
    problems: list[Problem] = field(default_factory=list[Problem])
    keys: Keys = ()

    def text(self, key: str, *, required: bool = False, least: int = 0, most: int | None = None) -> str | None:
        """A text of ``least`` to ``most`` characters."""
        value = self._value(key, required)
        if value is None:
            return None
        if not isinstance(value, str):
            return self._wrong(key, f"must be text, not {shown(value)}")
        if len(value.strip()) < least:
            return self._wrong(key, "must not be empty" if least == 1 else f"needs at least {least} characters")
        if most is not None and len(value) > most:
            return self._wrong(key, f"has {len(value)} characters; at most {most} are allowed")
        return value

    def word(self, key: str, words: tuple[str, ...], *, required: bool = False) -> str | None:
        """One of a few words."""
        value = self._value(key, required)
        if value is None:
            return None
        if value not in words:
            return self._wrong(key, f"must be one of {', '.join(words)}, not {shown(value)}")
        return str(value)

    def whole(self, key: str, *, required: bool = False, least: int | None = None) -> int | None:
        """A whole number."""
        value = self._value(key, required)
        if value is None:
            return None
        number = whole_number(value)
        if number is None:
            return self._wrong(key, f"must be a whole number, not {shown(value)}")
        if least is not None and number < least:
            return self._wrong(key, f"must be at least {least}, not {number}")
        return number

    def number(
        self, key: str, *, required: bool = False, least: float | None = None, most: float | None = None
    ) -> float | None:
        """A finite number."""
        value = self._value(key, required)
        if value is None:
            return None
        number = plain_number(value)
        if number is None:
            return self._wrong(key, f"must be a number, not {shown(value)}")
        if (least is not None and number < least) or (most is not None and number > most):
            bounds = f"at least {least:g}" if most is None else f"from {least:g} to {most:g}"
            return self._wrong(key, f"must be {bounds}, not {number:g}")
        return number

    def flag(self, key: str, *, required: bool = False) -> bool | None:
        """A yes or no."""
        value = self._value(key, required)
        if value is None:
            return None
        if isinstance(value, bool):
            return value
        if value in (0, 1):
            return bool(value)
        return self._wrong(key, f"must be true or false, not {shown(value)}")

    def mapping(self, key: str, *, required: bool = False) -> Fields | None:
        """A mapping inside this one."""
        value = self._value(key, required)
        if value is None:
            return None
        if not isinstance(value, dict):
            return self._wrong(key, f"must be a mapping, not {shown(value)}")
        return Fields(cast(dict[str, Any], value), self.problems, (*self.keys, key))

    def rows(self, key: str, *, required: bool = False, least: int = 0) -> list[Fields] | None:
        """A list of mappings."""
        value = self._value(key, required)
        if value is None:
            return None
        entries = cast(list[Any], value) if isinstance(value, list) else None
        if entries is None or not all(isinstance(entry, dict) for entry in entries):
            return self._wrong(key, "must be a list of mappings")
        if len(entries) < least:
            return self._wrong(key, f"needs at least {least} entries")
        return [Fields(entry, self.problems, (*self.keys, key, place)) for place, entry in enumerate(entries)]

    def texts(self, key: str) -> list[str] | None:
        """A list of texts."""
        value = self._value(key, required=False)
        if value is None:
            return None
        entries = cast(list[Any], value) if isinstance(value, list) else None
        if entries is None or not all(isinstance(entry, str) for entry in entries):
            return self._wrong(key, "must be a list of texts")
        return entries

    def says(self, key: str, what: str) -> None:
        """Notes a problem that only the caller can see."""
        self._wrong(key, what)

    def _value(self, key: str, required: bool) -> Any:
        value = self.data.get(key)
        if value is None and required:
            self._wrong(key, "is missing" if key not in self.data else "is null")
        return value

    def _wrong(self, key: str, says: str) -> None:
        self.problems.append(Problem((*self.keys, key), says))


def whole_number(value: Any) -> int | None:
    """``value`` where it is a whole number (not a boolean), else ``None``."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float):
        return int(value) if math.isfinite(value) and value.is_integer() else None
    return value


def plain_number(value: Any) -> float | None:
    """``value`` where it is a finite number (not a boolean), else ``None``."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def shown(value: Any) -> str:
    """A value as a message may show it: short, on one line."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"
