"""LLM legs of a task: a role's prompt becomes a request to that role's endpoint, its answer a reply."""

from __future__ import annotations

from collections import Counter
from typing import Any

from relaymark.dialects import Decoded, Dialect, dialect
from relaymark.relay.attempts import converse
from relaymark.relay.context import Context
from relaymark.relay.rag.pipeline import CallFailedError
from relaymark.relay.rag.plan import Role, Speaker
from relaymark.relay.rag.prompts import Prompt
from relaymark.relay.rag.recording import Recorder, Replay
from relaymark.relay.rag.replies import Said
from relaymark.trace import Capture
from relaymark.wire import Client


class Voice:
    """One role's endpoint, ready to be asked.

    Raises:
        RelaymarkError: The URL, a header or the host's name cannot be used.
    """

    def __init__(self, context: Context, role: Role, speaker: Speaker) -> None:
        self.role: Role = role
        self.speaker = speaker
        self.client: Client
        self.client, self.head = context.reach(speaker, speaker.url, speaker.path, speaker.patience.timeouts())
        self.api: Dialect = dialect(speaker.dialect)

    def body(self, prompt: Prompt) -> bytes:
        """The request's body."""
        speaker = self.speaker
        extra: dict[str, Any] = {}
        if speaker.constrained and prompt.schema is not None:
            schema = {"name": prompt.name, "strict": True, "schema": prompt.schema}
            extra["response_format"] = {"type": "json_schema", "json_schema": schema}
        _, body = self.api.encode(
            messages=[{"role": "user", "content": prompt.text}],
            max_tokens=speaker.max_tokens,
            sampling=speaker.sampling,
            extra=extra,
            model=speaker.model,
            stream=speaker.streamed,
        )
        return body


class Conversation:
    """All LLM calls of one task; what :class:`relaymark.relay.rag.pipeline.Say` asks for.

    Attributes:
        calls: Calls made so far.
        replay: What became of recorded replies: used, missing.
    """

    def __init__(
        self,
        context: Context,
        voices: dict[Role, Voice],
        task: Capture,
        question_id: str,
        recorder: Recorder,
        recorded: Replay | None,
    ) -> None:
        self._context = context
        self._voices = voices
        self._task = task
        self._question_id = question_id
        self._recorder = recorder
        self._recorded = recorded
        self.calls = 0
        self.replay: Counter[str] = Counter()

    async def __call__(self, role: Role, round_: int, prompt: Prompt) -> Said:
        """Asks; in replay the answer is timed and thrown away where a recorded one is there to go on with."""
        voice = self._voices[role]
        body = voice.body(prompt)
        context, task, speaker = self._context, self._task, voice.speaker
        capture = Capture(
            leg_id=context.next_leg_id(),
            task_id=task.task_id,
            parent_id=task.leg_id,
            request=-1,
            stage=task.stage,
            warmup=task.warmup,
            turn=self.calls,
            worker=context.worker,
            endpoint=speaker.url,
            dialect=speaker.dialect,
            kind="llm",
            role=role,
            model=speaker.model,
            streamed=speaker.streamed,
        )
        self.calls += 1
        head = b"%s%d\r\n\r\n" % (voice.head, len(body))
        _, decoded = await converse(context, voice.client, head, capture, body, speaker.patience.retries)
        said = said_by(decoded) if decoded.outcome.good else None
        if said is not None:
            self._recorder.keep(self._question_id, role, round_, said)
        if said is None:
            # In replay too: a task whose calls fail must not come out well.
            told = decoded.error_message or decoded.outcome.value
            raise CallFailedError(f"{role} in round {round_}: {decoded.outcome.value}: {told}", decoded.outcome)
        if self._recorded is None:
            return said
        return self._recorded.find(self._question_id, role, round_, self.replay) or said


def said_by(decoded: Decoded) -> Said:
    """The first choice's text; arguments of a tool call where a server forces JSON through one."""
    text = decoded.texts[0] if decoded.texts else ""
    if not text and decoded.tool_calls:
        text = decoded.tool_calls[0].arguments
    reasoning = decoded.reasonings[0] if decoded.reasonings else ""
    return Said(text, reasoning, decoded.completion_tokens)
