"""What every task of a worker shares: the plan, the client, the request pack and the journal."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from relaymark.bench.secrets import Endpoint, request_headers
from relaymark.relay import records
from relaymark.relay.pack import RequestPack
from relaymark.relay.plan import Plan, request_head
from relaymark.relay.redaction import Redactor
from relaymark.trace import Capture, JournalWriter, Leg
from relaymark.wire import Client, Exchange, Timeouts, parse_url, resolve

_KEPT_AT_ONCE = 4
_BACKLOG_BYTES = 96 << 20  # 1,500 streams of 128 tokens; beyond it packing waits for nothing


class Reachable(Endpoint, Protocol):
    """An endpoint as a plan has it."""

    @property
    def verify_tls(self) -> bool:
        """Whether its certificate is checked."""
        ...


class Peer(Protocol):
    """Whatever tasks may be waiting for."""

    def sweep(self) -> None:
        """Ends what has run into a timeout."""
        ...

    def cancel_all(self) -> None:
        """Ends everything under way as cancelled."""
        ...


@dataclass(slots=True)
class TaskCounts:
    """Tasks of many legs that are over; stays at zero where every task is one request."""

    ended: int = 0
    failed: int = 0


class Context:
    """Built once per worker, inside its event loop.

    Raises:
        RelaymarkError: The URL, a header or the host's name cannot be used.
    """

    def __init__(self, folder: Path, worker: int, plan: Plan) -> None:
        self.folder = folder
        self.plan = plan
        self.worker = worker
        self.clients: dict[tuple[str, bool, Timeouts], Client] = {}
        self.others: list[Peer] = []  # that tasks wait for beside the clients' servers
        self.client, self.head = self.reach(plan, plan.url, plan.path)
        self.redactor = Redactor.of(plan, os.environ, *plan.speakers())
        self.pack = RequestPack(folder)
        self.journal = JournalWriter(folder, records.worker_stem(worker))
        self._legs = worker << 40
        self._cancel = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._unkept: deque[Exchange] = deque()
        self._unkept_bytes = 0
        self.tasks = TaskCounts()
        self.failure: OSError | None = None  # the journal could not be written

    def reach(self, endpoint: Reachable, url: str, path: str, timeouts: Timeouts | None = None) -> tuple[Client, bytes]:
        """The client of an endpoint and the head of a request to it up to its Content-Length.

        There is one client for each endpoint, or more where it is asked with different ``timeouts`` (the plan's by
        default).

        Raises:
            RelaymarkError: The URL, a header or the host's name cannot be used.
        """
        plan = self.plan
        target = resolve(parse_url(url, verify_tls=endpoint.verify_tls))
        timeouts = timeouts or plan.timeouts()
        client = self.clients.get((url, endpoint.verify_tls, timeouts))
        if client is None:
            client = Client(target, timeouts=timeouts, limits=plan.limits(), keep_alive=plan.keep_alive)
            self.clients[url, endpoint.verify_tls, timeouts] = client
        headers = request_headers(endpoint, os.environ)
        return client, request_head("POST", target.base_path + path, target.host_header, headers)

    def next_leg_id(self) -> int:
        """A leg id no other worker gives out."""
        self._legs += 1
        return self._legs

    @property
    def cancelled(self) -> bool:
        """True once the stage is being ended: nothing more is to be sent."""
        return self._cancel.is_set()

    def cancel(self) -> None:
        """Ends what is in flight and wakes whoever waits to try again."""
        self._cancel.set()
        for peer in (*self.clients.values(), *self.others):
            peer.cancel_all()

    def sweep(self) -> None:
        """Ends what has run into a timeout; called a few times a second."""
        for peer in (*self.clients.values(), *self.others):
            peer.sweep()

    def close_clients(self) -> None:
        """Cancels what is in flight and closes every connection."""
        for client in self.clients.values():
            client.close()

    def begin_stage(self) -> None:
        """Makes sending possible again after a stage that was cancelled."""
        self._cancel.clear()

    async def sleep(self, ns: int) -> bool:
        """Waits so long; False when the stage was cancelled meanwhile."""
        try:
            await asyncio.wait_for(self._cancel.wait(), ns / 1e9)
        except TimeoutError:
            return True
        return False

    def keep_soon(self, exchange: Exchange) -> None:
        """Has an attempt packed and journaled when the loop has time: what is to be sent comes first."""
        self._unkept.append(exchange)
        self._unkept_bytes += exchange.weight
        if len(self._unkept) == 1:
            self._loop.call_soon(self._keep_some)

    def _keep_some(self) -> None:
        if not self.client.behind:
            self.keep_all(_KEPT_AT_ONCE)
        while self._unkept_bytes > _BACKLOG_BYTES:
            self.keep_all(_KEPT_AT_ONCE)
        if self._unkept:
            self._loop.call_soon(self._keep_some)

    def keep_all(self, most: int | None = None) -> None:
        """Journals what ``keep_soon`` has put off; at the end of a stage all of it.

        A journal that cannot be written is noted in ``failure``, which ends the run: this is called by the loop.
        """
        try:
            for _ in range(len(self._unkept) if most is None else min(most, len(self._unkept))):
                exchange = self._unkept.popleft()
                self._unkept_bytes -= exchange.weight
                self.keep(self.client.seal(exchange))
        except OSError as error:
            self._unkept.clear()
            self._unkept_bytes = 0
            self.failure = self.failure or error

    def keep_leg(self, leg: Leg) -> None:
        """Appends a leg that needs no decoding to the journal: a search, a tool, a whole task.

        Raises:
            OSError: The journal cannot be written.
        """
        self.redactor.leg(leg)
        self.journal.append(records.LEG, records.encode(leg))

    def keep(self, capture: Capture) -> None:
        """Appends an attempt to the journal.

        Raises:
            OSError: The journal cannot be written, e.g. the disk is full.
        """
        self.redactor.capture(capture)
        self.journal.append(records.CAPTURE, records.encode(capture))
