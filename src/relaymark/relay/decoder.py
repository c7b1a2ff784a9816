"""Decodes a worker's journal into legs: in an idle-priority process while the run goes on, and again for the rest.

The worker never decodes. Its decoder runs beside it under SCHED_IDLE, so that on a busy core it yields at once and
catches up later; what it did is committed record by record in its own journal, so that a successor (at the end of
the run, or in ``relaymark report`` after a crash) goes on exactly where it stopped.
"""

from __future__ import annotations

import os
import select
import signal
from bisect import insort
from collections.abc import Iterator
from pathlib import Path

from relaymark.relay import live, records
from relaymark.relay.decode import content_of, leg_from_capture, said_of
from relaymark.relay.live import LiveBlock
from relaymark.relay.pack import RequestPack
from relaymark.relay.plan import Plan, read_plan
from relaymark.relay.presence import Presence
from relaymark.relay.redaction import Redactor
from relaymark.trace import JournalReader, JournalWriter, Leg

_POLL_SECONDS = 0.2
_COMMIT_EVERY = 64
_KEPT_TTFTS = 4096


class Decoder:
    """Reads one worker's journal from where its predecessor stopped and writes legs to its own."""

    def __init__(self, folder: Path, worker: int, plan: Plan) -> None:
        self._plan = plan
        self._source = _resume(folder, worker)
        self._sink = JournalWriter(folder, records.legs_stem(worker))
        self._sink.append(records.RESUME, b"")
        self._redactor = Redactor.of(plan, os.environ, *plan.speakers())
        self._pack = RequestPack(folder)
        self._live = LiveBlock(folder, plan.workers + worker)
        self._ttfts: list[int] = []
        self.stopped = False

    def catch_up(self, *, final: bool) -> None:
        """Decodes what the worker has written so far; ``final``: it will write no more."""
        waiting = 0
        for record in self._source.records(final=final):
            if record.kind == records.CAPTURE:
                self._decode(record.payload)
            else:
                self._sink.append(record.kind, record.payload)
            waiting += 1
            if waiting >= _COMMIT_EVERY or self.stopped:
                self._commit()
                waiting = 0
            if self.stopped:
                return
        if waiting or final:
            self._commit()
        self._sink.flush()

    def close(self) -> None:
        """Flushes and closes the legs' journal."""
        self._sink.close()

    def _commit(self) -> None:
        segment, offset = self._source.position
        commit = records.Commit(segment, offset, self._source.torn)
        self._sink.append(records.COMMIT, records.encode(commit))
        self._sink.flush()
        self._source.delete_read()

    def _decode(self, payload: bytes) -> None:
        capture = records.decode_capture(payload)
        leg, decoded = leg_from_capture(capture, self._plan.max_body, self._request_ref(capture.request))
        if self._plan.keep_content and (content := content_of(decoded, self._redactor)) is not None:
            leg.response_ref = content.ref
            self._sink.append(records.CONTENT, records.encode(content))
        self._redactor.leg(leg)
        self._sink.append(records.LEG, records.encode(leg))
        if self._plan.replay is not None and capture.final:
            self._sink.append(records.SAID, records.encode(said_of(capture, decoded, self._redactor)))
        self._show(leg)

    def _request_ref(self, index: int) -> str | None:
        if index < 0:
            return None
        return self._pack.ref(index)

    def _show(self, leg: Leg) -> None:
        block = self._live
        block[live.DECODED] += 1
        if block[live.STAGE] != leg.stage:
            block[live.STAGE] = leg.stage
            self._ttfts.clear()
        if not leg.outcome.good:
            return
        block[live.DECODED_GOOD] += 1
        block[live.TOKENS] += leg.completion_tokens or len(leg.chunk_at)
        if leg.first_token is not None and leg.sent is not None:
            if len(self._ttfts) >= _KEPT_TTFTS:
                del self._ttfts[::2]  # halving evenly leaves the median where it is
            insort(self._ttfts, leg.first_token - leg.sent)
            block[live.TTFT_P50] = self._ttfts[(len(self._ttfts) - 1) // 2]


def _resume(folder: Path, worker: int) -> JournalReader:
    """A reader of the worker's journal that begins where the last committed decoder stopped."""
    last: records.Commit | None = None
    for record in JournalReader(folder, records.legs_stem(worker)).records(final=True):
        if record.kind == records.COMMIT:
            last = records.decode_commit(record.payload)
    stem = records.worker_stem(worker)
    if last is None:
        return JournalReader(folder, stem)
    return JournalReader(folder, stem, segment=last.segment, offset=last.offset, torn=last.torn)


def decode_rest(folder: Path, plan: Plan) -> None:
    """Decodes whatever no decoder has got to yet, of every worker. Nothing else may be decoding."""
    for worker in range(plan.workers):
        decoder = Decoder(folder, worker, plan)
        decoder.catch_up(final=True)
        decoder.close()


def committed(folder: Path, worker: int) -> Iterator[tuple[int, bytes]]:
    """Yields (kind, payload) of the decoded records of one worker, each exactly once.

    What a killed decoder wrote after its last commit was decoded again by its successor, so it is left out here.
    """
    waiting: list[tuple[int, bytes]] = []
    for record in JournalReader(folder, records.legs_stem(worker)).records(final=True):
        if record.kind == records.RESUME:
            waiting.clear()
        elif record.kind == records.COMMIT:
            yield from waiting
            waiting.clear()
        else:
            waiting.append((record.kind, record.payload))


def run_beside(folder: Path, worker: int) -> None:
    """Decodes until standard input is closed or SIGTERM comes; the body of the process beside a worker."""
    presence = Presence(folder)
    if select.select([0], [], [], 0)[0]:
        # The coordinator died before this process had started; the run may be merged by now.
        presence.leave()
        return
    decoder = Decoder(folder, worker, read_plan(folder))

    def stop(signum: int, frame: object) -> None:
        del signum, frame
        decoder.stopped = True

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while not decoder.stopped:
        decoder.catch_up(final=False)
        if select.select([0], [], [], _POLL_SECONDS)[0] and not os.read(0, 1):
            break
    decoder.close()
    presence.leave()
