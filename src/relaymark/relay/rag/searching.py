"""Retrieval legs of a task: embed, search and rerank by the retrieval server, each with its queueing and its service.

The server stamps when a call was taken in, begun and finished on the same clock as ours, so a leg's time falls into
what the call waited there (for a batch, for its turn) and what it took.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from relaymark.relay.context import Context
from relaymark.relay.rag.pipeline import CallFailedError
from relaymark.retrieval.client import Call, RetrievalClient, RetrievalError
from relaymark.retrieval.protocols import Passage
from relaymark.trace import Capture, Kind, Leg, Outcome


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
        started = time.monotonic_ns()
        try:
            vector, embedded = await self._client.embed(query)
            self._leg(Kind.EMBED, started, embedded)
            started = time.monotonic_ns()
            passages, searched = await self._client.search(vector, k)
            self._leg(Kind.SEARCH, started, searched)
            self.urls.update(dict.fromkeys(passage.url for passage in passages))
            if len(passages) <= keep:
                return passages
            if not self._rerank:
                return passages[:keep]
            started = time.monotonic_ns()
            scores, reranked = await self._client.rerank(query, [passage.text for passage in passages])
            self._leg(Kind.RERANK, started, reranked)
        except RetrievalError as error:
            raise CallFailedError(f"retrieval: {error}"[:500]) from None
        # A stable sort: equal scores stay in the search's order.
        best = sorted(range(len(passages)), key=lambda place: -scores[place])
        return [passages[place] for place in best[:keep]]

    def _leg(self, kind: Kind, started: int, call: Call) -> None:
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
                items=call.batch,
                queued_ns=call.begun - call.taken,
                service_ns=call.finished - call.begun,
                outcome=Outcome.OK,
            )
        )
