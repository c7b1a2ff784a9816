"""One question as a task: its legs, its answer, and what became of it."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec

from relaymark.data.questions import Question
from relaymark.relay.context import Context
from relaymark.relay.plan import PlannedStage
from relaymark.relay.rag.blackbox import Service
from relaymark.relay.rag.pipeline import CallFailedError, Progress, answer_question
from relaymark.relay.rag.plan import QUESTIONS_FILE, RECORDING_FILE, RagPlan, Role
from relaymark.relay.rag.recording import Recorder, Replay
from relaymark.relay.rag.searching import Searching
from relaymark.relay.rag.speaking import Conversation, Voice
from relaymark.retrieval.client import RetrievalClient
from relaymark.trace import Capture, Kind, Leg, Outcome
from relaymark.trace.answers import ANSWERS_FILE, AnswerWriter, TaskAnswer

_now = time.monotonic_ns


class QuestionTasks:
    """Answers questions in one worker. Made by :meth:`open`."""

    def __init__(self, context: Context, plan: RagPlan, retrieval: RetrievalClient | None) -> None:
        folder = context.folder
        self._context = context
        self._plan = plan
        self._retrieval = retrieval
        self._questions = _read_questions(folder / QUESTIONS_FILE)
        self._answers = AnswerWriter(folder / ANSWERS_FILE)
        self._recorder = Recorder(folder / RECORDING_FILE)
        self._recorded = Replay(Path(plan.replay)) if plan.replay else None
        self._voices: dict[Role, Voice] = {
            role: Voice(context, role, speaker) for role, speaker in plan.speakers.items()
        }
        self._service = None if plan.service is None else Service(context, plan.service)

    @classmethod
    async def open(cls, context: Context, plan: RagPlan) -> QuestionTasks:
        """Connects to the retrieval server, where there is one.

        Raises:
            RelaymarkError: The server or an endpoint cannot be reached, or a file cannot be read.
        """
        retrieval = await RetrievalClient.connect(Path(plan.socket), plan.retrieval_ns) if plan.socket else None
        if retrieval is not None:
            context.others.append(retrieval)
        return cls(context, plan, retrieval)

    async def run(self, context: Context, stage: PlannedStage, task: int, scheduled: int | None) -> None:
        """Answers question ``task`` of ``stage``; questions come round again when there are more tasks than those.

        Raises:
            OSError: The journal or a file of the run cannot be written.
        """
        question = self._questions[task % len(self._questions)]
        identity = Capture(
            leg_id=context.next_leg_id(),
            task_id=((stage.index + 1) << 32) + task,  # the warm-up is stage -1
            request=-1,
            stage=stage.index,
            warmup=stage.warmup,
            worker=context.worker,
        )
        started = _now()
        progress = Progress(question.text)
        error: CallFailedError | None = None
        conversation = Conversation(context, self._voices, identity, question.id, self._recorder, self._recorded)
        urls: list[str] | None = None
        try:
            if self._service is not None:
                urls = await self._service.answer(progress, identity)
            elif self._retrieval is not None:
                searching = Searching(context, self._retrieval, identity, self._plan.rerank)
                try:
                    await answer_question(progress, conversation, searching, self._plan.rules)
                finally:
                    urls = list(searching.urls)
        except CallFailedError as failure:
            error = failure
        self._keep(identity, question, progress, conversation, urls, error, scheduled, started)

    def _keep(
        self,
        identity: Capture,
        question: Question,
        progress: Progress,
        conversation: Conversation,
        urls: list[str] | None,
        error: CallFailedError | None,
        scheduled: int | None,
        started: int,
    ) -> None:
        context = self._context
        tasks = context.tasks
        tasks.ended += 1
        tasks.failed += error is not None
        calls = conversation.calls or (1 if self._service is not None else 0)
        context.keep_leg(
            Leg(
                task_id=identity.task_id,
                leg_id=identity.leg_id,
                worker=context.worker,
                stage=identity.stage,
                warmup=identity.warmup,
                kind=Kind.TASK,
                scheduled=scheduled,
                started=started,
                sent=started,
                ended=_now(),
                items=calls,
                outcome=Outcome.OK if error is None else error.outcome,
                error_message=None if error is None else str(error),
            )
        )
        answer = TaskAnswer(
            task_id=identity.task_id,
            question_id=question.id,
            question=question.text,
            outcome="ok" if error is None else "failed",
            stage=identity.stage,
            answer=None if error is not None else context.redactor.text(progress.answer or ""),
            error=None if error is None else context.redactor.text(str(error)),
            gold_answer=question.answer,
            gold_urls=question.gold_urls,
            kept_urls=[passage.url for passage in progress.kept] if self._service is None else urls,
            retrieved_urls=urls,
            contexts=progress.contexts and [context.redactor.text(text) for text in progress.contexts],
            iterations=progress.rounds or None,
            llm_calls=calls,
            answer_tokens=progress.answer_tokens,
            replay=dict(conversation.replay),
            fallbacks=dict(progress.fallbacks),
        )
        self._answers.append(answer)

    def close(self) -> None:
        """Hangs up and closes the files."""
        if self._retrieval is not None:
            self._retrieval.close()
        self._answers.close()
        self._recorder.close()


def _read_questions(path: Path) -> list[Question]:
    decode = msgspec.json.Decoder(Question).decode
    return [decode(line) for line in path.read_bytes().splitlines() if line]
