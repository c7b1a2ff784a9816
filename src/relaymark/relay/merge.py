"""Makes the trace of a run out of its journals, once it has ended; or after a crash, out of what is left of them."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from relaymark.errors import TraceError
from relaymark.relay import records
from relaymark.relay.agent.resume import carried_over, said_before
from relaymark.relay.decoder import committed, decode_rest
from relaymark.relay.plan import read_plan
from relaymark.relay.presence import alone
from relaymark.trace import Heartbeat, JournalReader, Kind, RunRecord, read_run_record, write_run_record
from relaymark.trace.runfolder import CONTENT_FILE, HEALTH_FILE, LIVE_FILE, TRACE_FILE
from relaymark.trace.table import TraceWriter
from relaymark.trace.turns import TURNS_FILE, turn_line

# Workers of a killed run end within milliseconds; a decoder runs at idle priority and may need a while on a busy core.
_LAST_ONES_SECONDS = 20.0


def finish(folder: Path) -> RunRecord:
    """Decodes what is left, merges all legs into ``trace.parquet`` and tidies up; returns the run's record.

    Harmless when the trace is merged already. A run whose coordinator died is marked ``crashed``. Notes say what was
    lost: torn records, legs that were in flight.

    Raises:
        TraceError: This is not a run folder, its record cannot be read, or the run is still going on.
    """
    record = read_run_record(folder)
    if (folder / TRACE_FILE).exists():
        return record
    going_on = record.status == "running" and _alive(record.pid)
    if going_on and not any(stage.started_ns for stage in record.stages):
        raise TraceError(
            f"The run has not begun yet (process {record.pid}).", where=str(folder), mend="Wait for its end."
        )
    # Its number may be another process's by now; the lock tells.
    with alone(folder, 0.0 if going_on else _LAST_ONES_SECONDS):
        record = read_run_record(folder)  # as it is now that nobody else can be changing it
        return record if (folder / TRACE_FILE).exists() else _merge(folder, record)


def _merge(folder: Path, record: RunRecord) -> RunRecord:
    plan = read_plan(folder)
    if record.status == "running":
        record.status = "crashed"
        record.notes.append("The run's own process ended before the run did; this is what had been written by then.")
    decode_rest(folder, plan)
    torn = 0
    last: dict[int, Heartbeat] = {}
    ended: dict[int, int] = {}
    refs: set[str] = set()
    writer = TraceWriter(folder / TRACE_FILE, record.run_id)
    with (
        (folder / HEALTH_FILE).open("wb") as health,
        (folder / CONTENT_FILE).open("wb") as contents,
        (folder / TURNS_FILE).open("wb") as said,
    ):
        for worker in range(plan.workers):
            ended[worker] = 0
            for kind, payload in committed(folder, worker):
                if kind == records.LEG:
                    leg = records.decode_leg(payload)
                    writer.add(leg)
                    # What was served here, and a task as a whole, was never counted as sent.
                    ended[worker] += leg.kind is not Kind.TASK and leg.service_ns is None
                elif kind == records.HEARTBEAT:
                    last[worker] = records.decode_heartbeat(payload)
                    health.write(msgspec.json.encode(last[worker]) + b"\n")
                elif kind == records.CONTENT:
                    content = records.decode_content(payload)
                    if content.ref not in refs:
                        refs.add(content.ref)
                        contents.write(msgspec.json.encode(content) + b"\n")
                elif kind == records.SAID:
                    said.write(turn_line(records.decode_said(payload)))
            torn += _torn(folder, worker)
        if plan.replay is not None and plan.replay.continues:
            for leg in carried_over(Path(plan.replay.continues), plan.replay.done, record):
                writer.add(leg)
            for turn in said_before(Path(plan.replay.continues), plan.replay.done):
                said.write(turn_line(turn))
    if plan.replay is None:
        (folder / TURNS_FILE).unlink()
    if not refs:
        (folder / CONTENT_FILE).unlink()
    _note_losses(record, torn, last, ended)
    record.notes = list(dict.fromkeys(record.notes))  # a merge that was killed itself had noted them before
    write_run_record(folder, record)
    writer.close()  # publishes the trace, so it comes last
    _tidy(folder, plan.workers)
    return record


def _alive(pid: int) -> bool:
    """Whether a process of that number runs; never our own, which may finish its run."""
    if pid <= 0 or pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _torn(folder: Path, worker: int) -> int:
    torn = 0
    reader = JournalReader(folder, records.legs_stem(worker))
    for record in reader.records(final=True):
        if record.kind == records.COMMIT:
            torn = records.decode_commit(record.payload).torn
    return torn


def _note_losses(record: RunRecord, torn: int, last: dict[int, Heartbeat], ended: dict[int, int]) -> None:
    if torn:
        record.notes.append(f"{torn} torn record{'s were' if torn > 1 else ' was'} skipped at the end of a journal.")
    for worker, beat in sorted(last.items()):
        lost = beat.sent - ended[worker]
        if lost > 0:
            record.notes.append(
                f"{lost} request{'s' if lost > 1 else ''} of worker {worker} had been sent and left no record: in "
                "flight, or not yet written, when it died."
            )


def _tidy(folder: Path, workers: int) -> None:
    """Removes the journals and the live block: the trace holds all that was in them."""
    for worker in range(workers):
        for stem in (records.worker_stem(worker), records.legs_stem(worker)):
            for path in folder.glob(f"{stem}-*.journal"):
                path.unlink()
    (folder / LIVE_FILE).unlink(missing_ok=True)
