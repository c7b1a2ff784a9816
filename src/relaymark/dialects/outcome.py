"""From socket, framing, status and content to one outcome (design §4). Nothing is guessed; one table each.

Precedence, first match wins:

1. Nothing of an answer's headers arrived: the transport's own outcome (refused, a timeout, reset, …). A peer that
   closed or reset the connection before any byte is ``reset``, after some bytes of a header ``truncated``.
   Bytes that are not HTTP/1.1 are ``protocol_error``.
2. Status ≥ 300: ``http_error``, even if its body was cut: the status says more than how the body ended.
3. The answer itself reports a failure (error object, ``event: error``, finish reason "error"): ``inband_error``,
   however the transfer ended and even after [DONE].
4. The transfer failed before its end. If the answer had given its own end mark ([DONE], response.completed) every
   byte of it is here: the outcome is what the content says, with a warning. Otherwise the transport's outcome:
   ``truncated`` for a reset, a close or a missing last chunk, else the timeout, ``cancelled``, ``protocol_error``
   (broken framing, or above a size cap).
5. The transfer is whole: what the content says. A stream without finish reason and end mark is ``truncated``
   although HTTP saw nothing wrong; JSON errors, HTML, an empty body or broken events are ``protocol_error``.
"""

from __future__ import annotations

from enum import StrEnum

from relaymark.trace import Outcome, TransferEnd


class Finding(StrEnum):
    """What the content of a 2xx response turned out to be."""

    FINISHED = "finished"
    LENGTH = "length"  # stopped by the token limit
    UNFINISHED = "unfinished"  # a stream without finish reason and end mark
    INBAND = "inband"  # a stream that reports a failure
    WRONG = "wrong"  # not an answer of this API


OF_CONTENT = {
    Finding.FINISHED: Outcome.OK,
    Finding.LENGTH: Outcome.OK_LENGTH,
    Finding.UNFINISHED: Outcome.TRUNCATED,
    Finding.INBAND: Outcome.INBAND_ERROR,
    Finding.WRONG: Outcome.PROTOCOL_ERROR,
}

# What an unfinished transfer means once headers are here. COMPLETE: the wire took it for whole and the bytes say
# otherwise.
OF_TRANSFER = {
    TransferEnd.COMPLETE: Outcome.TRUNCATED,
    TransferEnd.EOF: Outcome.TRUNCATED,
    TransferEnd.RESET: Outcome.TRUNCATED,
    TransferEnd.REFUSED: Outcome.REFUSED,
    TransferEnd.BAD_FRAMING: Outcome.PROTOCOL_ERROR,
    TransferEnd.TOO_LARGE: Outcome.PROTOCOL_ERROR,
    TransferEnd.TIMEOUT_CONNECT: Outcome.TIMEOUT_CONNECT,
    TransferEnd.TIMEOUT_FIRST_BYTE: Outcome.TIMEOUT_FIRST_BYTE,
    TransferEnd.TIMEOUT_IDLE: Outcome.TIMEOUT_IDLE,
    TransferEnd.TIMEOUT_TOTAL: Outcome.TIMEOUT_TOTAL,
    TransferEnd.CANCELLED: Outcome.CANCELLED,
    TransferEnd.CLIENT_ERROR: Outcome.CLIENT_ERROR,
}

# The same when not a single byte of a response came.
OF_SILENCE = OF_TRANSFER | {
    TransferEnd.COMPLETE: Outcome.RESET,
    TransferEnd.EOF: Outcome.RESET,
    TransferEnd.RESET: Outcome.RESET,
}

IN_WORDS = {
    TransferEnd.COMPLETE: "ended before the response was whole",
    TransferEnd.EOF: "was closed by the server before the response was whole",
    TransferEnd.RESET: "was reset by the server",
    TransferEnd.REFUSED: "was refused",
    TransferEnd.BAD_FRAMING: "carried bytes that are not HTTP/1.1",
    TransferEnd.TOO_LARGE: "carried more than the size cap allows",
    TransferEnd.TIMEOUT_CONNECT: "timed out while connecting",
    TransferEnd.TIMEOUT_FIRST_BYTE: "timed out waiting for the first byte",
    TransferEnd.TIMEOUT_IDLE: "timed out waiting for the next byte",
    TransferEnd.TIMEOUT_TOTAL: "took longer than the total time allowed",
    TransferEnd.CANCELLED: "was cancelled by us",
    TransferEnd.CLIENT_ERROR: "could not be made by this machine",
}


def classify(
    *,
    end: TransferEnd,
    any_bytes: bool,
    status: int | None,
    whole: bool,
    finding: Finding | None,
    end_mark: bool,
) -> Outcome:
    """The outcome of one attempt; the module's docstring states the precedence.

    Args:
        end: How the transfer ended; BAD_FRAMING or TOO_LARGE if the bytes say so, whatever the socket did.
        any_bytes: At least one byte of a response arrived.
        status: The final status, ``None`` if the headers never ended.
        whole: The framing's end was reached (or a close ended a body that only a close can end).
        finding: What a 2xx body turned out to be; ``None`` otherwise.
        end_mark: The answer's own end mark was seen.
    """
    if status is None:
        return (OF_TRANSFER if any_bytes else OF_SILENCE)[end]
    if status >= 300:
        return Outcome.HTTP_ERROR
    if finding is Finding.INBAND:
        return Outcome.INBAND_ERROR
    if finding is None or not (whole or end_mark):
        return OF_TRANSFER[end]
    return OF_CONTENT[finding]
