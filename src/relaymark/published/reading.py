"""The files that hold a round: the official summary.csv and summary_results.json, and our tab-separated table."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import msgspec

from relaymark.errors import ConfigError
from relaymark.published.normalise import normalise
from relaymark.published.row import Row

_LARGEST = 512 * 2**20
_ODD = "\0odd"  # no column can be called so

# Field of a raw record → its column, in the order they are looked for.
_CSV = {
    "organization": "Organization",
    "availability": "Availability",
    "division": "Division",
    "category": "SystemType",
    "system": "SystemName",
    "platform": "Platform",
    "model": "Model",
    "benchmark": "MlperfModel",
    "scenario": "Scenario",
    "result": "Result",
    "units": "Units",
    "accuracy": "Accuracy",
    "nodes": "number_of_nodes",
    "processor": "host_processor_model_name",
    "accelerator": "accelerator_model_name",
    "per_node": "accelerators_per_node",
    "total": "total_accelerators",
    "framework": "framework",
    "operating_system": "operating_system",
    "notes": "notes",
    "location": "Location",
    "round": "version",
    "inferred": "inferred",
    "has_power": "has_power",
    "weights": "weight_data_types",
}
_JSON = {
    **_CSV,
    "organization": "Submitter",
    "division": "Category",
    "category": "Suite",
    "system": "System",
    "model": "UsedModel",
    "benchmark": "Model",
    "result": "Performance_Result",
    "units": "Performance_Units",
    "nodes": "Nodes",
    "processor": "Processor",
    "accelerator": "Accelerator",
    "per_node": "a#",
    "framework": "Software",
    "notes": "Notes",
    "power": "Power_Result",
    "power_units": "Power_Units",
}
# ``benchmark`` of our table is the submitter's name of what ran, ``model`` the round's name of the benchmark.
_TSV = {
    **{field: field for field in _CSV},
    "category": "system_type",
    "model": "benchmark",
    "benchmark": "model",
    "per_node": "accelerators_per_node",
    "total": "total_accelerators",
    "weights": "weight_data_types",
}
_NEEDED = ("organization", "division", "scenario", "result", "units")


@dataclass(frozen=True, slots=True)
class Source:
    """A file that was read: its rounds with their rows, and where a round's name came from."""

    path: Path
    kind: str  # summary.csv | summary_results.json | table
    sha256: str
    rows: list[Row]
    round_from: str  # column | option | file name


def read_published(path: Path, round_name: str | None = None) -> Source:
    """Reads a round's table; every record becomes a row, odd ones with flags.

    Args:
        path: The official ``summary.csv`` or ``summary_results.json``, or a tab-separated table.
        round_name: Such as ``v6.1``; needed where neither a column nor the file's name tells it.

    Raises:
        ConfigError: The file is missing, is none of these, or has no name for its round.
    """
    data = _bytes(path)
    text = _text(data, path)
    kind, columns, records = _records(text, path)
    given = round_name or ""
    named = _round_in(path.name) or ""
    rows: list[Row] = []
    sources: set[str] = set()
    for number, record in records:
        fields, extra = _fields(record, columns)
        column = fields.pop("round", "").strip()
        told = column or given or named
        if not told:
            raise ConfigError(
                "Neither a column nor the file's name says which round this is.",
                where=str(path),
                mend="Name it: --round v6.1",
            )
        sources.add("column" if column else "option" if given else "file name")
        rows.append(normalise(_round_name(told), number, fields, extra))
    rows = _with_duplicates(rows)
    if not rows:
        raise ConfigError("The file has a heading and no rows.", where=str(path), mend="Give a round's whole table.")
    origin = next(each for each in ("file name", "option", "column") if each in sources)
    return Source(path, kind, hashlib.sha256(data).hexdigest(), rows, origin)


def _with_duplicates(rows: list[Row]) -> list[Row]:
    """The rows, those that say the same of the same system as another flagged."""
    seen = Counter(map(_identity, rows))
    return [
        msgspec.structs.replace(row, flags=[*row.flags, "duplicate"]) if seen[_identity(row)] > 1 else row
        for row in rows
    ]


def _identity(row: Row) -> tuple[str, ...]:
    told = (row.round, row.organization, row.division, row.platform, row.benchmark, row.model, row.scenario)
    return (*told, str("power-row" in row.flags), str(row.nodes))


def _records(text: str, path: Path) -> tuple[str, dict[str, str], Iterable[tuple[int, dict[str, str]]]]:
    head = text.lstrip("\ufeff \t\r\n")[:1]
    if head in ("[", "{"):
        return "summary_results.json", _JSON, _json_records(text, path)
    first = text.lstrip("\ufeff").partition("\n")[0]
    tabbed = first.count("\t") > first.count(",")
    lines = _Lines(text.lstrip("\ufeff"))
    # cells of a tab-separated table are never quoted: a quotation mark is part of a name
    table = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE) if tabbed else csv.reader(lines)
    heads = _header(table, path)
    official = "Organization" in heads
    columns = _CSV if official else _TSV
    missing = [columns[field] for field in _NEEDED if columns[field] not in heads]
    if missing:
        raise ConfigError(
            f"This is no table of results: it has no column {', '.join(missing)}.",
            where=str(path),
            mend="Give an official summary.csv or summary_results.json, or a table as in docs/published.md.",
        )
    return "summary.csv" if official else "table", columns, _table_records(table, lines, heads, path)


class _Lines:
    """The lines of a text one by one, and those that were given since they were last asked for."""

    def __init__(self, text: str) -> None:
        self._lines = iter(io.StringIO(text, newline=""))
        self._given: list[str] = []

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self._given.append(line)
        return line

    def taken(self) -> str:
        """The lines of the last record."""
        text = "".join(self._given)
        self._given.clear()
        return text


def _header(table: Iterator[list[str]], path: Path) -> list[str]:
    try:
        heads = [cell.strip() for cell in next(table)]
    except (StopIteration, csv.Error):
        raise ConfigError("The file is empty or no table.", where=str(path), mend="Give a round's table.") from None
    twice = sorted({head for head in heads if heads.count(head) > 1 and head})
    if twice:
        raise ConfigError(f"The column {twice[0]!r} stands in the table twice.", where=str(path), mend="Rename one.")
    return heads


def _table_records(
    table: Iterator[list[str]], lines: _Lines, heads: Sequence[str], path: Path
) -> Iterator[tuple[int, dict[str, str]]]:
    number = 1  # the heading
    lines.taken()
    while True:
        try:
            cells = next(table)
        except StopIteration:
            return
        except csv.Error as error:
            raise ConfigError(f"Record {number + 1} cannot be read: {error}.", where=str(path)) from None
        number += 1
        text = lines.taken()
        if not any(cell.strip() for cell in cells):
            continue
        odd = ""
        if len(cells) != len(heads):
            cells, odd = _mended(cells, text, len(heads))
        record = dict(zip(heads, cells, strict=False))
        record.update({f"cell {place + 1}": cell for place, cell in enumerate(cells[len(heads) :], len(heads))})
        yield number, {**record, _ODD: odd}


def _mended(cells: list[str], text: str, wanted: int) -> tuple[list[str], str]:
    """(cells, what is odd) of a record whose number of cells is not the heading's.

    The official exporter puts every cell into quotation marks and escapes none inside: then ``","`` tells cells apart.
    """
    line = text.strip("\r\n")
    between = line[1:-1].split('","')
    if line.startswith('"') and line.endswith('"') and len(between) == wanted:
        return between, "quotes-unescaped"
    return cells, "ragged"


def _json_records(text: str, path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    try:
        # numbers stay the text they are: the digits that were published are kept, not those of a float
        loaded: Any = json.loads(text.lstrip("\ufeff"), parse_float=str, parse_int=str, parse_constant=str)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ConfigError(
            f"This is no JSON: {error}.", where=str(path), mend="Give the official summary_results.json."
        ) from None
    if not isinstance(loaded, list) or not all(isinstance(each, dict) for each in cast("list[Any]", loaded)):
        raise ConfigError(
            "This is no list of results.", where=str(path), mend="Give the official summary_results.json: [{…}, …]."
        )
    records = cast("list[dict[str, Any]]", loaded)
    for number, record in enumerate(records, 1):
        if number == 1 and not {"Submitter", "Performance_Result"} <= set(record):
            raise ConfigError(
                "This is no table of results: it has no Submitter or no Performance_Result.",
                where=str(path),
                mend="Give the official summary_results.json of v5.0 or later.",
            )
        yield number, {str(key): _cell(value) for key, value in record.items()}


def _cell(value: Any) -> str:
    """A JSON value as a table would show it."""
    if value is None:
        return ""
    if isinstance(value, str):
        # an escape may name half a character, which no file and no store can hold
        return value.encode("utf-8", "replace").decode()
    return json.dumps(value)


def _fields(record: dict[str, str], columns: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """(our field → text, the other columns). Text is what was published, without the space around it."""
    fields = {field: record[column].strip() for field, column in columns.items() if column in record}
    fields["odd"] = record.get(_ODD, "")
    used = {*columns.values(), _ODD}
    return fields, {name: value.strip() for name, value in record.items() if name not in used and value.strip()}


def _bytes(path: Path) -> bytes:
    if not path.is_file():
        raise ConfigError("There is no such file.", where=str(path), mend="Name a round's summary.csv, .json or .tsv.")
    if path.stat().st_size > _LARGEST:
        raise ConfigError("The file is larger than 512 MiB.", where=str(path), mend="Give one round's table.")
    return path.read_bytes()


def _text(data: bytes, path: Path) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"The file is not UTF-8 (byte {error.start}).", where=str(path), mend="Save it as UTF-8."
        ) from None


def _round_in(name: str) -> str | None:
    """``v6.1`` of ``mlperf_v61_results.tsv`` or ``inference_results_v6.1.csv``; ``None`` unless it is told once."""
    found = {f"v{major}.{minor}" for major, minor in re.findall(r"v([0-9])[._]?([0-9])(?![0-9])", name.lower())}
    return found.pop() if len(found) == 1 else None


def _round_name(text: str) -> str:
    """``6.1`` and ``V6.1`` are v6.1; other names stay."""
    found = re.fullmatch(r"[vV]?([0-9]{1,3}\.[0-9]{1,3}(?:\.[0-9]{1,3})?)", text.strip())
    return f"v{found[1]}" if found else " ".join(text.split())
