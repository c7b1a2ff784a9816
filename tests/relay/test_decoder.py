"""The decoder and the merge: whatever is killed whenever, each leg is in the trace exactly once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
from hand_made import MS, SENT, captured, run_folder, stream
from hypothesis import given, settings
from hypothesis import strategies as st

from relaymark.errors import TraceError
from relaymark.relay import finish, records
from relaymark.relay.decoder import Decoder, committed
from relaymark.relay.presence import Presence, alone
from relaymark.trace import Heartbeat, JournalWriter, Leg, read_heartbeats, read_run_record
from relaymark.trace.journal import segment_path
from relaymark.trace.table import Trace


def beat(worker: int, sent: int, mono: int = SENT) -> bytes:
    return records.encode(Heartbeat(worker, mono, 0, 0, 0, sent, sent, sent, 0, 0, 0, 0, 0, 0, 0))


def journal(folder: Path, worker: int, legs: int, *, close: bool = True, segment_bytes: int = 4000) -> JournalWriter:
    """What a worker wrote: captures and a heartbeat after every fifth."""
    writer = JournalWriter(folder, records.worker_stem(worker), segment_bytes=segment_bytes)
    for n in range(legs):
        capture = captured(stream(2, usage=2), leg_id=(worker << 40) + n, task_id=n, worker=worker, request=n)
        writer.append(records.CAPTURE, records.encode(capture))
        if n % 5 == 4:
            writer.append(records.HEARTBEAT, beat(worker, n + 1))
        writer.flush()
    if close:
        writer.close()
    return writer


def legs_of(folder: Path) -> list[Leg]:
    return list(Trace(folder / "trace.parquet").legs())


def test_a_finished_run_is_merged_and_tidied(tmp_path: Path) -> None:
    run_folder(tmp_path, workers=2)
    journal(tmp_path, 0, 12)
    journal(tmp_path, 1, 7)
    record = finish(tmp_path)
    legs = legs_of(tmp_path)
    assert sorted(leg.leg_id for leg in legs) == [*range(12), *((1 << 40) + n for n in range(7))]
    assert {leg.request_ref for leg in legs if leg.task_id in (1, 5)} == {legs[1].request_ref}, "bodies repeat after 4"
    assert len({leg.request_ref for leg in legs}) == 4
    assert [b.sent for b in read_heartbeats(tmp_path / "health.jsonl")] == [5, 10, 5]
    assert (record.status, record.notes) == ("complete", [])
    assert not list(tmp_path.glob("*.journal"))
    assert not (tmp_path / "live.counters").exists()
    before = (tmp_path / "trace.parquet").read_bytes()
    assert finish(tmp_path) == read_run_record(tmp_path) == record
    assert (tmp_path / "trace.parquet").read_bytes() == before


@settings(deadline=None, max_examples=25)
@given(st.data())
def test_decoders_killed_at_any_moment_decode_each_leg_once(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("run")
    plan = run_folder(folder)
    writer = journal(folder, 0, 0, close=False, segment_bytes=1 << 20)
    for life in range(data.draw(st.integers(1, 4))):
        for n in range(life * 10, life * 10 + 10):
            writer.append(records.CAPTURE, records.encode(captured(stream(1), leg_id=n)))
        writer.flush()
        decoder = Decoder(folder, 0, plan)
        decoder.catch_up(final=False)
        # The kill: its journal ends at any byte of what it had to say.
        path = segment_path(folder, records.legs_stem(0), life)
        path.write_bytes(path.read_bytes()[: data.draw(st.integers(0, path.stat().st_size))])
    writer.append(records.CAPTURE, records.encode(captured(stream(1), leg_id=999)))
    writer.close()
    finish(folder)
    assert [leg.leg_id for leg in legs_of(folder)] == [*range(life * 10 + 10), 999]


def test_a_successor_goes_on_where_the_last_commit_was(tmp_path: Path) -> None:
    plan = run_folder(tmp_path)
    writer = journal(tmp_path, 0, 10, close=False)
    first = Decoder(tmp_path, 0, plan)
    first.catch_up(final=False)
    # Killed after it decoded two more, before it committed them.
    for n in (10, 11):
        payload = records.encode(captured(stream(1), leg_id=n))
        writer.append(records.CAPTURE, payload)
        first._decode(payload)
    writer.flush()
    first._sink.flush()
    assert len(list(committed(tmp_path, 0))) == 12, "ten legs, two heartbeats, nothing uncommitted"
    second = Decoder(tmp_path, 0, plan)
    second.catch_up(final=False)
    second.close()
    writer.close()
    assert [
        records.decode_leg(payload).leg_id for kind, payload in committed(tmp_path, 0) if kind == records.LEG
    ] == list(range(12))
    finish(tmp_path)
    assert [leg.leg_id for leg in legs_of(tmp_path)] == list(range(12))


def test_a_decoder_that_keeps_up_deletes_what_it_has_read(tmp_path: Path) -> None:
    plan = run_folder(tmp_path)
    journal(tmp_path, 0, 30)
    before = len(list(tmp_path.glob("worker-0-*.journal")))
    assert before > 5
    decoder = Decoder(tmp_path, 0, plan)
    decoder.catch_up(final=False)
    decoder.close()
    assert len(list(tmp_path.glob("worker-0-*.journal"))) == 1
    finish(tmp_path)
    assert [leg.leg_id for leg in legs_of(tmp_path)] == list(range(30))


def test_a_crashed_run_says_what_is_missing(tmp_path: Path) -> None:
    run_folder(tmp_path, workers=2, status="running", pid=2**22 + 12345)  # above any pid there can be
    journal(tmp_path, 0, 6)
    writer = journal(tmp_path, 1, 4, close=False)
    writer.append(records.HEARTBEAT, beat(1, 9))
    writer.append(records.CAPTURE, records.encode(captured(stream(1), leg_id=5)))
    writer.close()
    last = max(p for p in tmp_path.glob("worker-1-*.journal") if p.stat().st_size)
    last.write_bytes(last.read_bytes()[:-3])
    record = finish(tmp_path)
    assert record.status == "crashed"
    assert len(legs_of(tmp_path)) == 10
    notes = "\n".join(record.notes)
    assert "1 torn record was skipped" in notes
    assert "5 requests of worker 1" in notes
    assert "worker 0" not in notes
    assert read_run_record(tmp_path) == record


def test_a_worker_that_wrote_nothing_leaves_an_empty_trace(tmp_path: Path) -> None:
    run_folder(tmp_path, status="crashed")
    finish(tmp_path)
    assert legs_of(tmp_path) == []
    assert read_heartbeats(tmp_path / "health.jsonl") == []


def test_a_run_that_is_still_going_on_is_left_alone(tmp_path: Path) -> None:
    plan = run_folder(tmp_path, status="running", pid=os.getppid())
    presence = Presence(tmp_path)
    with pytest.raises(TraceError, match="still at work"):
        finish(tmp_path)
    presence.leave()
    presence.leave()
    record = finish(tmp_path)
    assert record.status == "crashed", "a process of that number lives, but it is none of this run's"
    assert plan.workers == 1


def test_a_merge_waits_for_the_last_decoder_of_a_killed_run(tmp_path: Path) -> None:
    run_folder(tmp_path, status="crashed")
    journal(tmp_path, 0, 3)
    holder = (
        "import sys, time; from pathlib import Path; from relaymark.relay.presence import Presence\n"
        "Presence(Path(sys.argv[1])); print('in', flush=True); sys.stdin.read()"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", holder, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdout is not None and child.stdin is not None
    assert child.stdout.readline() == b"in\n"
    with pytest.raises(TraceError), alone(tmp_path, 0.0):
        pass
    os.kill(child.pid, signal.SIGKILL)  # the kernel lets go of the lock
    finish(tmp_path)
    assert len(legs_of(tmp_path)) == 3
    child.wait(10)
    child.stdin.close()
    child.stdout.close()


def test_a_folder_without_a_plan_is_a_clear_error(tmp_path: Path) -> None:
    run_folder(tmp_path, status="crashed")
    (tmp_path / "plan.json").unlink()
    with pytest.raises(TraceError, match="plan"):
        finish(tmp_path)


# As the process beside a worker does, but not at idle priority: on a busy machine it would starve for half a minute.
BESIDE = "import sys, pathlib; from relaymark.relay.decoder import run_beside; run_beside(pathlib.Path(sys.argv[1]), 0)"


def test_the_decoder_process_decodes_beside_and_ends_with_its_coordinator(tmp_path: Path) -> None:
    run_folder(tmp_path, status="crashed")
    writer = journal(tmp_path, 0, 5, close=False)
    child = subprocess.Popen([sys.executable, "-c", BESIDE, str(tmp_path)], stdin=subprocess.PIPE)
    assert child.stdin is not None
    deadline = time.monotonic() + 20
    while len(list(committed(tmp_path, 0))) < 6 and time.monotonic() < deadline:
        time.sleep(0.02)
    before = len(list(committed(tmp_path, 0)))
    child.stdin.close()  # its coordinator is gone
    assert child.wait(20) == 0
    assert before == 6
    writer.append(records.CAPTURE, records.encode(captured(stream(1), leg_id=5)))
    writer.close()
    finish(tmp_path)
    assert [leg.leg_id for leg in legs_of(tmp_path)] == list(range(6))


def test_a_decoder_that_starts_when_all_is_over_touches_nothing(tmp_path: Path) -> None:
    run_folder(tmp_path, status="crashed")
    journal(tmp_path, 0, 3)
    finish(tmp_path)
    before = sorted(path.name for path in tmp_path.iterdir())
    child = subprocess.run(
        [sys.executable, "-c", BESIDE, str(tmp_path)], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    assert (child.returncode, child.stderr) == (0, b"")
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_answers_are_stored_once_and_only_when_asked_for(tmp_path: Path) -> None:
    for keep in (True, False):
        folder = tmp_path / str(keep)
        run_folder(folder, keep_content=keep)
        journal(folder, 0, 6)
        finish(folder)
        legs = legs_of(folder)
        if keep:
            (line,) = (folder / "content.jsonl").read_bytes().splitlines()
            content = msgspec.json.decode(line)
            assert content["texts"] == [" w0 w1"]
            assert {leg.response_ref for leg in legs} == {content["ref"]}
        else:
            assert not (folder / "content.jsonl").exists()
            assert {leg.response_ref for leg in legs} == {None}


def test_live_counters_follow_the_decoder(tmp_path: Path) -> None:
    from relaymark.relay import live

    plan = run_folder(tmp_path, workers=2)
    journal(tmp_path, 1, 9)
    decoder = Decoder(tmp_path, 1, plan)
    decoder.catch_up(final=True)
    decoder.close()
    blocks = [live.LiveBlock(tmp_path, row) for row in range(4)]
    row = blocks[3]
    assert (row[live.DECODED], row[live.DECODED_GOOD], row[live.TOKENS]) == (9, 9, 18)
    assert row[live.TTFT_P50] == 20 * MS
    assert live.total(blocks, live.DECODED) == 9
