"""TLS over the same sockets: bytes are fed to OpenSSL by hand, so that reads keep their kernel stamps."""

from __future__ import annotations

import ssl

_READ_BYTES = 1 << 18


class TlsSession:
    """One TLS connection as a pure byte transformer.

    ``outgoing`` collects what must go to the socket; the owner sends it after every call.

    Raises:
        ssl.SSLError: The handshake or a record failed; raised by every method.
    """

    __slots__ = ("_incoming", "_object", "_outgoing", "closed", "ready")

    def __init__(self, context: ssl.SSLContext, host: str) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._object = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)
        self.ready = False
        self.closed = False  # the peer sent close_notify: an orderly end

    def handshake(self, received: bytes = b"") -> None:
        """Goes one step on; ``ready`` tells when it is done."""
        self._incoming.write(received)
        try:
            self._object.do_handshake()
        except ssl.SSLWantReadError:
            return
        self.ready = True

    def decrypt(self, received: bytes) -> bytes:
        """Returns the plaintext that ``received`` completes; empty when no record is whole yet."""
        if received:
            self._incoming.write(received)
        parts: list[bytes] = []
        try:
            while part := self._object.read(_READ_BYTES):
                parts.append(part)
            self.closed = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self.closed = True
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def encrypt(self, plaintext: bytes) -> bytes:
        """Returns the records that carry ``plaintext``."""
        view = memoryview(plaintext)
        while view:
            view = view[self._object.write(view) :]
        return self._outgoing.read()

    def pending(self) -> bytes:
        """Returns what the session itself wants to send (handshake, alerts, key updates)."""
        return self._outgoing.read()
