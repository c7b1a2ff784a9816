"""What a pipeline adds to a verdict: parts of it that broke, recordings with gaps, replies that went wrong."""

from __future__ import annotations

from collections.abc import Iterable

from relaymark.measure.summary import Reason, Stage, Verdict


def judge_pipeline(verdict: Verdict, stages: Iterable[Stage], broken: Iterable[str]) -> Verdict:
    """The verdict with the pipeline's own reasons and warnings.

    Args:
        verdict: Of the run's LLM calls.
        stages: Its stages, tasks included.
        broken: Parts of the pipeline of ours that ended before the run did.
    """
    reasons = [*verdict.reasons, *(Reason(code="pipeline", text=text) for text in broken)]
    warnings = list(verdict.warnings)
    for stage in stages:
        tasks = stage.tasks
        if tasks is None:
            continue
        missing, used = tasks.replay.get("missing", 0), tasks.replay.get("used", 0)
        if missing:
            text = (
                f"{stage.load}: of {missing + used:,} replies {missing:,} were not in the recording, so the pipeline "
                "went its own way there: this is not the work that was recorded."
            )
            reasons.append(Reason(code="replay", text=text, measured=float(missing), bound=0.0))
        if tasks.failed:
            text = f"{stage.load}: {tasks.failed:,} of {tasks.tasks:,} tasks failed; they count as infinitely slow."
            warnings.append(Reason(code="tasks_failed", text=text, measured=float(tasks.failed)))
        odd = sum(tasks.fallbacks.values())
        if odd:
            text = (
                f"{stage.load}: {odd:,} replies were not what a role was asked for, and the loop went on as it is "
                "defined to; the counts by reason stand with the tasks."
            )
            warnings.append(Reason(code="fallbacks", text=text, measured=float(odd)))
    return Verdict(valid=not reasons, reasons=reasons, warnings=warnings)
