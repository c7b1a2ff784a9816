"""Reads BFCL's files: from the unpacked wheel ``bfcl-eval``, which has them all, or from a folder with the same."""

from __future__ import annotations

from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, cast

import msgspec

from relaymark.errors import ConfigError
from relaymark.score.bfcl.selection import SAMPLES, SUBSETS, Subset

_MEND = "fetch it with `relaymark data fetch bfcl`, or name a folder that has it with --bfcl-data"


class Sample(msgspec.Struct, frozen=True):
    """One question with its functions and what is right."""

    id: str
    subset: str
    messages: list[dict[str, Any]]
    functions: list[dict[str, Any]]
    truth: list[dict[str, dict[str, list[Any]]]] | None  # function → parameter → accepted values; None: no call


def load_samples(place: Path) -> list[Sample]:
    """The 995 samples, in the order in which they are asked.

    Raises:
        ConfigError: A file is missing or is not what it should be.
    """
    folder = _folder(place)
    found: list[Sample] = []
    for subset in SUBSETS:
        rows = read_rows(folder / subset.file)
        truths = _truths(folder / "possible_answer" / subset.file) if subset.answers else {}
        for row in islice(rows, subset.taken(len(rows))):
            found.append(_sample(row, subset, truths, folder / subset.file))
    if len(found) != SAMPLES:
        raise ConfigError(
            f"the files give {len(found)} samples where {SAMPLES} are asked for",
            where=str(folder),
            mend="take them from bfcl-eval 2026.3.23",
        )
    return found


def ids_sha256(samples: list[Sample]) -> str:
    """SHA-256 (hex) over the samples' names in order: the selection, in one word."""
    return sha256("\n".join(sample.id for sample in samples).encode()).hexdigest()


def _folder(place: Path) -> Path:
    for folder in (place, place / "data", place / "bfcl_eval" / "data"):
        if (folder / SUBSETS[0].file).is_file():
            return folder
    raise ConfigError("there are no files of BFCL v4 here", where=str(place), mend=_MEND)


def read_rows(path: Path, key: str = "id") -> list[dict[str, Any]]:
    """The JSON lines of a file; each must have a text under ``key``.

    Raises:
        ConfigError: It can't be read, or has another line.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise ConfigError(f"the file can't be read: {error.strerror}", where=str(path), mend=_MEND) from None
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                row: Any = msgspec.json.decode(line)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                raise ConfigError(f"the line is no JSON: {error}", where=f"{path}:{number}") from None
            if not isinstance(row, dict) or not isinstance(cast("dict[str, Any]", row).get(key), str):
                raise ConfigError(f"the line is no row of BFCL: it has no {key}", where=f"{path}:{number}")
            rows.append(cast("dict[str, Any]", row))
    return rows


def _truths(path: Path) -> dict[str, Any]:
    return {row["id"]: row.get("ground_truth") for row in read_rows(path)}


def _sample(row: dict[str, Any], subset: Subset, truths: dict[str, Any], path: Path) -> Sample:
    try:
        messages = [message for turn in row["question"] for message in turn]
        # A null content is refused by some servers; the reference sends an empty one too.
        messages = [{**message, "content": message.get("content") or ""} for message in messages]
        functions = row["function"] if isinstance(row["function"], list) else [row["function"]]
        truth = msgspec.convert(truths[row["id"]], list[dict[str, dict[str, list[Any]]]]) if subset.answers else None
    except (KeyError, TypeError, AttributeError, msgspec.ValidationError) as error:
        raise ConfigError(f"row {row['id']} is not as it should be: {error}", where=str(path)) from None
    return Sample(row["id"], subset.name, messages, functions, truth)
