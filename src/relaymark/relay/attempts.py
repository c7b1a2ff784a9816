"""One leg with its retries: which outcomes are tried again, after how long, and what of it is kept."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from random import Random

import msgspec

from relaymark.dialects import Decoded, decode_capture
from relaymark.relay.context import Context
from relaymark.relay.policies import Retries
from relaymark.trace import Capture, Outcome, TransferEnd
from relaymark.wire import Client

_LONGEST_WAIT_NS = 24 * 3600 * 1_000_000_000


async def send_leg(context: Context, capture: Capture, body: bytes | memoryview) -> None:
    """Sends one leg of whose answer nothing is needed, again as the plan's policy says, and journals every attempt.

    All attempts share the leg's id; ``attempt`` counts from 1, ``final`` marks the last, ``first_sent`` is when the
    first one went, so that the last attempt's latency and the whole leg's can both be told.

    Raises:
        OSError: The journal cannot be written.
    """
    head = b"%s%d\r\n\r\n" % (context.head, len(body))
    if context.plan.retries.attempts == 1:
        context.keep_soon(await context.client.exchange(capture, head, body))
        return
    await converse(context, context.client, head, capture, body)


async def converse(
    context: Context,
    client: Client,
    head: bytes,
    capture: Capture,
    body: bytes | memoryview,
    policy: Retries | None = None,
) -> tuple[Capture, Decoded]:
    """The same for a leg whose answer the task goes on with; the last attempt and what it said.

    Args:
        context: The worker's journal and plan.
        client: Of the endpoint that is asked.
        head: The request's head, whole.
        capture: Identity of the leg; stamps and bytes are written here and in copies of it.
        body: The request's body.
        policy: What is tried again; the plan's by default.
    """
    policy = policy or context.plan.retries
    blank = msgspec.structs.replace(capture) if policy.attempts > 1 else capture
    while True:
        done = await client.send(capture, head, body)
        done.first_sent = done.first_sent or done.sent
        decoded = decode_capture(done, context.plan.max_body)
        if done.attempt >= policy.attempts or context.cancelled or not worth_another(decoded, policy):
            break
        done.final = False
        context.keep(done)
        draw = Random(f"{context.plan.seed}/{done.task_id}/{done.role}/{done.turn}/{done.attempt}")  # noqa: S311 - repeatable, not secret
        slept = await context.sleep(wait_ns(decoded, policy, done.attempt, draw, datetime.now(UTC)))
        capture = msgspec.structs.replace(blank, attempt=done.attempt + 1, first_sent=done.first_sent)
        if not slept:
            # The run was cancelled in the pause: the leg ends with an attempt that never went out.
            capture.started = capture.ended = time.monotonic_ns()
            capture.end, capture.error = TransferEnd.CANCELLED, "cancelled while waiting to try again"
            done, decoded = capture, decode_capture(capture, context.plan.max_body)
            break
    context.keep(done)
    return done, decoded


def worth_another(decoded: Decoded, policy: Retries) -> bool:
    """Whether an outcome is one that the policy tries again."""
    if decoded.outcome.good or decoded.outcome not in policy.on:
        return False
    return decoded.outcome is not Outcome.HTTP_ERROR or decoded.http_status in policy.statuses


def wait_ns(decoded: Decoded, policy: Retries, attempt: int, draw: Random, now: datetime) -> int:
    """How long to wait after failed attempt ``attempt`` (from 1), in ns.

    Retry-After wins where the server sent one that can be read and the policy honours it (RFC 9110 §10.2.3: seconds or
    a date). Else the n-th wait is ``backoff``·2ⁿ⁻¹, at most ``backoff_max``, less a random share of up to ``jitter``.
    """
    if policy.honour_retry_after and decoded.retry_after is not None:
        asked = retry_after_ns(decoded.retry_after, now)
        if asked is not None:
            return asked
    backoff = min(policy.backoff_ns << (attempt - 1), policy.backoff_max_ns)
    return int(backoff * (1 - policy.jitter * draw.random()))


def retry_after_ns(text: str, now: datetime) -> int | None:
    """Retry-After as ns from ``now``, at most a day; ``None`` when it is neither seconds nor a date."""
    text = text.strip()
    if text.isascii() and text.isdigit():
        return min(int(text[:12]) * 1_000_000_000, _LONGEST_WAIT_NS)
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return min(max(0, int((at - now).total_seconds() * 1e9)), _LONGEST_WAIT_NS)
