"""Prompts from files: JSONL and plain text by line, CSV and Parquet by row."""

from __future__ import annotations

import csv
import io
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from relaymark.data.prompt import Prompt
from relaymark.data.prompts import Digest, HeldPrompts, PromptSet
from relaymark.data.records import PROMPT_FIELDS, READ_FIELDS, prompt_from
from relaymark.errors import ConfigError

MAX_LINE = 64 * 2**20
MAX_HELD = 1 * 2**30
"""Largest CSV file, in bytes: its rows are held in memory. JSONL has no such limit."""

_decode_json = msgspec.json.Decoder().decode


def read_prompt_file(path: Path) -> PromptSet:
    """Return the prompts of ``path``; its ending says what it is.

    Every record is read once here, so that a bad one is found before the run and not in it.

    Raises:
        ConfigError: missing, a directory, an unknown ending, empty, not UTF-8, or a record without a prompt.
    """
    name = str(path)
    readers: dict[str, Callable[[Path], PromptSet]] = {
        ".jsonl": lambda path: LinePrompts(path, _json_line),
        ".ndjson": lambda path: LinePrompts(path, _json_line),
        ".json": lambda path: LinePrompts(path, _json_line),
        ".txt": lambda path: LinePrompts(path, _text_line),
        ".csv": _read_csv,
        ".parquet": _read_parquet,
    }
    reader = readers.get(path.suffix.lower())
    if path.is_dir():
        raise ConfigError("this is a directory, not a prompt file", where=name, mend="name a file in it")
    if not path.exists():
        raise ConfigError("the prompt file doesn't exist", where=name, mend="check the path")
    if reader is None:
        raise ConfigError(
            f"prompt files end in {', '.join(sorted(readers))}", where=name, mend="rename or convert the file"
        )
    try:
        prompts = reader(path)
    except OSError as error:
        raise ConfigError(
            f"the prompt file can't be read: {error.strerror or error}", where=name, mend="check its permissions"
        ) from None
    if not len(prompts):
        raise ConfigError("the prompt file holds no prompts", where=name, mend="put one prompt on each line")
    return prompts


class LinePrompts(PromptSet):
    """One prompt a line. Keeps 16 bytes a prompt and reads the line again when it is asked for."""

    def __init__(self, path: Path, parse: Callable[[bytes, str], Prompt]) -> None:
        self._path = path
        self._parse = parse
        self._starts = array("q")
        self._digest = Digest()
        self._file = path.open("rb", buffering=1 << 16)
        for number, start, line in self._lines():
            self._digest.add(parse(line, f"{path}:{number}"))
            self._starts.append(start)

    def _lines(self) -> Iterator[tuple[int, int, bytes]]:
        """Yield (line number from 1, byte offset, line) of every line that isn't blank."""
        start, number = 0, 0
        while line := self._file.readline(MAX_LINE + 1):
            number += 1
            if len(line) > MAX_LINE:
                raise ConfigError("a line is longer than 64 MiB", where=f"{self._path}:{number}")
            _check_utf8(line, start, f"{self._path}:{number}")
            body = line.removeprefix(b"\xef\xbb\xbf") if start == 0 else line  # a byte order mark
            if body.strip():
                yield number, start + len(line) - len(body), body
            start += len(line)

    def __len__(self) -> int:
        return len(self._starts)

    def prompt_at(self, index: int) -> Prompt:
        """Return the prompt at ``index``."""
        self._file.seek(self._starts[index])
        return self._parse(self._file.readline(MAX_LINE), f"{self._path}, prompt {index + 1}")

    @property
    def sha256(self) -> str:
        """SHA-256 (hex) of all prompts in order."""
        return self._digest.sha256()

    @property
    def unique(self) -> int:
        """Number of different prompts."""
        return self._digest.unique()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()


def _check_utf8(line: bytes, start: int, where: str) -> None:
    try:
        line.decode()
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"the prompt file isn't UTF-8: byte 0x{line[error.start]:02x} at offset {start + error.start}",
            where=where,
            mend="save it as UTF-8",
        ) from None


def _json_line(line: bytes, where: str) -> Prompt:
    try:
        record = _decode_json(line)
    except (msgspec.DecodeError, RecursionError) as error:
        mend = "write one JSON object on each line"
        if line.strip() in (b"[", b"{"):
            mend += "; this looks like one JSON document over many lines"
        raise ConfigError(f"this line isn't JSON: {error}", where=where, mend=mend) from None
    return prompt_from(record, where=where)


def _text_line(line: bytes, where: str) -> Prompt:
    return prompt_from(line.decode().strip(), where=where)


def _read_csv(path: Path) -> PromptSet:
    """Read a CSV file with a header row; fields may hold line breaks inside quotes."""
    if path.stat().st_size > MAX_HELD:
        raise ConfigError("the CSV file is larger than 1 GiB", where=str(path), mend="convert it to JSONL")
    raw = path.read_bytes()
    number, start = 1, 0
    for line in io.BytesIO(raw):
        _check_utf8(line, start, f"{path}:{number}")
        number, start = number + 1, start + len(line)
    if not raw.strip():
        return HeldPrompts([])
    csv.field_size_limit(MAX_LINE)
    rows = csv.DictReader(io.StringIO(raw.decode("utf-8-sig"), newline=""), strict=True)
    prompts: list[Prompt] = []
    try:
        for row in rows:
            fields: dict[Any, Any] = {key: value for key, value in row.items() if isinstance(key, str)}
            prompts.append(prompt_from(fields, where=f"{path}:{rows.line_num}"))
    except csv.Error as error:
        raise ConfigError(f"this isn't CSV: {error}", where=f"{path}:{rows.line_num}") from None
    return HeldPrompts(prompts)


class TablePrompts(PromptSet):
    """The rows of a Parquet file, held as Arrow columns and turned into prompts when they are asked for."""

    def __init__(self, table: Any, name: str) -> None:
        self._table = table
        self._name = name
        self._digest = Digest()
        number = 0
        for batch in table.to_batches(max_chunksize=4096):
            for row in batch.to_pylist():
                number += 1
                self._digest.add(prompt_from(row, where=f"{name}, row {number}"))

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def prompt_at(self, index: int) -> Prompt:
        """Return the prompt at ``index``."""
        (row,) = self._table.slice(index, 1).to_pylist()
        return prompt_from(row, where=f"{self._name}, row {index + 1}")

    @property
    def sha256(self) -> str:
        """SHA-256 (hex) of all prompts in order."""
        return self._digest.sha256()

    @property
    def unique(self) -> int:
        """Number of different prompts."""
        return self._digest.unique()


def _read_parquet(path: Path) -> PromptSet:
    from pyarrow import ArrowException  # noqa: PLC0415  (only Parquet users pay for Arrow)
    from pyarrow import parquet as pq  # noqa: PLC0415

    try:
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            # Other columns may be large and are not sent; without a prompt the message names what is there.
            table = file.read(columns=[name for name in names if name in READ_FIELDS] or names[:1])
            if not any(name in PROMPT_FIELDS for name in names):
                prompt_from(dict.fromkeys(names), where=str(path))
    except ArrowException as error:
        raise ConfigError(
            f"this isn't a Parquet file: {str(error).splitlines()[0]}", where=str(path), mend="check the file"
        ) from None
    return TablePrompts(table, str(path))
