"""One request outside any measurement: the look at an endpoint before a run, and ``probe``."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from relaymark.dialects import ParsedResponse, parse_response
from relaymark.relay.plan import request_head
from relaymark.relay.redaction import Redactor
from relaymark.trace import Capture, TransferEnd
from relaymark.wire import Client, Limits, Target, Timeouts, new_loop

_CONNECTION_ENDS = (TransferEnd.REFUSED, TransferEnd.TIMEOUT_CONNECT, TransferEnd.CLIENT_ERROR)


class Reply:
    """What came back: the capture with its stamps, and the parsed HTTP response."""

    def __init__(self, capture: Capture, response: ParsedResponse) -> None:
        self.capture = capture
        self.response = response

    @property
    def reached(self) -> bool:
        """False when no connection came about."""
        return self.capture.end not in _CONNECTION_ENDS

    @property
    def status(self) -> int | None:
        """The HTTP status; ``None`` when no response head arrived."""
        return self.response.status


async def send_swept(client: Client, capture: Capture, head: bytes, body: bytes) -> Capture:
    """Sends one request where no worker's tick watches the timeouts; ``head`` ends with the name of Content-Length."""
    sending = asyncio.ensure_future(client.send(capture, b"%s%d\r\n\r\n" % (head, len(body)), body))
    while not sending.done():
        await asyncio.wait({sending}, timeout=0.05)
        client.sweep()
    return sending.result()


def ask(
    target: Target,
    method: str,
    path: str,
    headers: Mapping[str, str],
    body: bytes = b"",
    *,
    dialect: str = "openai-chat",
    streamed: bool = False,
    seconds: float = 30.0,
    redactor: Redactor | None = None,
) -> Reply:
    """Sends one request on a connection of its own and waits at most ``seconds`` for all of the answer.

    ``redactor`` blanks the secrets that the answer may echo.

    Never raises for what a peer did; see ``Reply.reached`` and ``Reply.capture.end``.
    """
    capture = Capture(leg_id=0, task_id=0, request=-1, dialect=dialect, streamed=streamed)
    bound = int(seconds * 1e9)
    limits = Limits()

    async def go() -> Capture:
        timeouts = Timeouts(connect=min(bound, 10_000_000_000), total=bound)
        client = Client(target, timeouts=timeouts, limits=limits, keep_alive=False)
        head = request_head(method, target.base_path + path, target.host_header, dict(headers))
        try:
            return await send_swept(client, capture, head, body)
        finally:
            client.close()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        sealed = runner.run(go())
    if redactor is not None:
        redactor.capture(sealed)
    sizes = memoryview(sealed.sizes).cast("I")
    return Reply(sealed, parse_response(sealed.raw, list(sizes), max_header=limits.header, max_body=limits.body))
