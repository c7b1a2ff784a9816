"""What happened: the leg schema, the crash-safe journal, the merged trace and its readers.

``relaymark.trace.table`` (Parquet) is imported by name where it is needed: it alone loads pyarrow.
"""

from relaymark.trace.capture import Capture, TransferEnd
from relaymark.trace.health import Heartbeat, read_heartbeats, wall_offset_ns
from relaymark.trace.journal import JournalReader, JournalWriter, Record
from relaymark.trace.leg import ChunkTokens, Kind, Leg, Outcome, TokenSource
from relaymark.trace.runfolder import (
    RunRecord,
    StageRecord,
    create_run_folder,
    read_run_record,
    write_run_record,
)

__all__ = [
    "Capture",
    "ChunkTokens",
    "Heartbeat",
    "JournalReader",
    "JournalWriter",
    "Kind",
    "Leg",
    "Outcome",
    "Record",
    "RunRecord",
    "StageRecord",
    "TokenSource",
    "TransferEnd",
    "create_run_folder",
    "read_heartbeats",
    "read_run_record",
    "wall_offset_ns",
    "write_run_record",
]
