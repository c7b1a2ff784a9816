"""The loop of End-to-End RAG: decompose, retrieve, then grade, check, and answer or search on. All of it.

Round 1 asks for sub-queries and retrieves. Every later round grades what is new, asks whether what was kept suffices,
and either answers or asks for further sub-queries and retrieves. The last round answers whatever was kept; where
nothing was, it still searches once more and the answer is empty, as MLPerf Inference v6.1 has it.

What an LLM says is checked, never believed: every reply that is not what was asked for has one defined way to go on
(:mod:`relaymark.relay.rag.replies`), which is counted.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from relaymark.relay.rag import prompts, replies
from relaymark.relay.rag.plan import Role, Rules
from relaymark.retrieval.protocols import Passage
from relaymark.trace import Outcome


class Say(Protocol):
    """An LLM."""

    async def __call__(self, role: Role, round_: int, prompt: prompts.Prompt) -> replies.Said:
        """One prompt, one reply. Raises :class:`CallFailedError` when none came, after whatever retries."""
        ...


class Find(Protocol):
    """Retrieval."""

    async def __call__(self, query: str, k: int, keep: int) -> Sequence[Passage]:
        """The best ``keep`` of the ``k`` passages nearest to a query, best first; raises as :class:`Say`."""
        ...


class CallFailedError(Exception):
    """A call that the task cannot do without has failed for good; ``outcome`` is the call's and so the task's."""

    def __init__(self, why: str, outcome: Outcome) -> None:
        super().__init__(why[:500])
        self.outcome = outcome


@dataclass(slots=True)
class Progress:
    """A question under way; also what is known of it when it fails half-way."""

    question: str
    kept: list[Passage] = field(default_factory=list[Passage])
    fresh: list[Passage] = field(default_factory=list[Passage])  # found, not yet graded
    seen: dict[str, None] = field(default_factory=dict[str, None])  # what is never found again
    history: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])  # query, new passages it brought
    feedback: list[str] = field(default_factory=list[str])
    rounds: int = 0
    answer: str | None = None
    answer_tokens: int | None = None
    contexts: list[str] | None = None  # texts that a service says it used
    fallbacks: Counter[str] = field(default_factory=Counter[str])


async def answer_question(progress: Progress, say: Say, find: Find, rules: Rules) -> None:
    """Answers one question; what comes of it stands in ``progress``.

    Raises:
        CallFailedError: A call failed for good; ``progress`` says how far it had come.
    """
    progress.rounds = 1
    await _search(progress, say, find, rules)
    for progress.rounds in range(2, rules.rounds + 1):
        last = progress.rounds == rules.rounds
        if progress.fresh:
            await _grade(progress, say)
        if progress.kept:
            enough = await _enough(progress, say, rules, last)
            if enough or last:
                await _answer(progress, say)
                return
        await _search(progress, say, find, rules)
    progress.answer = ""


async def _search(progress: Progress, say: Say, find: Find, rules: Rules) -> None:
    """Asks for sub-queries and retrieves for each; a page that was found once is never found again."""
    prompt = prompts.queries(
        progress.question, progress.kept[-rules.window :], progress.history, progress.feedback, rules.max_queries
    )
    said = await say("queries", progress.rounds, prompt)
    asked = replies.queries(said, progress.question)
    progress.fallbacks.update(asked.fallbacks)
    if asked.feedback and asked.feedback != (progress.feedback[-1] if progress.feedback else None):
        progress.feedback.append(asked.feedback)
    keep = max(3, rules.k // len(asked.queries))
    if rules.parallel:
        found = await asyncio.gather(*(find(query, rules.k, keep) for query in asked.queries))
    else:
        found = [await find(query, rules.k, keep) for query in asked.queries]
    # Merged in the order of the queries, so that it doesn't matter which came back first.
    for query, passages in zip(asked.queries, found, strict=True):
        before = len(progress.fresh)
        for passage in passages:
            if not passage.url:
                progress.fallbacks["passage without a URL"] += 1
                continue
            # By page a better passage can never come after a worse one of the same page; so MLPerf has it.
            known = passage.url if rules.once == "page" else f"{passage.url} {passage.number}"
            if known not in progress.seen:
                progress.seen[known] = None
                progress.fresh.append(passage)
        progress.history.append((query, len(progress.fresh) - before))


async def _grade(progress: Progress, say: Say) -> None:
    said = await say("relevance", progress.rounds, prompts.relevance(progress.question, progress.fresh, progress.kept))
    graded = replies.relevance(said, len(progress.fresh))
    progress.fallbacks.update(graded.fallbacks)
    progress.kept += [passage for passage, grade in zip(progress.fresh, graded.relevant, strict=True) if grade]
    progress.fresh = []


async def _enough(progress: Progress, say: Say, rules: Rules, last: bool) -> bool:
    prompt = prompts.sufficiency(progress.question, progress.kept, progress.rounds, rules.rounds, last)
    said = await say("sufficiency", progress.rounds, prompt)
    told = replies.sufficiency(said)
    progress.fallbacks.update(told.fallbacks)
    return told.sufficient


async def _answer(progress: Progress, say: Say) -> None:
    said = await say("answer", progress.rounds, prompts.answer(progress.question, progress.kept))
    told = replies.answer(said)
    progress.fallbacks.update(told.fallbacks)
    progress.answer = told.text
    progress.answer_tokens = said.completion_tokens
