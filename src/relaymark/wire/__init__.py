"""How it is sent and stamped: sockets, HTTP/1.1 framing, TLS, kernel stamps, timeouts. The hot path; no JSON."""

from relaymark.wire.client import Client, Counters, summed
from relaymark.wire.exchange import Exchange
from relaymark.wire.limits import Limits, Timeouts
from relaymark.wire.loop import HotLoop, loop_name, new_loop
from relaymark.wire.target import Address, Target, parse_url, resolve
from relaymark.wire.timer import PreciseTimer

__all__ = [
    "Address",
    "Client",
    "Counters",
    "Exchange",
    "HotLoop",
    "Limits",
    "PreciseTimer",
    "Target",
    "Timeouts",
    "loop_name",
    "new_loop",
    "parse_url",
    "resolve",
    "summed",
]
