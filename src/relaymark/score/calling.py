"""Many calls of one endpoint, so many at a time, retried where that can help: what every judge and quiz needs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from relaymark.bench.secrets import request_headers
from relaymark.dialects import Decoded, decode_capture, dialect
from relaymark.errors import ConfigError, UnreachableError
from relaymark.relay.plan import request_head
from relaymark.relay.preflight import choose_model, look
from relaymark.relay.redaction import Redactor
from relaymark.trace import Capture, Outcome
from relaymark.wire import Client, Target, Timeouts, new_loop, parse_url, resolve

RETRIED_STATUS = frozenset((408, 409, 425, 429, 500, 502, 503, 504))
RETRIED = frozenset(
    (Outcome.REFUSED, Outcome.RESET, Outcome.TRUNCATED, Outcome.TIMEOUT_CONNECT, Outcome.TIMEOUT_FIRST_BYTE,
     Outcome.TIMEOUT_IDLE, Outcome.TIMEOUT_TOTAL, Outcome.INBAND_ERROR, Outcome.PROTOCOL_ERROR)
)  # fmt: skip
LONGEST_WAIT = 30.0  # seconds before a retry, whatever the server asks for
_SWEEP = 0.05  # seconds between looks at the timeouts
HOPELESS = 16  # failures in a row, none of which reached the endpoint, that end the calling


class CallerSettings(msgspec.Struct, kw_only=True, frozen=True):
    """Which model is called, and how."""

    url: str
    model: str | None = None  # None: the only one that the endpoint serves
    parallel: int = 8
    attempts: int = 4  # for each call
    timeout: float = 600.0  # seconds for one attempt
    backoff: float = 1.0  # seconds before the first retry; doubles with each
    stream: bool = False
    dialect: str = "openai-chat"
    api_key_env: str = "OPENAI_API_KEY"
    headers: dict[str, str] = {}
    verify_tls: bool = True


class Caller:
    """An endpoint, ready to be called.

    Raises:
        ConfigError: The settings can't be used, or the endpoint doesn't serve the model.
        UnreachableError: Nothing answers at the URL.
    """

    def __init__(self, settings: CallerSettings) -> None:
        for name in ("parallel", "attempts"):
            if getattr(settings, name) < 1:
                raise ConfigError("must be at least 1", where=name)
        self.settings = settings
        self._dialect = dialect(settings.dialect)
        self._target: Target = resolve(parse_url(settings.url, verify_tls=settings.verify_tls))
        self._headers = request_headers(settings, os.environ)
        self._redactor = Redactor.of(settings, os.environ)
        self.model = choose_model(look(self._target, self._headers, self._redactor), settings.model, self._target.url)
        self.redact = self._redactor.text
        path = self._target.base_path + self._dialect.default_path
        self._head = request_head("POST", path, self._target.host_header, dict(self._headers))
        self._unreached = 0

    def body(self, *, messages: list[dict[str, Any]], sampling: dict[str, Any], extra: dict[str, Any]) -> bytes:
        """A request's body."""
        return self._dialect.encode(
            messages=messages, sampling=sampling, extra=extra, model=self.model, stream=self.settings.stream
        )[1]

    def call(self, bodies: Sequence[bytes], told: Callable[[int, Decoded], None]) -> None:
        """Sends every body and tells what came back, by its place, as it comes.

        Raises:
            UnreachableError: The endpoint went away.
        """
        if bodies:
            with asyncio.Runner(loop_factory=new_loop) as runner:
                runner.run(self._call_all(bodies, told))

    async def _call_all(self, bodies: Sequence[bytes], told: Callable[[int, Decoded], None]) -> None:
        bound = int(self.settings.timeout * 1e9)
        client = Client(self._target, timeouts=Timeouts(connect=min(bound, 10_000_000_000), total=bound))
        places = iter(range(len(bodies)))

        async def work() -> None:
            for place in places:
                told(place, await self._one(client, bodies[place]))

        sweeper = asyncio.ensure_future(sweep(client))
        workers = [asyncio.ensure_future(work()) for _ in range(min(self.settings.parallel, len(bodies)))]
        try:
            await all_or_first_error(workers)
        finally:
            for task in (sweeper, *workers):
                task.cancel()
            client.close()
            await asyncio.gather(sweeper, *workers, return_exceptions=True)

    async def _one(self, client: Client, body: bytes) -> Decoded:
        attempt = 0
        while True:
            attempt += 1
            capture = Capture(
                leg_id=0,
                task_id=0,
                request=-1,
                dialect=self._dialect.name,
                streamed=self.settings.stream,
                kind="judge",
            )
            decoded = decode_capture(await client.send(capture, b"%s%d\r\n\r\n" % (self._head, len(body)), body))
            self._mind(decoded)
            if decoded.outcome.good or attempt == self.settings.attempts or not worth_retrying(decoded):
                return decoded
            await asyncio.sleep(wait_before(decoded, attempt, self.settings.backoff))

    def _mind(self, decoded: Decoded) -> None:
        """Counts failures that never reached the endpoint: so many in a row, and it is gone."""
        if decoded.outcome not in (Outcome.REFUSED, Outcome.TIMEOUT_CONNECT):
            self._unreached = 0
            return
        self._unreached += 1
        if self._unreached >= HOPELESS:
            raise UnreachableError(
                "The endpoint went away.",
                where=self._target.url,
                mend="Start it and call again: what was answered is kept.",
            )


def worth_retrying(decoded: Decoded) -> bool:
    """Whether another attempt could go better."""
    return decoded.outcome in RETRIED or decoded.http_status in RETRIED_STATUS


def wait_before(decoded: Decoded, attempt: int, backoff: float) -> float:
    """Seconds before the next attempt: what the server asks for, else doubling."""
    asked = decoded.retry_after
    if asked is not None and asked.strip().isdecimal():
        return min(float(asked), LONGEST_WAIT)
    return min(backoff * 2 ** (attempt - 1), LONGEST_WAIT)


async def sweep(client: Client) -> None:
    """Ends what runs into a timeout, until it is cancelled itself."""
    while True:
        await asyncio.sleep(_SWEEP)
        client.sweep()


async def all_or_first_error(tasks: Sequence[Awaitable[None]]) -> None:
    """Waits for all, or raises the first error."""
    for task in asyncio.as_completed(tasks):
        await task
