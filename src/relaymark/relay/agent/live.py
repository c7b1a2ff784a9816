"""An agent that really works: it is asked, calls its one tool, reads what came back, and says when it is done.

The whole loop is :func:`work`. Its tool is a shell over files in memory (:mod:`relaymark.relay.agent.shell`); a task
is solved when the files are as they should be in the end, whatever the model says of it.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import Any, cast

import msgspec

from relaymark.data.repairs import Repair, repairs
from relaymark.dialects import Decoded, Dialect, dialect
from relaymark.relay.agent.commands import COMMANDS
from relaymark.relay.agent.files import Files
from relaymark.relay.agent.plan import LivePlan
from relaymark.relay.agent.shell import Shell
from relaymark.relay.attempts import converse
from relaymark.relay.context import Context
from relaymark.relay.plan import PlannedStage
from relaymark.trace import Capture, Kind, Leg, Outcome
from relaymark.trace.answers import ANSWERS_FILE, AnswerWriter, TaskAnswer

_now = time.monotonic_ns
SOLVED = "solved"
SYSTEM = (
    "You work on files in the folder /work with a small shell. Call the tool bash with one command at a time and read "
    f"what it prints. These commands exist: {', '.join(sorted(COMMANDS))}. When the task is done, answer with the word "
    "DONE and call no tool."
)
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "bash",
        "description": "Runs a command in the shell and returns what it prints.",
        "parameters": {
            "type": "object",
            "properties": {"command": {"type": "string", "description": "The command line."}},
            "required": ["command"],
        },
    },
}
_decode = msgspec.json.Decoder().decode


class LiveTasks:
    """Works on repair tasks in one worker."""

    def __init__(self, context: Context, plan: LivePlan) -> None:
        self._context = context
        self._plan = plan
        self._repairs = repairs(plan.seed, plan.tasks)
        self._api: Dialect = dialect(context.plan.dialect)
        self._answers = AnswerWriter(context.folder / ANSWERS_FILE)

    async def run(self, context: Context, stage: PlannedStage, task: int, scheduled: int | None) -> None:
        """Works on task ``task`` of ``stage``; they come round again when more are asked for than there are.

        Raises:
            OSError: The journal or a file of the run cannot be written.
        """
        repair = self._repairs[task % len(self._repairs)]
        started = _now()
        whole = Capture(
            leg_id=context.next_leg_id(),
            task_id=((stage.index + 1) << 32) + task,  # the warm-up is stage -1
            request=-1,
            stage=stage.index,
            warmup=stage.warmup,
            session_id=f"{repair.id}/{task}",
            worker=context.worker,
        )
        files = Files(dict(repair.files))
        progress = _Progress()
        failed = await self._work(whole, repair, Shell(files), progress)
        solved = failed is None and repair.solved_by(files.texts)
        context.tasks.ended += 1
        context.tasks.failed += failed is not None
        context.keep_leg(
            Leg(
                task_id=whole.task_id,
                leg_id=whole.leg_id,
                session_id=whole.session_id,
                worker=context.worker,
                stage=stage.index,
                warmup=stage.warmup,
                kind=Kind.TASK,
                scheduled=scheduled,
                started=started,
                sent=started,
                ended=_now(),
                items=progress.turns,
                outcome=Outcome.OK if failed is None else failed[0],
                error_message=None if failed is None else failed[1],
            )
        )
        self._answers.append(
            TaskAnswer(
                task_id=whole.task_id,
                question_id=repair.id,
                question=repair.instruction,
                outcome="ok" if failed is None else "failed",
                stage=stage.index,
                answer=None if failed is not None else SOLVED if solved else f"not solved: {progress.ending}",
                error=None if failed is None else context.redactor.text(failed[1]),
                gold_answer=SOLVED,
                solved=solved,
                iterations=progress.turns,
                llm_calls=progress.turns,
                fallbacks=dict(progress.odd),
            )
        )

    async def _work(
        self, whole: Capture, repair: Repair, shell: Shell, progress: _Progress
    ) -> tuple[Outcome, str] | None:
        """The loop; how and why a call failed for good, if one did."""
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": repair.instruction},
        ]
        while progress.turns < self._plan.max_turns:
            if self._context.cancelled:
                return Outcome.CANCELLED, "the run was ended in the middle of the task"
            decoded = await self._ask(whole, messages, progress.turns)
            progress.turns += 1
            if not decoded.outcome.good:
                told = decoded.error_message or decoded.outcome.value
                return decoded.outcome, f"turn {progress.turns}: {told}"[:500]
            if not decoded.tool_calls:
                progress.ending = "it called no tool more"
                return None
            messages.append(_said(decoded, progress.turns))
            for place, call in enumerate(decoded.tool_calls):
                started = _now()
                output = _used(shell, call.name, call.arguments, progress.odd)
                self._keep_tool(whole, progress.turns, started)
                known = call.id or f"call_{progress.turns}_{place}"
                messages.append({"role": "tool", "tool_call_id": known, "content": output})
        progress.ending = f"it had not ended after {self._plan.max_turns} turns"
        return None

    async def _ask(self, whole: Capture, messages: list[dict[str, Any]], turn: int) -> Decoded:
        context, plan = self._context, self._context.plan
        _, body = self._api.encode(
            messages=messages,
            max_tokens=self._plan.max_tokens,
            sampling=self._plan.sampling,
            extra={"tools": [TOOL]},
            model=plan.model,
            stream=plan.streamed,
        )
        capture = Capture(
            leg_id=context.next_leg_id(),
            task_id=whole.task_id,
            parent_id=whole.leg_id,
            request=-1,
            stage=whole.stage,
            warmup=whole.warmup,
            session_id=whole.session_id,
            turn=turn + 1,
            worker=context.worker,
            endpoint=plan.url,
            dialect=plan.dialect,
            kind="llm",
            role="turn",
            model=plan.model,
            streamed=plan.streamed,
        )
        _, decoded = await converse(context, context.client, b"%s%d\r\n\r\n" % (context.head, len(body)), capture, body)
        return decoded

    def _keep_tool(self, whole: Capture, turn: int, started: int) -> None:
        ended = _now()
        self._context.keep_leg(
            Leg(
                task_id=whole.task_id,
                leg_id=self._context.next_leg_id(),
                parent_id=whole.leg_id,
                session_id=whole.session_id,
                turn=turn,
                worker=self._context.worker,
                stage=whole.stage,
                warmup=whole.warmup,
                kind=Kind.TOOL,
                role="bash",
                started=started,
                sent=started,
                ended=ended,
                service_ns=ended - started,
                outcome=Outcome.OK,
            )
        )

    def close(self) -> None:
        """Closes the file."""
        self._answers.close()


class _Progress:
    """A task under way."""

    def __init__(self) -> None:
        self.turns = 0
        self.ending = ""
        self.odd: Counter[str] = Counter()


def _said(decoded: Decoded, turn: int) -> dict[str, Any]:
    """The model's own message, as it goes into the next prompt."""
    message: dict[str, Any] = {"role": "assistant"}
    if decoded.texts and decoded.texts[0]:
        message["content"] = decoded.texts[0]
    message["tool_calls"] = [
        {
            "id": call.id or f"call_{turn}_{place}",
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for place, call in enumerate(decoded.tool_calls)
    ]
    return message


def _used(shell: Shell, name: str, arguments: str, odd: Counter[str]) -> str:
    """What the tool gives back; a call that makes no sense is an error in words, which the model may learn from."""
    if name != "bash":
        odd["tool call: a tool that is not there"] += 1
        return f"There is no tool {name[:80]!r}; call bash."
    try:
        told: Any = _decode(arguments)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        odd["tool call: arguments that are not JSON"] += 1
        return 'The arguments are not JSON; write {"command": "..."}.'
    command = cast("dict[str, Any]", told).get("command") if isinstance(told, dict) else None
    if not isinstance(command, str):
        odd["tool call: no command"] += 1
        return 'The arguments have no command; write {"command": "..."}.'
    code, output = shell.run(command)
    return f"<returncode>{code}</returncode>\n<output>\n{output}</output>"
