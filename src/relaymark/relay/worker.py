"""A worker process: reads the plan, waits for each stage's start instant, sends, journals, beats.

It is told what to do over its standard input, a line each: ``stage INDEX START_NS``, ``stop`` (send nothing more, let
what is in flight end), ``cancel`` (end it now), ``quit``. It answers on standard output: ``ready``, ``done INDEX``,
``error TEXT``. When its input closes, its coordinator is gone and so is it. Nothing of this happens per request.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from relaymark.errors import RelaymarkError
from relaymark.relay import live, records
from relaymark.relay.chat import run_chat
from relaymark.relay.context import Context
from relaymark.relay.live import LiveBlock
from relaymark.relay.plan import read_part, read_plan
from relaymark.relay.presence import Presence
from relaymark.relay.stage import StageRun, Task
from relaymark.trace import Heartbeat, wall_offset_ns
from relaymark.wire import new_loop, summed

_TICK_SECONDS = 0.05
_TICKS_PER_BEAT = 5


class Worker:
    """One worker's life inside its event loop."""

    def __init__(self, folder: Path, index: int) -> None:
        self._folder = folder
        self._presence = Presence(folder)
        self._index = index
        self._context = Context(folder, index, read_plan(folder))
        self._live = LiveBlock(folder, index)
        self._stage: StageRun | None = None
        self._task: Task = run_chat
        self._stage_index = -1
        self._due_before = 0
        self._orders: asyncio.Queue[list[str]] = asyncio.Queue()
        self._partial = b""
        self._worst_late = 0

    async def run(self) -> None:
        """Serves orders until told to quit or until the coordinator is gone."""
        loop = asyncio.get_running_loop()
        loop.add_reader(0, self._on_control)
        beat = asyncio.ensure_future(self._beat())
        try:
            self._task, close = await _tasks(self._context)
        except RelaymarkError:
            beat.cancel()
            raise
        _say("ready")
        try:
            while True:
                order = await self._orders.get()
                if order[0] == "quit":
                    return
                await self._run_stage(int(order[1]), int(order[2]), beat)
        finally:
            beat.cancel()
            if self._stage is not None:
                self._end_now(self._stage)  # or its loops would send again on a client that is closed
            self._context.close_clients()
            close()
            self._context.keep_all()
            self._heartbeat()
            self._context.journal.close()

    async def _run_stage(self, index: int, start_ns: int, beat: asyncio.Future[None]) -> None:
        planned = next(stage for stage in self._context.plan.stages if stage.index == index)
        self._stage = StageRun(self._context, planned, read_part(self._folder, index, self._index), self._task)
        self._stage_index = index
        running = asyncio.ensure_future(self._stage.run(start_ns))
        # A heartbeat that fails (disk full) must end the stage too: nothing it measures could be kept.
        await asyncio.wait({running, beat}, return_when=asyncio.FIRST_COMPLETED)
        if beat.done():
            self._end_now(self._stage)
            await asyncio.wait({running})
            running.exception()  # the same disk
            await beat
        await running
        self._context.keep_all()
        self._check_journal()
        self._due_before += self._stage.due
        self._stage = None
        self._heartbeat()
        self._context.journal.flush()
        _say(f"done {index}")

    def _check_journal(self) -> None:
        if self._context.failure is not None:
            raise self._context.failure

    def _end_now(self, stage: StageRun) -> None:
        stage.stop()
        self._context.cancel()

    def _on_control(self) -> None:
        received = os.read(0, 4096)
        if not received:
            # The coordinator died: what is journaled stays, nobody is left to tell.
            self._context.close_clients()
            self._context.keep_all()
            with contextlib.suppress(OSError):
                self._context.journal.close()
            os._exit(1)
        *lines, self._partial = (self._partial + received).split(b"\n")
        for line in lines:
            words = line.decode().split()
            if words[0] == "stop" and self._stage is not None:
                self._stage.stop()
            elif words[0] == "cancel" and self._stage is not None:
                self._end_now(self._stage)
            elif words[0] in ("stage", "quit"):
                self._orders.put_nowait(words)

    async def _beat(self) -> None:
        """Ticks: loop lateness, timeouts, the journal's flush; every few ticks a heartbeat and live counters."""
        tick = 0
        while True:
            expected = time.monotonic_ns() + int(_TICK_SECONDS * 1e9)
            await asyncio.sleep(_TICK_SECONDS)
            # The loop rounds up to its next millisecond, which is no lateness of ours.
            self._worst_late = max(self._worst_late, time.monotonic_ns() - expected - 1_000_000)
            tick += 1
            if tick % _TICKS_PER_BEAT == 0:
                self._context.sweep()
                self._heartbeat()
            self._context.journal.flush()
            self._check_journal()

    def _heartbeat(self) -> None:
        clients = self._context.clients.values()
        offset = wall_offset_ns()
        for client in clients:
            client.set_wall_offset(offset)
        counters = summed(client.counters for client in clients)
        in_flight = sum(client.in_flight for client in clients)
        due = self._due_before + (self._stage.due if self._stage else 0)
        beat = Heartbeat(
            worker=self._index,
            mono_ns=time.monotonic_ns(),
            wall_offset_ns=offset,
            cpu_ns=time.process_time_ns(),
            loop_late_ns=max(0, self._worst_late),
            due=due,
            sent=counters.sent,
            ended=counters.ended,
            failed=counters.failed,
            in_flight=in_flight,
            bytes_in=counters.bytes_in,
            reads=counters.reads,
            backpressure=counters.backpressure,
            reconnects=counters.reconnects,
            stage=self._stage_index,
        )
        self._worst_late = 0
        self._context.journal.append(records.HEARTBEAT, records.encode(beat))
        block = self._live
        block[live.SENT] = counters.sent
        block[live.ENDED] = counters.ended
        block[live.FAILED] = counters.failed
        block[live.IN_FLIGHT] = in_flight
        block[live.READS] = counters.reads + sum(client.reads_in_flight for client in clients)
        block[live.DUE] = due
        block[live.STAGE] = self._stage_index
        block[live.TASKS_ENDED] = self._context.tasks.ended
        block[live.TASKS_FAILED] = self._context.tasks.failed


async def _tasks(context: Context) -> tuple[Task, Callable[[], None]]:
    """What a task of this run is, and what to call when there will be no more."""
    rag, replay = context.plan.rag, context.plan.replay
    if replay is not None:
        from relaymark.relay.agent.replay import ReplayTasks  # noqa: PLC0415 - only such runs load it

        conversations = ReplayTasks(context, replay)
        return conversations.run, conversations.close
    if context.plan.live is not None:
        from relaymark.relay.agent.live import LiveTasks  # noqa: PLC0415 - only such runs load it

        agents = LiveTasks(context, context.plan.live)
        return agents.run, agents.close
    if rag is None:
        return run_chat, lambda: None
    from relaymark.relay.rag.task import QuestionTasks  # noqa: PLC0415 - only such runs load it

    tasks = await QuestionTasks.open(context, rag)
    return tasks.run, tasks.close


def _say(line: str) -> None:
    os.write(1, line.encode() + b"\n")


async def _main(folder: Path, index: int) -> None:
    await Worker(folder, index).run()


def main() -> int:
    """Process main; 0 after an orderly end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the whole group; the coordinator decides
    folder, index = Path(sys.argv[1]), int(sys.argv[2])
    _raise_descriptor_limit()
    # Requests leave no reference cycles, so collections would only be pauses in the middle of a measurement.
    gc.freeze()
    gc.set_threshold(200_000, 20, 20)
    try:
        with asyncio.Runner(loop_factory=new_loop) as runner:
            runner.run(_main(folder, index))
    except RelaymarkError as error:
        _say("error " + str(error).replace("\n", " "))
        return int(error.exit_code)
    except OSError as error:
        _say(f"error the trace cannot be written: {error.strerror or error}")
        return 1
    return 0


def _raise_descriptor_limit() -> None:
    """Every connection needs a descriptor; the soft limit is often 1,024."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415 - POSIX only

        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


if __name__ == "__main__":
    sys.exit(main())
