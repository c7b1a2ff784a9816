"""Drives a prepared run: starts workers and decoders, gives each stage its start instant, ends the run in order.

Shares nothing with the workers but start instants and a block of live counters; no request passes through here.
"""

from __future__ import annotations

import contextlib
import os
import select
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from relaymark.errors import RelaymarkError
from relaymark.relay import live
from relaymark.relay.live import LiveBlock, create_live
from relaymark.relay.plan import Plan, PlannedStage, read_plan, write_plan
from relaymark.relay.presence import Presence
from relaymark.retrieval.process import RetrievalServer
from relaymark.trace import RunRecord, StageRecord, read_run_record, write_run_record

_READY_SECONDS = 60.0
_HEAD_START_NS = 30_000_000
_PER_CONNECTION_NS = 100_000  # to open one ahead of a closed loop's start
_POLL_SECONDS = 0.1
_LAST_WORDS_SECONDS = 10.0
_FEW_REQUESTS = 200
_COUNTED = (live.SENT, live.ENDED, live.FAILED, live.TOKENS, live.TASKS_ENDED, live.TASKS_FAILED)


@dataclass(frozen=True, slots=True)
class Progress:
    """How a run goes: counts of the current stage, tokens/s over the last second or so, TTFT in ns."""

    stage: StageRecord
    stages: int
    elapsed: float
    planned: float | None  # seconds the stage will last, where a duration limits it
    sent: int
    ended: int
    failed: int
    in_flight: int
    reads_rate: float
    tokens: int
    token_rate: float
    ttft_p50: int | None


class Worker:
    """One worker process and its decoder, as the coordinator sees them."""

    def __init__(self, folder: Path, index: int) -> None:
        self.index = index
        self.alive = True
        self.done = -2  # index of the last stage it finished
        self.ready = False
        self.error = ""
        self._partial = b""
        self._folder = folder
        self.decoder: subprocess.Popen[bytes] | None = None
        log = (folder / "worker.log").open("ab")
        command = [sys.executable, "-m", "relaymark.relay.worker", str(folder), str(index)]
        # In a group of its own (as is the decoder): Ctrl-C is the coordinator's to hear and to pass on.
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, process_group=0
        )
        log.close()

    def start_decoder(self) -> None:
        """Starts the decoder, once: after the worker, whose start the run waits for."""
        if self.decoder is None:
            command = [sys.executable, "-m", "relaymark.relay.beside", str(self._folder), str(self.index)]
            with (self._folder / "worker.log").open("ab") as log:
                self.decoder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log, process_group=0)

    def tell(self, line: str) -> None:
        """Gives an order; a worker that is gone hears nothing."""
        if self.process.stdin is not None:
            with contextlib.suppress(OSError):
                os.write(self.process.stdin.fileno(), line.encode() + b"\n")

    def hear(self) -> None:
        """Takes in what the worker says; at the end of its output it is no longer alive."""
        stdout = self.process.stdout
        received = os.read(stdout.fileno(), 65536) if stdout is not None else b""
        if not received:
            self.alive = False
            return
        *lines, self._partial = (self._partial + received).split(b"\n")
        for line in lines:
            word, _, rest = line.decode(errors="replace").partition(" ")
            if word == "ready":
                self.ready = True
            elif word == "done":
                self.done = int(rest)
            elif word == "error":
                self.error = rest

    def end(self) -> int:
        """Waits for the worker's orderly end (or kills it), then stops the decoder; returns the worker's status."""
        self.tell("quit")
        deadline = time.monotonic() + _LAST_WORDS_SECONDS
        while self.alive and self.process.stdout is not None and time.monotonic() < deadline:
            # Its output ends with it: waiting for that wakes at once, where wait(timeout) polls.
            if select.select([self.process.stdout], [], [], _POLL_SECONDS)[0]:
                self.hear()
        try:
            status = self.process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        if self.decoder is not None:
            _end_decoder(self.decoder)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        return status


def _end_decoder(decoder: subprocess.Popen[bytes]) -> None:
    decoder.terminate()
    if decoder.stdin is not None:
        decoder.stdin.close()
    try:
        decoder.wait(_LAST_WORDS_SECONDS)
    except subprocess.TimeoutExpired:
        decoder.kill()  # what it had not committed is decoded again
        decoder.wait()


class Coordinator:
    """Runs one prepared run folder to its end.

    The first interrupt (SIGINT, SIGTERM) stops the sending and lets what is in flight end; the second ends that too.
    Either way the run's folder holds a readable, partial run.
    """

    def __init__(self, folder: Path, on_progress: Callable[[Progress], None] | None = None) -> None:
        self._folder = folder
        self._plan: Plan = read_plan(folder)
        self._record: RunRecord = read_run_record(folder)
        self._on_progress = on_progress
        self._interrupts = 0
        self._told = 0
        create_live(folder, self._plan.workers)
        self._blocks = [LiveBlock(folder, row) for row in range(2 * self._plan.workers)]
        self._workers: list[Worker] = []
        self._retrieval: RetrievalServer | None = None
        self._selector = selectors.DefaultSelector()

    def run(self) -> RunRecord:
        """Runs every stage; returns the run's record with its final status.

        Raises:
            RelaymarkError: No worker could start.
        """
        presence = Presence(self._folder)
        handlers = {number: signal.signal(number, self._interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            self._start()
            with contextlib.suppress(OSError, AttributeError):
                # From here on this process only watches. Where cores are few, a worker that wakes must not wait for it.
                os.nice(10)
            for stage in self._plan.stages:
                if self._interrupts or not any(worker.alive for worker in self._workers):
                    break
                self._run_stage(stage)
        finally:
            statuses = [worker.end() for worker in self._workers]
            self._end_retrieval()
            self._selector.close()
            for number, handler in handlers.items():
                signal.signal(number, handler)
            self._conclude(statuses)
            presence.leave()
        return self._record

    def _start(self) -> None:
        self._start_retrieval()
        self._workers = [Worker(self._folder, index) for index in range(self._plan.workers)]
        for worker in self._workers:
            if worker.process.stdout is not None:
                self._selector.register(worker.process.stdout, selectors.EVENT_READ, worker)
        deadline = time.monotonic() + _READY_SECONDS
        while not all(worker.ready for worker in self._workers):
            self._listen()
            for worker in self._workers:
                if not worker.alive or time.monotonic() > deadline:
                    raise RelaymarkError(
                        worker.error or "A worker process did not start.",
                        where=str(self._folder / "worker.log"),
                    )

    def _start_retrieval(self) -> None:
        """Starts the process that serves the pipeline's own stages, and tells the workers where it is."""
        rag = self._plan.rag
        if rag is not None and rag.server is not None:
            self._retrieval = RetrievalServer(rag.server, self._folder / "retrieval.log")
            rag.socket = str(self._retrieval.socket)
            write_plan(self._folder, self._plan)

    def _end_retrieval(self) -> None:
        if self._retrieval is not None:
            if not self._retrieval.alive:
                self._record.broken.append("The retrieval server ended before the run did; see retrieval.log.")
            self._retrieval.stop()

    def _run_stage(self, stage: PlannedStage) -> None:
        record = self._stage_record(stage.index)
        start = time.monotonic_ns() + _HEAD_START_NS + (record.slots or 0) * _PER_CONNECTION_NS
        record.started_ns = start
        write_run_record(self._folder, self._record)
        for worker in self._workers:
            worker.tell(f"stage {stage.index} {start}")
            if self._worth_decoding_beside:
                worker.start_decoder()
        before = {word: live.total(self._blocks, word) for word in _COUNTED}
        last = (time.monotonic(), 0, 0)
        rates = (0.0, 0.0)
        while any(worker.alive and worker.done < stage.index for worker in self._workers):
            self._listen()
            self._pass_on_interrupts(record)
            if self._on_progress is not None:
                now = time.monotonic()
                reads = live.total(self._blocks, live.READS)
                tokens = live.total(self._blocks, live.TOKENS)
                if now - last[0] >= 1.0:
                    rates = ((reads - last[1]) / (now - last[0]), (tokens - last[2]) / (now - last[0]))
                    last = (now, reads, tokens)
                self._on_progress(self._progress(record, before, rates))

    @property
    def _worth_decoding_beside(self) -> bool:
        """Whether to start decoders: for a few requests they would cost more than decoding them at the end."""
        planned = [stage.planned for stage in self._record.stages]
        return any(count is None for count in planned) or sum(filter(None, planned)) > _FEW_REQUESTS

    def _progress(self, stage: StageRecord, before: dict[int, int], rates: tuple[float, float]) -> Progress:
        def since(word: int) -> int:
            return live.total(self._blocks, word) - before[word]

        decoders = self._blocks[self._plan.workers :]
        ttfts = [b[live.TTFT_P50] for b in decoders if b[live.STAGE] == stage.index and b[live.TTFT_P50]]
        return Progress(
            stage=stage,
            stages=sum(1 for planned in self._plan.stages if not planned.warmup),
            elapsed=max(0.0, (time.monotonic_ns() - (stage.started_ns or 0)) / 1e9),
            planned=None if stage.duration_ns is None else stage.duration_ns / 1e9,
            sent=since(live.SENT),
            ended=since(live.TASKS_ENDED if self._plan.many_legged else live.ENDED),
            failed=since(live.TASKS_FAILED if self._plan.many_legged else live.FAILED),
            in_flight=live.total(self._blocks, live.IN_FLIGHT),
            reads_rate=rates[0],
            tokens=since(live.TOKENS),
            token_rate=rates[1],
            ttft_p50=sorted(ttfts)[(len(ttfts) - 1) // 2] if ttfts else None,
        )

    def _listen(self) -> None:
        for key, _ in self._selector.select(_POLL_SECONDS):
            worker: Worker = key.data
            worker.hear()
            if not worker.alive:
                self._selector.unregister(key.fileobj)

    def _interrupt(self, number: int, frame: object) -> None:
        del number, frame
        self._interrupts += 1

    def _pass_on_interrupts(self, record: StageRecord) -> None:
        while self._told < min(self._interrupts, 2):
            self._told += 1
            record.cut_ns = record.cut_ns or time.monotonic_ns()
            for worker in self._workers:
                worker.tell("stop" if self._told == 1 else "cancel")

    def _conclude(self, statuses: list[int]) -> None:
        record = self._record
        record.crashed_workers = [index for index, status in enumerate(statuses) if status]
        if record.crashed_workers or not statuses:
            record.status = "crashed"
        else:
            record.status = "interrupted" if self._interrupts else "complete"
        for worker, status in zip(self._workers, statuses, strict=True):
            if status:
                how = worker.error or (f"killed by signal {-status}" if status < 0 else f"exit status {status}")
                record.notes.append(f"Worker {worker.index} ended early: {how}.")
        write_run_record(self._folder, record)

    def _stage_record(self, index: int) -> StageRecord:
        return next(stage for stage in self._record.stages if stage.index == index)
