"""How patient a request is: when one attempt is given up, and what is tried again."""

from __future__ import annotations

import msgspec

from relaymark.wire import Timeouts


class Retries(msgspec.Struct, kw_only=True, frozen=True):
    """Retry policy of one leg; ``attempts`` counts the first one, so 1 is off."""

    attempts: int = 1
    backoff_ns: int = 500_000_000
    backoff_max_ns: int = 30_000_000_000
    jitter: float = 0.5
    honour_retry_after: bool = True
    on: tuple[str, ...] = ()
    statuses: tuple[int, ...] = ()


class Patience(msgspec.Struct, kw_only=True, frozen=True):
    """Bounds on one attempt in ns (``None``: no bound) and the retry policy, of one endpoint that is asked."""

    connect_ns: int | None = None
    first_byte_ns: int | None = None
    idle_ns: int | None = None
    total_ns: int | None = None
    retries: Retries = Retries()

    def timeouts(self) -> Timeouts:
        """The bounds, for the wire."""
        return Timeouts(self.connect_ns, self.first_byte_ns, self.idle_ns, self.total_ns)
