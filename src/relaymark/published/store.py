"""The embedded store: one DuckDB file with a table of results and one of the files they came from.

``results`` has a column for each field of :class:`relaymark.published.row.Row`, so it can be queried with any DuckDB.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from relaymark.errors import ConfigError
from relaymark.published.reading import Source
from relaymark.published.row import Row
from relaymark.published.where import Condition, as_sql

STORE_FILE = Path("published.duckdb")
_SCHEMA = 1
_TYPES = {
    "record": "INTEGER",
    "value": "DOUBLE",
    "nodes": "INTEGER",
    "accelerators": "INTEGER",
    "accelerators_used": "INTEGER",
    "power": "DOUBLE",
    "inferred": "BOOLEAN",
    "has_power": "BOOLEAN",
    "parts": "STRUCT(family VARCHAR, count INTEGER)[]",
    "accuracy": "STRUCT(metric VARCHAR, value DOUBLE)[]",
    "flags": "VARCHAR[]",
    "extra": "STRUCT(name VARCHAR, value VARCHAR)[]",
}
_FIELDS = tuple(field.name for field in msgspec.structs.fields(Row))
_IMPORTS = "path VARCHAR, kind VARCHAR, sha256 VARCHAR, round VARCHAR, rows INTEGER, imported_at VARCHAR"


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did: rounds that came in with their rows, and those that were replaced with how many they had."""

    rows: dict[str, int]
    replaced: dict[str, int]


def add_source(store: Path, source: Source) -> Imported:
    """Writes a file's rounds into the store; a round that is there already is replaced whole.

    Raises:
        ConfigError: DuckDB is not installed, or the store cannot be opened or is none of ours.
    """
    counts: dict[str, int] = {}
    for row in source.rows:
        counts[row.round] = counts.get(row.round, 0) + 1
    with _open(store, write=True) as db:
        columns = ", ".join(f'"{name}" {_TYPES.get(name, "VARCHAR")}' for name in _FIELDS)
        db.execute("BEGIN")
        db.execute("CREATE TABLE IF NOT EXISTS relaymark (schema INTEGER)")
        if not db.execute("SELECT count(*) FROM relaymark").fetchone()[0]:
            db.execute("INSERT INTO relaymark VALUES (?)", [_SCHEMA])
        db.execute(f"CREATE TABLE IF NOT EXISTS results ({columns})")
        db.execute(f"CREATE TABLE IF NOT EXISTS imports ({_IMPORTS})")
        replaced: dict[str, int] = {}
        for name in counts:
            had = db.execute("SELECT count(*) FROM results WHERE round = ?", [name]).fetchone()[0]
            if had:
                replaced[name] = had
            db.execute("DELETE FROM results WHERE round = ?", [name])
            db.execute("DELETE FROM imports WHERE round = ?", [name])
        db.register("incoming", _arrow(source.rows))
        names = ", ".join(f'"{name}"' for name in _FIELDS)
        db.execute(f"INSERT INTO results ({names}) SELECT {names} FROM incoming")  # noqa: S608 - our own field names
        now = datetime.now(UTC).isoformat(timespec="seconds")
        for name, count in counts.items():
            values = [str(source.path), source.kind, source.sha256, name, count, now]
            db.execute("INSERT INTO imports VALUES (?, ?, ?, ?, ?, ?)", values)
        db.execute("COMMIT")
    return Imported(counts, replaced)


def read_rows(store: Path, conditions: Sequence[Condition] = ()) -> list[Row]:
    """The rows that meet every condition, in the order of rounds and records.

    Raises:
        ConfigError: There is no store, DuckDB is not installed, or the store cannot be read.
    """
    clause, values = as_sql(conditions)
    names = ", ".join(f'"{name}"' for name in _FIELDS)
    with _open(store, write=False) as db:
        query = f"SELECT {names} FROM results {clause} ORDER BY round, record"  # noqa: S608 - names ours, values bound
        found = db.execute(query, values).fetchall()
    return [_row(dict(zip(_FIELDS, each, strict=True))) for each in found]


def rounds_in(store: Path) -> dict[str, int]:
    """Round → rows, as the store has them."""
    with _open(store, write=False) as db:
        found = db.execute("SELECT round, count(*) FROM results GROUP BY round ORDER BY round").fetchall()
    return dict(found)


@contextmanager
def _open(store: Path, *, write: bool) -> Generator[Any]:
    duckdb = _duckdb()
    if not write and not store.is_file():
        raise ConfigError(
            "There is no store of published results.",
            where=str(store),
            mend="Fill one: relaymark published import summary.csv",
        )
    known = store.exists()
    try:
        db = duckdb.connect(str(store), read_only=not write)
    except duckdb.Error as error:
        raise ConfigError(
            f"The store cannot be opened: {_first_line(error)}",
            where=str(store),
            mend="Name another with --store, or end the program that holds it.",
        ) from None
    try:
        if known and not _is_ours(db):
            raise ConfigError(
                "This DuckDB file holds no published results, or those of another version of Relaymark.",
                where=str(store),
                mend="Name another with --store, or import the rounds again into a new one.",
            )
        yield db
    except duckdb.Error as error:
        raise ConfigError(
            f"The store cannot be used: {_first_line(error)}", where=str(store), mend="Import the rounds again."
        ) from None
    finally:
        db.close()


def _is_ours(db: Any) -> bool:
    tables = {name for (name,) in db.execute("SELECT table_name FROM information_schema.tables").fetchall()}
    if not tables:
        return True
    if not {"relaymark", "results", "imports"} <= tables:
        return False
    return db.execute("SELECT max(schema) FROM relaymark").fetchone()[0] == _SCHEMA


def _duckdb() -> Any:
    try:
        import duckdb  # noqa: PLC0415 - an extra, and slow to load
    except ImportError:
        raise ConfigError(
            "Published results are kept in DuckDB, which is not installed.",
            where="relaymark published",
            mend="pip install 'relaymark[store]'",
        ) from None
    return duckdb


def _arrow(rows: Sequence[Row]) -> Any:
    import pyarrow as pa  # noqa: PLC0415 - slow to load

    text, whole, real = pa.string(), pa.int32(), pa.float64()
    kinds: dict[str, Any] = {"INTEGER": whole, "DOUBLE": real, "BOOLEAN": pa.bool_(), "VARCHAR[]": pa.list_(text)}
    pairs = {
        "parts": pa.list_(pa.struct([("family", text), ("count", whole)])),
        "accuracy": pa.list_(pa.struct([("metric", text), ("value", real)])),
        "extra": pa.list_(pa.struct([("name", text), ("value", text)])),
    }
    schema = pa.schema([(name, pairs.get(name) or kinds.get(_TYPES.get(name, ""), text)) for name in _FIELDS])
    return pa.Table.from_pylist([_flat(row) for row in rows], schema=schema)


def _flat(row: Row) -> dict[str, Any]:
    told = msgspec.to_builtins(row)
    told["accuracy"] = [{"metric": metric, "value": value} for metric, value in row.accuracy.items()]
    told["extra"] = [{"name": name, "value": value} for name, value in row.extra.items()]
    return told


def _row(told: dict[str, Any]) -> Row:
    told["accuracy"] = {each["metric"]: each["value"] for each in told["accuracy"]}
    told["extra"] = {each["name"]: each["value"] for each in told["extra"]}
    return msgspec.convert(told, Row)


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".") + "."
