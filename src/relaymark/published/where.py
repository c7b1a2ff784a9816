"""Conditions on rows as people write them: ``availability=available``, ``accelerators>=72``, ``framework~vllm``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from relaymark.errors import ConfigError
from relaymark.published.names import BENCHMARKS, SCENARIOS, benchmark_name, scenario_name

_TEXT = (
    "id",
    "round",
    "organization",
    "availability",
    "division",
    "category",
    "system",
    "platform",
    "benchmark",
    "benchmark_raw",
    "model",
    "model_raw",
    "scenario",
    "scenario_raw",
    "unit",
    "units_raw",
    "result_raw",
    "accuracy_raw",
    "accelerator",
    "accelerator_raw",
    "processor",
    "framework",
    "precision",
    "precision_raw",
    "operating_system",
    "notes",
    "location",
)
_NUMBERS = ("record", "value", "nodes", "accelerators", "power")
_TRUTHS = ("inferred", "has_power")
FIELDS = (*_TEXT, *_NUMBERS, *_TRUTHS, "flag")
_FORM = re.compile(r"\s*([a-z_]+)\s*(!=|>=|<=|=|~|>|<)\s*(.*?)\s*", re.DOTALL)
_NUMBER = re.compile(r"[-+]?[0-9]{1,18}(?:\.[0-9]{1,18})?")


@dataclass(frozen=True, slots=True)
class Condition:
    """``field`` ``operator`` ``value``; of text, ``=`` ignores case and ``~`` means that it holds the value."""

    field: str
    operator: str
    value: str | float | bool


def parse_condition(text: str) -> Condition:
    """Reads ``field=value`` (also ``!=``, ``~``, ``>=``, ``<=``, ``>``, ``<``).

    Raises:
        ConfigError: It has no operator, no such field, or a value that the field cannot have.
    """
    found = _FORM.fullmatch(text)
    where = f"--where {text[:80]}"
    if not found:
        raise ConfigError("This is no condition.", where=where, mend="Write one as availability=available.")
    field, operator, value = found.groups()
    if field not in FIELDS:
        raise ConfigError(f"There is no field {field!r}.", where=where, mend=f"Known: {', '.join(FIELDS)}.")
    if field in _NUMBERS:
        if operator == "~" or not _NUMBER.fullmatch(value):
            raise ConfigError(f"{field} is a number.", where=where, mend=f"Write {field}=8 or {field}>=72.")
        return Condition(field, operator, float(value))
    if operator not in ("=", "!=", "~"):
        raise ConfigError(f"{field} has no order.", where=where, mend=f"Write {field}=…, {field}!=… or {field}~…")
    if field in _TRUTHS:
        if operator == "~" or value.lower() not in ("true", "false"):
            raise ConfigError(f"{field} is true or false.", where=where, mend=f"Write {field}=true.")
        return Condition(field, operator, value.lower() == "true")
    if operator != "~" and field == "benchmark":
        value = benchmark_name(value) or value
    if operator != "~" and field == "scenario":
        value = scenario_name(value) or value
    return Condition(field, operator, value)


def as_sql(conditions: Sequence[Condition]) -> tuple[str, list[str | float | bool]]:
    """(a WHERE clause with a place for each value, the values); ``("", [])`` without conditions."""
    parts: list[str] = []
    values: list[str | float | bool] = []
    for condition in conditions:
        operator = condition.operator
        if condition.field == "flag":
            wanted = "contains(array_to_string(flags, ' '), ?)" if operator == "~" else "list_contains(flags, ?)"
            parts.append(f"NOT {wanted}" if operator == "!=" else wanted)
        elif isinstance(condition.value, str):
            name = f'lower("{condition.field}")'
            parts.append(f"contains({name}, lower(?))" if operator == "~" else f"{name} {operator} lower(?)")
        else:
            parts.append(f'"{condition.field}" {operator} ?')
        values.append(condition.value)
    return ("WHERE " + " AND ".join(parts) if parts else ""), values


def checked_benchmark(text: str) -> Condition:
    """The condition that a row is of a benchmark, by any of its names.

    Raises:
        ConfigError: There is no such benchmark.
    """
    name = benchmark_name(text)
    if name is None:
        raise ConfigError(
            f"There is no benchmark {text!r}.",
            where="--benchmark",
            mend=f"Known: {', '.join(BENCHMARKS)}; others with --where benchmark={text}.",
        )
    return Condition("benchmark", "=", name)


def checked_scenario(text: str) -> Condition:
    """The condition that a row is of a scenario, in any spelling.

    Raises:
        ConfigError: There is no such scenario.
    """
    name = scenario_name(text)
    if name is None:
        raise ConfigError(f"There is no scenario {text!r}.", where="--scenario", mend=f"Known: {', '.join(SCENARIOS)}.")
    return Condition("scenario", "=", name)
