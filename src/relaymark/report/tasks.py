"""Tasks of many legs in words and cells, for the terminal and the page alike."""

from __future__ import annotations

from relaymark.measure.summary import Spread, Stage, TaskLegs, Tasks
from relaymark.report.clean import plain_line
from relaymark.report.digits import ABSENT, INFINITE, count, duration, number, percent
from relaymark.report.page import Cell, Table, stage_class

HEADS = ("a task", "calls", "failed", "p50", "p99", "TTFT p50", "waits p50", "tokens in", "out", "share of task")


def task_facts(tasks: Tasks) -> list[tuple[str, str]]:
    """What came of the tasks, a line each: (name, figures)."""
    facts = [
        ("tasks", f"{count(tasks.tasks)}, {count(tasks.failed)} failed" if tasks.failed else count(tasks.tasks)),
        ("tasks/s", number(tasks.rate)),
        ("latency of a task", _spread(tasks.latency)),
    ]
    if tasks.latency_scheduled is not None:
        facts.append(("from its scheduled time", _spread(tasks.latency_scheduled)))
    if tasks.solved is not None:
        share = percent(tasks.solved / tasks.tasks) if tasks.tasks else ABSENT
        facts.append(("tasks solved", f"{count(tasks.solved)} of {count(tasks.tasks)}, {share}"))
        if tasks.solved:
            facts.append(
                ("a solved task costs", f"{duration(tasks.time_per_solved)}, {_tokens(tasks.tokens_per_solved)}")
            )
    if tasks.iterations:
        rounds = ", ".join(f"{count(tasks_)} × {rounds}" for rounds, tasks_ in tasks.iterations.items())
        facts.append(("tasks × rounds", rounds))
    facts.append(("LLM calls a task", number(tasks.llm_calls)))
    if tasks.prompt_tokens is not None or tasks.completion_tokens is not None:
        facts.append(("tokens a task", f"{number(tasks.prompt_tokens)} in, {number(tasks.completion_tokens)} out"))
    if tasks.cached_share is not None:
        facts.append(("prompt tokens from a prefix cache", percent(tasks.cached_share)))
    if tasks.busy_share is not None:
        facts.append(("time with an LLM call in flight", percent(tasks.busy_share)))
    if tasks.replay:
        facts.append(
            ("recorded replies", ", ".join(f"{count(n)} {plain_line(k, 40)}" for k, n in tasks.replay.items()))
        )
    for why, times in list(tasks.fallbacks.items())[:12]:
        facts.append(("reply that was not as asked", f"{count(times)} × {plain_line(why, 80)}"))
    return facts


def task_rows(tasks: Tasks) -> list[tuple[str, list[str]]]:
    """A row for each kind of leg; the cells are those of ``HEADS``."""
    return [(plain_line(legs.name, 40), _cells(legs, tasks)) for legs in tasks.legs]


def task_table(stage: Stage) -> Table | None:
    """The same as a table of the page."""
    if stage.tasks is None:
        return None
    rows = [
        (stage_class(stage), name, [Cell(text, bad=place == 2 and text != "0") for place, text in enumerate(cells)])
        for name, cells in task_rows(stage.tasks)
    ]
    return Table([], list(HEADS), rows)


def _cells(legs: TaskLegs, tasks: Tasks) -> list[str]:
    return [
        number(legs.calls / tasks.tasks if tasks.tasks else None),
        count(legs.calls),
        count(legs.failed),
        _at(legs.latency, "p50"),
        _at(legs.latency, "p99"),
        _at(legs.ttft, "p50"),
        _at(legs.queued, "p50"),
        number(legs.prompt_tokens),
        number(legs.completion_tokens),
        percent(legs.share),
    ]


def _at(spread: Spread | None, quantile: str) -> str:
    return ABSENT if spread is None else duration(spread.quantiles[quantile])


def _tokens(value: float | None) -> str:
    return "tokens not told" if value is None else f"{number(value)} tokens, failures included"


def _spread(spread: Spread | None) -> str:
    if spread is None:
        return ABSENT
    parts = [f"{name} {duration(value)}" for name, value in spread.quantiles.items()]
    moved = [
        f"{name} {INFINITE if value is None else duration(value)}"
        for name, value in spread.with_failures.items()
        if value != spread.quantiles[name]
    ]
    return " · ".join(parts) + (f" (with failures as infinitely slow: {', '.join(moved)})" if moved else "")
