"""The run folder: which file holds what, and the record of the run itself."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import msgspec

from relaymark.errors import TraceError

RUN_FILE = "run.json"
CONFIG_FILE = "benchmark.yaml"
PLAN_FILE = "plan.json"
PACK_FILE = "requests.pack"
TRACE_FILE = "trace.parquet"
HEALTH_FILE = "health.jsonl"
CONTENT_FILE = "content.jsonl"
SUMMARY_FILE = "summary.json"
CSV_FILE = "summary.csv"
REPORT_FILE = "report.html"
LIVE_FILE = "live.counters"
SCHEMA = 1


class StageRecord(msgspec.Struct, kw_only=True):
    """One stage as it was planned and as it went."""

    index: int
    name: str
    load: str
    open_loop: bool
    warmup: bool = False
    slots: int | None = None  # closed loop
    planned: int | None = None  # requests planned; None when only the duration limits it
    duration_ns: int | None = None
    offered_rate: float | None = None  # requests/s the schedule asks for
    started_ns: int | None = None  # CLOCK_MONOTONIC of the stage's start; None: never started
    cut_ns: int | None = None  # when sending was cut short by an interrupt


class RunRecord(msgspec.Struct, kw_only=True):
    """``run.json``: what was run, where, and how it ended. Holds no secret."""

    schema: int = SCHEMA
    run_id: str
    name: str
    version: str
    started_at: str
    url: str
    model: str
    dialect: str
    status: str = "running"  # running | complete | interrupted | crashed
    pid: int = 0  # of the process that runs it
    workers: int = 1
    schedule_sha256: str = ""
    prompts_sha256: str = ""
    prompts: int = 0
    stages: list[StageRecord] = msgspec.field(default_factory=list[StageRecord])
    environment: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    server: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    notes: list[str] = msgspec.field(default_factory=list[str])
    broken: list[str] = msgspec.field(default_factory=list[str])  # parts of a pipeline that ended before the run did
    crashed_workers: list[int] = msgspec.field(default_factory=list[int])


def create_run_folder(parent: Path, name: str) -> Path:
    """Makes ``parent/<time>-<name>`` and returns it; two runs in one second get two folders.

    Raises:
        TraceError: The folder cannot be made.
    """
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:60] or "run"
    stamp = time.strftime("%Y%m%d-%H%M%S")
    for suffix in ["", *(f"-{n}" for n in range(2, 1000))]:
        folder = parent / f"{stamp}-{slug}{suffix}"
        try:
            folder.mkdir(parents=True, exist_ok=False)
        except FileExistsError:
            continue
        except OSError as error:
            raise TraceError(
                f"The run folder cannot be made: {error.strerror}.",
                where=str(folder),
                mend="Name a folder that you may write with --out.",
            ) from None
        return folder
    raise TraceError("Too many runs in one second.", where=str(parent), mend="Wait a second and run again.")


def write_run_record(folder: Path, record: RunRecord) -> None:
    """Writes ``run.json`` by an atomic rename, so that a reader never meets half a file.

    Raises:
        OSError: It cannot be written; the record that was there stays.
    """
    text = msgspec.json.format(msgspec.json.encode(record), indent=1)
    fresh = folder / f".{RUN_FILE}.{os.getpid()}"
    try:
        fresh.write_bytes(text)
        fresh.replace(folder / RUN_FILE)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise


def read_run_record(folder: Path) -> RunRecord:
    """Reads ``run.json``.

    Raises:
        TraceError: There is no run there, or its record cannot be read.
    """
    path = folder / RUN_FILE
    try:
        data = path.read_bytes()
    except OSError as error:
        raise TraceError(
            "This is not a run folder: it has no readable run.json.",
            where=f"{path} ({error.strerror})",
            mend="Give a folder that `relaymark run` made, e.g. runs/<time>-<name>.",
        ) from None
    try:
        record = msgspec.json.decode(data, type=RunRecord)
    except msgspec.DecodeError as error:
        raise TraceError(f"The run's record cannot be read: {error}.", where=str(path)) from None
    if record.schema > SCHEMA:
        raise TraceError(
            f"The run was made by a newer Relaymark (schema {record.schema}, this one reads {SCHEMA}).",
            where=str(path),
            mend="Upgrade with: pip install -U relaymark",
        )
    return record
