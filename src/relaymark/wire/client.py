"""The client of one endpoint: a pool of connections, timeouts, and the counters a heartbeat reports."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from relaymark.trace import Capture, TransferEnd, wall_offset_ns
from relaymark.wire.connection import Connection
from relaymark.wire.exchange import Exchange
from relaymark.wire.limits import Limits, Timeouts
from relaymark.wire.poller import poller_of
from relaymark.wire.target import Target

_now = time.monotonic_ns
_WOKEN_AT_ONCE = 64


@dataclass(slots=True)
class Counters:
    """What the client did since its start."""

    sent: int = 0
    ended: int = 0
    failed: int = 0
    bytes_in: int = 0
    reads: int = 0
    backpressure: int = 0
    reconnects: int = 0


def summed(every: Iterable[Counters]) -> Counters:
    """The counters of several clients as if they were one."""
    total = Counters()
    for counters in every:
        for name in Counters.__slots__:
            setattr(total, name, getattr(total, name) + getattr(counters, name))
    return total


class Client:
    """Sends requests to one endpoint over as many connections as are needed; there is no hidden cap.

    Must be used from one running event loop. Connections are reused last-in first-out when ``keep_alive`` is set.
    """

    def __init__(
        self,
        target: Target,
        *,
        timeouts: Timeouts | None = None,
        limits: Limits | None = None,
        keep_alive: bool = True,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._poller = poller_of(self._loop)
        self._target = target
        self._timeouts = timeouts or Timeouts()
        self._limits = limits or Limits()
        self._keep_alive = keep_alive
        self._idle: list[Connection] = []
        self._opening: set[Connection] = set()  # ahead of their first exchange
        self._flying: dict[Exchange, None] = {}
        self._over: deque[Exchange] = deque()
        self._wall_offset = wall_offset_ns()
        self.counters = Counters()

    @property
    def in_flight(self) -> int:
        """Exchanges begun and not over."""
        return len(self._flying)

    @property
    def behind(self) -> bool:
        """More is waiting to be read or to be woken than can be dealt with at once: no time for anything else."""
        return self._poller.behind or bool(self._over)

    @property
    def reads_in_flight(self) -> int:
        """Socket reads of the exchanges in flight, for live progress."""
        return sum(exchange.count for exchange in self._flying)

    def set_wall_offset(self, offset: int) -> None:
        """Takes a fresh CLOCK_REALTIME − CLOCK_MONOTONIC in ns, for the kernel stamps of what ends from now on."""
        self._wall_offset = offset

    async def open_ahead(self, count: int, until: int) -> None:
        """Has ``count`` idle connections ready, or as many as came about by ``until`` (CLOCK_MONOTONIC ns).

        For loads that begin with many requests at once: connecting in the same moment would delay them. A connection
        that fails is forgotten; the exchange that needs it will find out for itself what is wrong.
        """
        if not self._keep_alive:
            return
        for _ in range(count - len(self._idle)):
            connection = Connection(self._poller, self, self._target)
            self._opening.add(connection)
            connection.open(None, self._target.addresses[0])
        while self._opening and (left := until - _now()) > 0:
            await asyncio.sleep(min(0.002, left / 1e9))
        for connection in self._opening:
            connection.close()
        self._opening.clear()

    async def send(self, capture: Capture, head: bytes, body: bytes | memoryview) -> Capture:
        """Sends one request and returns its capture when the response is over; see :meth:`exchange`."""
        return self.seal(await self.exchange(capture, head, body))

    def seal(self, exchange: Exchange) -> Capture:
        """Packs an exchange that is over into its capture, and counts its bytes."""
        sealed = exchange.seal()
        self.counters.bytes_in += len(sealed.raw)
        return sealed

    async def exchange(self, capture: Capture, head: bytes, body: bytes | memoryview) -> Exchange:
        """Sends one request; returns when the response is over, its capture not packed yet (:meth:`seal`).

        Never raises for what a peer did.

        Args:
            capture: Identity filled in; stamps, end and bytes are written here.
            head: Request line and headers with the final blank line.
            body: The body, as long as ``head``'s Content-Length says.
        """
        exchange = Exchange(capture, head, body, self._limits, _now())
        self._flying[exchange] = None
        self.counters.sent += 1
        if self._idle:
            self._idle.pop().send(exchange)
        else:
            Connection(self._poller, self, self._target).open(exchange, self._target.addresses[0])
        await exchange.future
        return exchange

    # -- what connections tell ----------------------------------------------------------------------------------

    def over(self, connection: Connection, exchange: Exchange, end: TransferEnd, error: str) -> None:
        """Ends an exchange, or sends it again once where a kept-alive connection had died before it was used."""
        if connection.reusable and self._keep_alive:
            self._idle.append(connection)
        else:
            connection.close()
        # RFC 9112 §9.3.1: a server may close an idle connection at any time; a request that met that close and got
        # no byte back may be sent again. Once, on a fresh connection, counted, and never taken for a server error.
        raced = end in (TransferEnd.RESET, TransferEnd.EOF) and exchange.silent and connection.used > 1
        if raced and not exchange.capture.reconnects:
            exchange.capture.reconnects = 1
            exchange.unsent = None
            exchange.frame_afresh()
            exchange.connected = exchange.sent = 0  # the new connection has its own, and the connect bound holds for it
            self.counters.reconnects += 1
            self._drop_idle()
            Connection(self._poller, self, self._target).open(exchange, self._target.addresses[0])
            return
        self._finish(exchange, end, error)

    def failed_to_connect(self, exchange: Exchange, end: TransferEnd, error: str, code: int) -> None:
        """Tries the name's next address (RFC 8305 without the race: addresses were sorted by the resolver)."""
        del code
        if end is TransferEnd.REFUSED and exchange.address + 1 < len(self._target.addresses):
            exchange.address += 1
            address = self._target.addresses[exchange.address]
            Connection(self._poller, self, self._target).open(exchange, address)
            return
        if end is TransferEnd.CLIENT_ERROR:
            self.counters.backpressure += 1
        self._finish(exchange, end, error)

    def idle(self, connection: Connection) -> None:
        """Keeps a connection that was opened ahead."""
        self._opening.discard(connection)
        self._idle.append(connection)

    def idle_lost(self, connection: Connection) -> None:
        """Forgets an idle connection that the peer closed, or one that did not come about."""
        self._opening.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)

    def _finish(self, exchange: Exchange, end: TransferEnd, error: str) -> None:
        self._flying.pop(exchange, None)
        counters = self.counters
        counters.ended += 1
        if end is not TransferEnd.COMPLETE:
            counters.failed += 1
        counters.reads += exchange.count
        complete = end is TransferEnd.COMPLETE and exchange.reads
        exchange.over(end, error, exchange.last_read if complete else _now(), self._wall_offset)
        self._over.append(exchange)
        if len(self._over) == 1:
            self._poller.attention = True
            self._loop.call_soon(self._hand_over)

    def _hand_over(self) -> None:
        """Wakes a few of those who wait for a response that is over, and the rest next time round.

        When 1,000 streams end together, their next sends take longer in sum than the gap between tokens. In one go, the
        first tokens of the new streams would sit unread until their second had come.
        """
        over = self._over
        for _ in range(min(len(over), _WOKEN_AT_ONCE)):
            exchange = over.popleft()
            if not exchange.future.done():
                exchange.future.set_result(None)  # not the exchange: that would be a cycle, freed much later
        if over:
            self._loop.call_soon(self._hand_over)

    # -- ending from our side -----------------------------------------------------------------------------------

    def sweep(self) -> None:
        """Ends what has run into a timeout. Call it a few times a second."""
        now = _now()
        limits = self._timeouts
        for exchange in list(self._flying):
            end = _timed_out(exchange, now, limits)
            if end is not None:
                self._abort(exchange, end, "")

    def cancel_all(self) -> None:
        """Ends everything in flight as cancelled."""
        for exchange in list(self._flying):
            self._abort(exchange, TransferEnd.CANCELLED, "cancelled by the client")

    def _abort(self, exchange: Exchange, end: TransferEnd, error: str) -> None:
        connection = exchange.connection
        if connection is None:
            self._finish(exchange, end, error)
        else:
            connection.abort(end, error)

    def _drop_idle(self) -> None:
        for connection in self._idle:
            connection.close()
        self._idle.clear()

    def close(self) -> None:
        """Cancels what is in flight and closes every connection."""
        self.cancel_all()
        self._drop_idle()


def _timed_out(exchange: Exchange, now: int, limits: Timeouts) -> TransferEnd | None:
    """Which bound the exchange has passed: total, connect, first byte, idle, in this order."""
    if limits.total is not None and now - exchange.started > limits.total:
        return TransferEnd.TIMEOUT_TOTAL
    if not exchange.connected:
        late = limits.connect is not None and now - exchange.started > limits.connect
        return TransferEnd.TIMEOUT_CONNECT if late else None
    if exchange.silent:
        late = limits.first_byte is not None and now - exchange.connected > limits.first_byte
        return TransferEnd.TIMEOUT_FIRST_BYTE if late else None
    late = limits.idle is not None and now - exchange.last_read > limits.idle
    return TransferEnd.TIMEOUT_IDLE if late else None
