"""Field types of the benchmark file: each says in plain words what it wants when it is given something else."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer
from pydantic_core import PydanticCustomError

from relaymark.bench._shorthand import parse_length
from relaymark.errors import ConfigError
from relaymark.units import format_duration, format_size, parse_duration, parse_rate, parse_size


class Section(BaseModel):
    """A mapping of the benchmark file: unknown keys are refused, values don't change after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def refuse(what: str, mend: str = "") -> PydanticCustomError:
    """Return the error to raise from a validator: ``what`` follows the key's path ("must be …")."""
    return PydanticCustomError("plain", "{what}", {"what": what, "mend": mend})


def shown(value: Any) -> str:
    """Return a value as a message shows it, cut short."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def _number(wanted: str, low: float, high: float, *, above: bool = False) -> Callable[[Any], float]:
    def check(value: Any) -> float:
        try:
            number = float(value) if isinstance(value, int | float | str) else math.nan
        except (ValueError, OverflowError):
            number = math.nan
        if isinstance(value, bool) or not low <= number <= high or (above and number == low):
            raise refuse(f"must be {wanted}, got {shown(value)}")
        return number

    return check


def _whole(wanted: str, low: int, high: int) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        number = value
        if isinstance(value, str) and value.strip().isascii() and value.strip().lstrip("-").isdigit():
            number = int(value.strip()[:20])
        if isinstance(value, float) and value.is_integer():
            number = int(value)
        if isinstance(number, bool) or not isinstance(number, int) or not low <= number <= high:
            raise refuse(f"must be {wanted}, got {shown(value)}")
        return number

    return check


def _unit(parse: Callable[[str], Any], wanted: str, bare: str) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise refuse(f"must be {wanted}, got {shown(value)}")
        if isinstance(value, int | float) and value != 0:
            raise refuse(f"must be {wanted}, got {shown(value)}", f"say the unit: {value}{bare}")
        try:
            return parse(str(value) if isinstance(value, str) else "0")
        except ConfigError as error:
            raise refuse(f"must be {wanted}, got {shown(value)}", error.mend) from None

    return check


def _rate(value: Any) -> float:
    wanted = "must be a number above 0 (requests per second, or with a unit: 120/min)"
    if isinstance(value, str):
        try:
            value = parse_rate(value)
        except ConfigError:
            raise refuse(f"{wanted}, got {shown(value)}") from None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise refuse(f"{wanted}, got {shown(value)}")
    if not 1e-6 <= value <= 10_000_000:
        raise refuse(f"must be from 0.000001 to 10,000,000 requests per second, got {shown(value)}")
    return float(value)


def _size(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        value = f"{value}B"
    size = _unit(parse_size, "a size such as 64MiB", "B")(value)
    if size < 1024:
        raise refuse(f"must be at least 1KiB, got {shown(value)}")
    return size


def _length(value: Any) -> str:
    """Keep a length in its written form, spelled one way: ``512±64``."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise refuse(f"must be a length in tokens such as 512 or 512±64, got {shown(value)}")
    try:
        length = parse_length(str(value))
    except ConfigError as error:
        raise refuse(f"must be a length in tokens such as 512 or 512±64, got {shown(value)}", error.mend) from None
    return f"{length.mean:.12g}±{length.deviation:.12g}" if length.deviation else f"{length.mean:.12g}"


def _or_none(value: Any) -> Any:
    """``none`` is how people write that there is no limit."""
    return None if isinstance(value, str) and value.strip().lower() == "none" else value


def _maybe_text(format_it: Callable[[int], str]) -> Callable[[int | None], str | None]:
    return lambda value: None if value is None else format_it(value)


def _optional(check: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if _or_none(value) is None else check(value)


_duration = _unit(parse_duration, "a duration such as 500ms, 60s or 2m", "s")


def _positive_duration(value: Any) -> int:
    if (ns := _duration(value)) <= 0:
        raise refuse(f"must be a duration above 0, got {shown(value)}")
    return ns


Duration = Annotated[int, BeforeValidator(_duration), PlainSerializer(format_duration)]
PositiveDuration = Annotated[int, BeforeValidator(_positive_duration), PlainSerializer(format_duration)]
MaybeDuration = Annotated[
    int | None, BeforeValidator(_optional(_positive_duration)), PlainSerializer(_maybe_text(format_duration))
]
Rate = Annotated[float, BeforeValidator(_rate)]
Size = Annotated[int, BeforeValidator(_size), PlainSerializer(format_size)]
Length = Annotated[str, BeforeValidator(_length)]
MaybeLength = Annotated[str | None, BeforeValidator(_optional(_length))]
Count = Annotated[int, BeforeValidator(_whole("a whole number of at least 1", 1, 2**53))]
CountOrZero = Annotated[int, BeforeValidator(_whole("a whole number of at least 0", 0, 2**53))]
# MLPerf's seeds need all 64 bits.
Seed = Annotated[int, BeforeValidator(_whole("a whole number of at least 0", 0, 2**64 - 1))]
MaybeCount = Annotated[int | None, BeforeValidator(_optional(_whole("a whole number of at least 1", 1, 2**53)))]
Slots = Annotated[int, BeforeValidator(_whole("a whole number from 1 to 1,000,000", 1, 1_000_000))]
Share = Annotated[float, BeforeValidator(_number("a number from 0 to 1", 0, 1))]
Positive = Annotated[float, BeforeValidator(_number("a number above 0", 0, 1e9, above=True))]
