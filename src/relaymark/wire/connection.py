"""One TCP (or TLS) connection: connects, sends a request, follows the response to its end.

What comes on a plain connection is read, stamped and stored in :mod:`relaymark.wire.flow`.
"""

from __future__ import annotations

import errno
import os
import socket
import ssl
import time
from typing import Protocol

from relaymark.dialects.http1 import TOO_LARGE
from relaymark.trace import TransferEnd
from relaymark.wire import stamps
from relaymark.wire.exchange import Exchange
from relaymark.wire.flow import Flow
from relaymark.wire.poller import Poller
from relaymark.wire.target import Address, Target
from relaymark.wire.tls import TlsSession

_now = time.monotonic_ns
_TLS_READ_BYTES = 1 << 16
# This machine's limits, not the server's failures (endpoints#418, inference-perf#50 in specs/peers.md).
_BACKPRESSURE = {errno.EADDRNOTAVAIL, errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EAGAIN}


class Owner(Protocol):
    """What a connection tells its client."""

    def over(self, connection: Connection, exchange: Exchange, end: TransferEnd, error: str) -> None:
        """The exchange has ended, well or badly; the connection may be reusable (``connection.reusable``)."""

    def failed_to_connect(self, exchange: Exchange, end: TransferEnd, error: str, code: int) -> None:
        """No connection came about."""

    def idle(self, connection: Connection) -> None:
        """A connection that was opened ahead of its first exchange is ready for it."""

    def idle_lost(self, connection: Connection) -> None:
        """A connection without an exchange was closed by the peer, or did not come about."""


class Connection:
    """One connection to one address, carrying one exchange at a time (HTTP/1.1 without pipelining)."""

    __slots__ = (
        "_exchange",
        "_flow",
        "_owner",
        "_poller",
        "_sock",
        "_stamped",
        "_target",
        "_tls",
        "fd",
        "reusable",
        "used",
    )

    def __init__(self, poller: Poller, owner: Owner, target: Target) -> None:
        self._poller = poller
        self._owner = owner
        self._target = target
        self._sock: socket.socket | None = None
        self._flow: Flow | None = None
        self._tls: TlsSession | None = None
        self._exchange: Exchange | None = None
        self._stamped = False
        self.fd = -1
        self.reusable = False
        self.used = 0

    # -- connecting ---------------------------------------------------------------------------------------------

    def open(self, exchange: Exchange | None, address: Address) -> None:
        """Begins to connect; the exchange, if there is one by now, is sent when that is done."""
        self._exchange = exchange
        if exchange is not None:
            exchange.connection = self
        try:
            sock = socket.socket(address.family, socket.SOCK_STREAM)
        except OSError as error:
            self._refused(error.errno or errno.EMFILE)
            return
        self._sock = sock
        self.fd = sock.fileno()
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._stamped = stamps.enable(sock)
        code = sock.connect_ex(address.sockaddr)
        if code == 0:
            self._connected()
        elif code in (errno.EINPROGRESS, errno.EINTR):
            self._poller.add_writer(self.fd, self._connect_done)
        else:
            self._refused(code)

    def _connect_done(self) -> None:
        sock = self._live_socket()
        self._poller.remove_writer(self.fd)
        code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            self._refused(code)
        else:
            self._connected()

    def _connected(self) -> None:
        if self._target.tls is None:
            self._flow = Flow(self._live_socket(), self)
            self._poller.add_flow(self.fd, self._flow)
            self._begin()
            return
        self._tls = TlsSession(self._target.tls, self._target.host)
        self._poller.add_reader(self.fd, self._on_readable_tls)
        self._handshake(b"")

    def _handshake(self, received: bytes) -> None:
        tls = self._tls
        if tls is None:
            return
        try:
            tls.handshake(received)
        except ssl.SSLError as error:
            self._flush(tls.pending())
            self._fail(TransferEnd.CLIENT_ERROR if _our_distrust(error) else TransferEnd.REFUSED, _tls_text(error))
            return
        self._flush(tls.pending())
        if tls.ready:
            self._begin()

    def _refused(self, code: int) -> None:
        exchange, self._exchange = self._exchange, None
        self.close()
        if exchange is None:
            self._owner.idle_lost(self)
            return
        if code in _BACKPRESSURE:
            end = TransferEnd.CLIENT_ERROR
        elif code == errno.ETIMEDOUT:
            end = TransferEnd.TIMEOUT_CONNECT
        else:
            end = TransferEnd.REFUSED
        self._owner.failed_to_connect(exchange, end, os.strerror(code), code)

    # -- sending ------------------------------------------------------------------------------------------------

    def send(self, exchange: Exchange) -> None:
        """Sends on a connection that is already open."""
        self._exchange = exchange
        exchange.connection = self
        self._begin()

    def _begin(self) -> None:
        exchange = self._exchange
        self.used += 1
        if exchange is None:
            self.reusable = True
            self._owner.idle(self)
            return
        self.reusable = False
        exchange.kernel_stamped = self._stamped
        if self._flow is not None:
            self._flow.put = exchange.put
        sock = self._live_socket()
        outgoing = exchange.head + bytes(exchange.body) if self._tls else b""
        exchange.connected = sent = _now()
        try:
            if self._tls is None:
                # Stamped before the call: on loopback the answer can be on its way before it returns.
                count = sock.sendmsg((exchange.head, exchange.body))
                if count < len(exchange.head) + len(exchange.body):
                    outgoing = (exchange.head + bytes(exchange.body))[count:]
            else:
                outgoing = self._tls.encrypt(outgoing)
                sent = _now()
                outgoing = outgoing[sock.send(outgoing) :]
        except BlockingIOError:
            outgoing = outgoing or exchange.head + bytes(exchange.body)
        except ssl.SSLError as error:
            self._fail(TransferEnd.RESET, _tls_text(error))
            return
        except OSError as error:
            self.lost(error)
            return
        if outgoing:
            exchange.unsent = memoryview(outgoing)
            self._poller.add_writer(self.fd, self._on_writable)
        else:
            exchange.sent = sent

    def _on_writable(self) -> None:
        exchange = self._exchange
        if exchange is None or exchange.unsent is None:
            self._poller.remove_writer(self.fd)
            return
        sent = _now()
        try:
            exchange.unsent = exchange.unsent[self._live_socket().send(exchange.unsent) :]
        except BlockingIOError:
            return
        except OSError as error:
            self.lost(error)
            return
        if not exchange.unsent:
            exchange.unsent = None
            # A long prompt's upload is not the server's prefill: `sent` is when its last byte went (vllm#39963).
            exchange.sent = sent
            self._poller.remove_writer(self.fd)

    def _flush(self, records: bytes) -> None:
        """Sends the few bytes TLS itself wants to say; a full socket buffer at that point is a lost connection."""
        if records:
            try:
                self._live_socket().sendall(records)
            except OSError as error:
                self.lost(error)

    # -- receiving ----------------------------------------------------------------------------------------------

    def received(self, data: bytes, now: int, stamp: bytes, since: int) -> None:
        """Takes a read that was not just one more chunk (:class:`relaymark.wire.flow.Receiver`)."""
        exchange, flow = self._exchange, self._flow
        if exchange is None or not data:
            self._unexpected(len(data))
            return
        if flow is None:
            return
        left, flow.budget = flow.budget, 0
        data, stamp = flow.whole(data, stamp)
        if self._store(exchange, data, now, stamp, since, left):
            flow.budget = exchange.budget

    def _store(self, exchange: Exchange, data: bytes, now: int, stamp: bytes, since: int, left: int) -> bool:
        """Stores a read and follows the framing; False when the exchange ended with it."""
        put = exchange.put
        put(now)
        put(stamp)
        put(since)
        put(data)
        if code := exchange.frame(data, left):
            self._framed(exchange, code)
            return False
        if len(exchange.reads) == 4:
            self._poller.flowing(self.fd)
        return True

    def _on_readable_tls(self) -> None:
        tls = self._tls
        try:
            received, ancillary, _, _ = self._live_socket().recvmsg(_TLS_READ_BYTES, stamps.ANCILLARY_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            self.lost(error)
            return
        now = _now()
        if tls is None or not received:
            self._unexpected(len(received))
            return
        if not tls.ready:
            self._handshake(received)
            if not tls.ready or self._exchange is None:
                return
            received = b""  # anything after the handshake (session tickets) waits inside the session
        try:
            data = tls.decrypt(received)
        except ssl.SSLError as error:
            self._fail(TransferEnd.RESET, _tls_text(error))
            return
        self._flush(tls.pending())
        exchange = self._exchange
        if data and exchange is not None:
            stamp = ancillary[0][2] if ancillary else stamps.NO_STAMP
            if not self._store(exchange, data, now, stamp, self._poller.since, exchange.budget):
                return
        if tls.closed:
            self._unexpected(0)

    def _framed(self, exchange: Exchange, code: int) -> None:
        if code < 0:
            end = TransferEnd.TOO_LARGE if code == TOO_LARGE else TransferEnd.BAD_FRAMING
            self._fail(end, exchange.framer.error)
            return
        self._rest()
        self._poller.waiting(self.fd)
        # Bytes beyond the end, or an answer before the request was out, leave a connection nobody can trust.
        self.reusable = exchange.framer.keep_alive and not exchange.framer.trailing and exchange.unsent is None
        self._owner.over(self, exchange, TransferEnd.COMPLETE, "")

    def _unexpected(self, size: int) -> None:
        """The peer closed, or sent bytes that nobody asked for."""
        exchange = self._exchange
        if exchange is None:
            self.close()
            self._owner.idle_lost(self)
            return
        if not size:
            complete = exchange.framer.eof()
            self._fail(TransferEnd.COMPLETE if complete else TransferEnd.EOF, "" if complete else "closed by the peer")

    # -- ending -------------------------------------------------------------------------------------------------

    def lost(self, error: OSError) -> None:
        """The socket failed (:class:`relaymark.wire.flow.Receiver`)."""
        if self._exchange is None:
            self.close()
            self._owner.idle_lost(self)
            return
        self._fail(TransferEnd.RESET, os.strerror(error.errno) if error.errno else str(error))

    def _fail(self, end: TransferEnd, error: str) -> None:
        exchange = self._exchange
        self._rest()
        self.close()
        if exchange is None:
            self._owner.idle_lost(self)
        else:
            self._owner.over(self, exchange, end, error)

    def _rest(self) -> None:
        """Carries nothing from now on."""
        self._exchange = None
        if self._flow is not None:
            self._flow.rest()

    def abort(self, end: TransferEnd, error: str) -> None:
        """Ends the exchange in flight from our side: a timeout or a cancellation."""
        self._fail(end, error)

    def close(self) -> None:
        """Closes the socket; harmless when it is closed already."""
        sock, self._sock = self._sock, None
        if self._flow is not None:
            self._flow.end()
            self._flow = None
        self.reusable = False
        if sock is not None:
            self._poller.remove(self.fd)
            sock.close()

    def _live_socket(self) -> socket.socket:
        if self._sock is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        return self._sock


def _our_distrust(error: ssl.SSLError) -> bool:
    return isinstance(error, ssl.SSLCertVerificationError)


def _tls_text(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"TLS: the certificate is not trusted: {error.verify_message}"
    return f"TLS: {error.reason or error}"
