"""The simplest task: one request to one endpoint, one leg (more where it is retried)."""

from __future__ import annotations

from relaymark.relay.attempts import send_leg
from relaymark.relay.context import Context
from relaymark.relay.plan import PlannedStage
from relaymark.trace import Capture


async def run_chat(context: Context, stage: PlannedStage, task: int, scheduled: int | None) -> None:
    """Sends task ``task`` of ``stage`` and journals what came back.

    Args:
        context: The worker's clients and journal.
        stage: The stage the task belongs to.
        task: Index of the task in its stage.
        scheduled: When it was to be sent (CLOCK_MONOTONIC ns); ``None`` in a closed loop.
    """
    plan = context.plan
    request = stage.first_prompt + task
    capture = Capture(
        leg_id=context.next_leg_id(),
        task_id=((stage.index + 1) << 32) + task,  # the warm-up is stage -1
        request=request,
        stage=stage.index,
        warmup=stage.warmup,
        worker=context.worker,
        endpoint=plan.url,
        dialect=plan.dialect,
        kind="embed" if plan.dialect == "openai-embeddings" else "llm",
        model=plan.model,
        streamed=plan.streamed,
        scheduled=scheduled,
    )
    await send_leg(context, capture, context.pack[request])
