"""One recorded conversation as a task: its turns one after the other, each when the last has been answered."""

from __future__ import annotations

import math
import time
from hashlib import blake2b
from random import Random

from relaymark.dialects import Decoded, decode_capture
from relaymark.relay.agent.plan import PlannedPause, ReplayPlan
from relaymark.relay.agent.sessions import PackedSession, PackedTurn, Sessions, system_message
from relaymark.relay.attempts import converse
from relaymark.relay.context import Context
from relaymark.relay.plan import PlannedStage
from relaymark.trace import Capture, Kind, Leg, Outcome, TransferEnd

_now = time.monotonic_ns
ABANDONED = "abandoned: an earlier turn of the conversation failed"


class ReplayTasks:
    """Replays conversations in one worker.

    A turn that fails ends its conversation, as MLPerf Inference v6.1 has it: nobody knows what the agent would have
    done next. The turns that never came are in the trace as cancelled, so that they can make no figure better.
    """

    def __init__(self, context: Context, plan: ReplayPlan) -> None:
        self._context = context
        self._plan = plan
        self._sessions = Sessions(context.folder)
        self._done = frozenset(plan.done)

    async def run(self, context: Context, stage: PlannedStage, task: int, scheduled: int | None) -> None:
        """Replays conversation ``task`` of ``stage``; they come round again when more are asked for than there are.

        Raises:
            OSError: The journal or a file of the run cannot be written.
        """
        lap, place = divmod(task, self._plan.conversations)
        session = self._sessions.all[place]
        name = session.id if not lap else f"{session.id}__repeat_{lap + 1}"
        if f"{stage.index}/{name}" in self._done:
            return
        started = _now()
        whole = Capture(
            leg_id=context.next_leg_id(),
            task_id=((stage.index + 1) << 32) + task,  # the warm-up is stage -1
            request=-1,
            stage=stage.index,
            warmup=stage.warmup,
            session_id=name,
            worker=context.worker,
        )
        failed = await self._converse(whole, session, lap)
        context.tasks.ended += 1
        context.tasks.failed += failed is not None
        context.keep_leg(
            Leg(
                task_id=whole.task_id,
                leg_id=whole.leg_id,
                session_id=name,
                worker=context.worker,
                stage=stage.index,
                warmup=stage.warmup,
                kind=Kind.TASK,
                scheduled=scheduled,
                started=started,
                sent=started,
                ended=_now(),
                items=len(session.turns),
                outcome=Outcome.OK if failed is None else failed[0],
                error_message=None if failed is None else failed[1],
            )
        )

    async def _converse(self, whole: Capture, session: PackedSession, lap: int) -> tuple[Outcome, str] | None:
        """Every turn of a conversation; how and why it failed, if it did."""
        context = self._context
        draw = Random(f"{context.plan.seed}/pauses/{whole.session_id}")  # noqa: S311 - repeatable, not secret
        system = system_message(self._system(session, lap))
        messages = self._sessions.messages(session)
        headers = "".join(f"{header}: {whole.session_id}\r\n" for header in self._plan.session_headers).encode("ascii")
        head = context.head.removesuffix(b"Content-Length: ") + headers + b"Content-Length: "
        for number, turn in enumerate(session.turns):
            await self._wait(whole, turn, number, draw)
            if context.cancelled:
                self._abandon(whole, session, number, "the run was ended before this turn")
                return Outcome.CANCELLED, "the run was ended in the middle of the conversation"
            body = self._sessions.body(whole.stage, turn, system, messages)
            capture = self._capture(whole, number)
            full = b"%s%d\r\n\r\n" % (head, len(body))
            failed = await self._turn(full, capture, body)
            if failed is not None:
                self._abandon(whole, session, number + 1, ABANDONED)
                return failed.outcome, f"turn {number + 1}: {failed.error_message or failed.outcome.value}"[:500]
        return None

    async def _turn(self, head: bytes, capture: Capture, body: bytes) -> Decoded | None:
        """Sends one turn; what came back where that was no answer."""
        context = self._context
        if context.plan.retries.attempts > 1:
            _, decoded = await converse(context, context.client, head, capture, body)
        else:
            done = await context.client.send(capture, head, body)
            context.keep(done)
            # The answer is not needed to go on: decoding it here would come between the turns, 1.7 ms each.
            if plainly_whole(done):
                return None
            decoded = decode_capture(done, context.plan.max_body)
        return None if decoded.outcome.good else decoded

    def _capture(self, whole: Capture, number: int) -> Capture:
        plan = self._context.plan
        return Capture(
            leg_id=self._context.next_leg_id(),
            task_id=whole.task_id,
            parent_id=whole.leg_id,
            request=-1,
            stage=whole.stage,
            warmup=whole.warmup,
            session_id=whole.session_id,
            turn=number + 1,
            worker=self._context.worker,
            endpoint=plan.url,
            dialect=plan.dialect,
            kind="llm",
            role="turn",
            model=plan.model,
            streamed=plan.streamed,
        )

    async def _wait(self, whole: Capture, turn: PackedTurn, number: int, draw: Random) -> None:
        """What a person or a tool takes before the turn: a leg of its own, and no part of the turn's latency."""
        pause = self._plan.think if turn.role == "user" else self._plan.tools
        if number == 0 or pause.kind == "none":
            return
        ns = pause_ns(pause, turn.delay_ns, draw)
        if ns <= 0:
            return
        context = self._context
        started = _now()
        whole_pause = await context.sleep(ns)
        context.keep_leg(
            Leg(
                task_id=whole.task_id,
                leg_id=context.next_leg_id(),
                parent_id=whole.leg_id,
                session_id=whole.session_id,
                turn=number + 1,
                worker=context.worker,
                stage=whole.stage,
                warmup=whole.warmup,
                kind=Kind.TOOL if turn.role == "tool" else Kind.WAIT,
                role="tool" if turn.role == "tool" else "think",
                started=started,
                sent=started,
                ended=_now(),
                service_ns=_now() - started,
                outcome=Outcome.OK if whole_pause else Outcome.CANCELLED,
            )
        )

    def _abandon(self, whole: Capture, session: PackedSession, first: int, why: str) -> None:
        for number in range(first, len(session.turns)):
            self._context.keep_leg(
                Leg(
                    task_id=whole.task_id,
                    leg_id=self._context.next_leg_id(),
                    parent_id=whole.leg_id,
                    session_id=whole.session_id,
                    turn=number + 1,
                    worker=self._context.worker,
                    endpoint=self._context.plan.url,
                    stage=whole.stage,
                    warmup=whole.warmup,
                    role="turn",
                    service_ns=0,  # it was never sent
                    outcome=Outcome.CANCELLED,
                    error_message=why,
                )
            )

    def _system(self, session: PackedSession, lap: int) -> str:
        """The system's text; salted, a cache is of use within a conversation and within a pass, and no further."""
        if not self._plan.salt:
            return session.system
        key = self._plan.salt_key
        return f"[salt: {_salt(key, 'pass', lap + 1)}]\n\n{session.system}\n\n[salt: {_salt(key, 'of', session.id)}]"

    def close(self) -> None:
        """Closes the file."""
        self._sessions.close()


def _salt(*parts: object) -> str:
    """16 hex digits, 64 bits: MLPerf's four come to two conversations with one salt among a few hundred."""
    return blake2b("/".join(map(str, parts)).encode(), digest_size=8).hexdigest()


def plainly_whole(capture: Capture) -> bool:
    """Whether a response can only be a good one: a whole 200 that ends with ``[DONE]`` and tells of no error.

    What is not plain is decoded. In a JSON text within the answer quotes are escaped, so ``"error"`` is a key.
    """
    raw = capture.raw
    return (
        capture.end is TransferEnd.COMPLETE
        and raw.startswith((b"HTTP/1.1 200 ", b"HTTP/1.1 200\r"))
        and b"[DONE]" in raw[-64:]
        and b'"error"' not in raw
    )


def pause_ns(pause: PlannedPause, recorded_ns: int, draw: Random) -> int:
    """How long to wait, in ns. Draws the same whatever else happens: one number a pause."""
    if pause.kind == "recorded":
        return max(0, round(recorded_ns * pause.scale))
    if pause.kind == "exponential":
        return round(draw.expovariate(1.0) * pause.mean_ns)
    if pause.kind == "lognormal":
        # The mean of a lognormal is exp(mu + sigma²/2).
        return round(pause.mean_ns * math.exp(draw.gauss(0, 1) * pause.sigma - pause.sigma**2 / 2))
    return pause.mean_ns
