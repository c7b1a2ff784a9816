"""Reads the conversations of multi-turn BFCL: what is asked at each turn, with which functions, and what is right."""

from __future__ import annotations

import ast
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from relaymark.errors import ConfigError
from relaymark.score.bfcl.loading import read_rows

SUBSETS = ("base", "miss_func", "miss_param", "long_context")
"""200 conversations each. ``miss_func`` holds a function back for a while, ``miss_param`` a value, ``long_context``
fills the world with much that is beside the point."""

# Of each simulated class: the module that it is in, and the file that describes its functions.
CLASSES = {
    "GorillaFileSystem": ("gorilla_file_system", "gorilla_file_system.json"),
    "MathAPI": ("math_api", "math_api.json"),
    "MessageAPI": ("message_api", "message_api.json"),
    "TwitterAPI": ("posting_api", "posting_api.json"),
    "TicketAPI": ("ticket_api", "ticket_api.json"),
    "TradingBot": ("trading_bot", "trading_bot.json"),
    "TravelAPI": ("travel_booking", "travel_booking.json"),
    "VehicleControlAPI": ("vehicle_control", "vehicle_control.json"),
}
PACKAGE = "bfcl_eval"
_PROMPTS = "constants/default_prompts.py"
_PROMPT = "DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_FC"
_MEND = "fetch it with `relaymark data fetch bfcl`, or name the folder of the unpacked wheel with --bfcl-data"


class Entry(msgspec.Struct, frozen=True):
    """One conversation."""

    id: str
    subset: str
    turns: list[list[dict[str, Any]]]  # messages that begin each turn
    truth: list[list[str]]  # calls that bring each turn about; none: nothing can be done at that turn
    classes: list[str]
    config: dict[str, Any]  # class → its state at the begin
    functions: list[dict[str, Any]]
    held_back: dict[int, list[dict[str, Any]]]  # turn → functions that are there from it on


def wheel_folder(place: Path) -> Path:
    """The folder that the package lies in, for a folder at, in or above it.

    Raises:
        ConfigError: There is none: the data alone don't do, the simulated world is code.
    """
    for folder in (place, place.parent, place.parent.parent):
        if (folder / PACKAGE / _PROMPTS).is_file():
            return folder
    raise ConfigError("the package bfcl_eval is not here, whole", where=str(place), mend=_MEND)


def load_entries(place: Path, subsets: tuple[str, ...] = SUBSETS, limit: int | None = None) -> list[Entry]:
    """The conversations of the subsets, each subset's first ``limit``, in their own order.

    Raises:
        ConfigError: A file is missing or is not what it should be.
    """
    package = wheel_folder(place) / PACKAGE
    data = package / "data"
    described = {
        name: read_rows(data / "multi_turn_func_doc" / file, key="name") for name, (_, file) in CLASSES.items()
    }
    prompt = _prompt(package / _PROMPTS)
    entries: list[Entry] = []
    for subset in subsets:
        path = data / f"BFCL_v4_multi_turn_{subset}.json"
        truths = {row["id"]: row.get("ground_truth") for row in read_rows(data / "possible_answer" / path.name)}
        for row in islice(read_rows(path), limit):
            try:
                entries.append(_entry(row, subset, truths[row["id"]], described, prompt))
            except (KeyError, TypeError, ValueError, AttributeError, msgspec.ValidationError) as error:
                raise ConfigError(f"row {row['id']} is not as it should be: {error}", where=str(path)) from None
    return entries


def _entry(
    row: dict[str, Any], subset: str, truth: Any, described: dict[str, list[dict[str, Any]]], prompt: str
) -> Entry:
    classes = msgspec.convert(row["involved_classes"], list[str])
    functions = [function for name in classes for function in described[name]]
    held_back: dict[int, list[dict[str, Any]]] = {}
    for turn, names in msgspec.convert(row.get("missed_function", {}), dict[str, list[str]]).items():
        held = [next(function for function in functions if function["name"] == name) for name in names]
        functions = [function for function in functions if function not in held]
        held_back[int(turn)] = held
    turns = msgspec.convert(row["question"], list[list[dict[str, Any]]])
    # Such a turn has no words of its own: it says that there are more functions now.
    turns = [[{"role": "user", "content": prompt}] if place in held_back else turn for place, turn in enumerate(turns)]
    calls = msgspec.convert(truth, list[list[str]])
    if len(calls) != len(turns):
        raise ValueError(f"it has {len(turns)} turns and right answers for {len(calls)}")
    config = msgspec.convert(row.get("initial_config", {}), dict[str, Any])
    return Entry(row["id"], subset, turns, calls, classes, config, functions, held_back)


def _prompt(path: Path) -> str:
    """What is said where functions are added, in the data set's own words: a constant in its source, read, not run."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError) as error:
        raise ConfigError(f"the file can't be read: {error}", where=str(path), mend=_MEND) from None
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == _PROMPT for target in statement.targets
        ):
            value: Any = ast.literal_eval(statement.value)
            if isinstance(value, str):
                return value
    raise ConfigError(f"it does not say what {_PROMPT} is", where=str(path), mend=_MEND)
