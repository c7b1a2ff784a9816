"""Retrieval legs of a task: embed, search and rerank by the retrieval server, each with its queueing and its service.

The server stamps when a call was taken in, begun and finished on the same clock as ours, so a leg's time falls into
what the call waited there (for a batch, for its turn) and what it took.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Sequence
from typing import TypeVar

from relaymark.relay.context import Context
from relaymark.relay.rag.pipeline import CallFailedError
from relaymark.retrieval.client import Call, RetrievalClient, RetrievalError
from relaymark.retrieval.protocols import Passage
from relaymark.trace import Capture, Kind, Leg, Outcome

_T = TypeVar("_T")
_OUTCOMES = {
    "refused": Outcome.INBAND_ERROR,
    "gone": Outcome.RESET,
    "timeout": Outcome.TIMEOUT_TOTAL,
    "cancelled": Outcome.CANCELLED,
}


class Searching:
    """Finds passages for one task; what :class:`relaymark.relay.rag.pipeline.Find` asks for."""

    def __init__(self, context: Context, client: RetrievalClient, task: Capture, rerank: bool) -> None:
        self._context = context
        self._client = client
        self._task = task
        self._rerank = rerank
        self.urls: dict[str, None] = {}  # of every passage the search brought, in order

    async def __call__(self, query: str, k: int, keep: int) -> Sequence[Passage]:
        """The best ``keep`` of the ``k`` nearest; the search's own order where there is nothing to leave out."""
        vector = await self._timed(Kind.EMBED, self._client.embed(query))
        passages = await self._timed(Kind.SEARCH, self._client.search(vector, k))
        self.urls.update(dict.fromkeys(passage.url for passage in passages))
        if len(passages) <= keep:
            return passages
        if not self._rerank:
            return passages[:keep]
        scores = await self._timed(Kind.RERANK, self._client.rerank(query, [passage.text for passage in passages]))
        # A stable sort: equal scores stay in the search's order.
        best = sorted(range(len(passages)), key=lambda place: -scores[place])
        return [passages[place] for place in best[:keep]]

    async def _timed(self, kind: Kind, asked: Awaitable[tuple[_T, Call]]) -> _T:
        started = time.monotonic_ns()
        try:
            found, call = await asked
        except RetrievalError as error:
            self._leg(kind, started, None, _OUTCOMES[error.how], str(error)[:500])
            raise CallFailedError(f"{kind.value}: {error}", _OUTCOMES[error.how]) from None
        self._leg(kind, started, call, Outcome.OK, None)
        return found

    def _leg(self, kind: Kind, started: int, call: Call | None, outcome: Outcome, error: str | None) -> None:
        context, task = self._context, self._task
        context.keep_leg(
            Leg(
                task_id=task.task_id,
                leg_id=context.next_leg_id(),
                parent_id=task.leg_id,
                worker=context.worker,
                stage=task.stage,
                warmup=task.warmup,
                kind=kind,
                started=started,
                sent=started,
                ended=time.monotonic_ns(),
                items=None if call is None else call.batch,
                queued_ns=None if call is None else call.begun - call.taken,
                service_ns=None if call is None else call.finished - call.begun,
                outcome=outcome,
                error_message=error,
            )
        )
