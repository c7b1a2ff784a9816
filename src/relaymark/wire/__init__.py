"""How it is sent and stamped: sockets, HTTP/1.1 framing, TLS, kernel stamps, timeouts. The hot path; no JSON."""

from relaymark.wire.client import Client, Counters, Limits, Timeouts
from relaymark.wire.target import Address, Target, parse_url, resolve
from relaymark.wire.timer import PreciseTimer

__all__ = ["Address", "Client", "Counters", "Limits", "PreciseTimer", "Target", "Timeouts", "parse_url", "resolve"]
