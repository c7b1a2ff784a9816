"""Fuzz target: the decoder of captures. Any bytes as the answer of any API give an outcome, never an exception."""

from __future__ import annotations

import contextlib
import sys
from array import array

from relaymark.trace import Capture, Outcome, TransferEnd

try:
    import atheris
except ImportError:  # the targets themselves need none: tests/test_fuzz.py calls them
    atheris = None

# Only what is fuzzed is instrumented: all of Python would take half a minute.
watched = atheris.instrument_imports(include=["relaymark.dialects"]) if atheris else contextlib.nullcontext()
with watched:
    from relaymark.dialects import DIALECTS, decode_capture

MAX_BODY = 1 << 18
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
_ENDS = tuple(TransferEnd)


def target(data: bytes) -> None:
    """One input: its first four bytes choose the API, streaming, how the transfer ended and the split."""
    if len(data) < 4:
        return
    choice, flags, end, step = data[0], data[1], data[2], data[3] % 97 + 1
    raw = data[4:] if flags & 2 else _HEAD + data[4:]
    sizes = [min(step, len(raw) - at) for at in range(0, len(raw), step)]
    capture = Capture(
        leg_id=1,
        task_id=1,
        request=0,
        dialect=DIALECTS[choice % len(DIALECTS)],
        streamed=bool(flags & 1),
        end=_ENDS[end % len(_ENDS)],
        sizes=array("I", sizes).tobytes(),
        raw=raw,
    )
    decoded = decode_capture(capture, MAX_BODY)
    if not isinstance(decoded.outcome, Outcome):
        raise AssertionError("no outcome")
    if any(not 0 <= delta.read < len(sizes) for delta in decoded.deltas):
        raise AssertionError("an event of a read that never was")


if __name__ == "__main__":
    atheris.Setup(sys.argv, target)
    atheris.Fuzz()
