"""Kernel arrival stamps on stream sockets (Linux ``SO_TIMESTAMPNS``).

The stamp is the arrival time of the last segment a read returned, CLOCK_REALTIME, as a 16-byte ``struct timespec``
in the read's ancillary data (kernel documentation, networking/timestamping §1.1). It is right however late this
process gets to the read, which is what turns client-added latency from a guess into a measurement.
"""

from __future__ import annotations

import socket
import struct
import sys

_SO_TIMESTAMPNS = 35  # asm-generic/socket.h SO_TIMESTAMPNS_OLD: struct timespec of native longs; absent from `socket`
STAMP_BYTES = 16
NO_STAMP = bytes(STAMP_BYTES)
SUPPORTED = sys.platform == "linux" and struct.calcsize("ll") == STAMP_BYTES
ANCILLARY_BYTES = socket.CMSG_SPACE(STAMP_BYTES) if SUPPORTED else 0


def enable(sock: socket.socket) -> bool:
    """Asks the kernel to stamp what arrives on ``sock``; False where it can't."""
    if not SUPPORTED:
        return False
    try:
        sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    except OSError:
        return False
    return True
