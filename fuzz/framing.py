"""Fuzz target: the HTTP/1.1 framer. Any bytes, split anywhere, must end at the same place with the same verdict."""

from __future__ import annotations

import contextlib
import sys

try:
    import atheris
except ImportError:  # the targets themselves need none: tests/test_fuzz.py calls them
    atheris = None

# Only what is fuzzed is instrumented: all of Python would take half a minute.
watched = atheris.instrument_imports(include=["relaymark.dialects"]) if atheris else contextlib.nullcontext()
with watched:
    from relaymark.dialects.http1 import NEED_MORE, ResponseFramer

MAX_HEADER = 4096
MAX_BODY = 1 << 16


def frame(pieces: list[bytes]) -> tuple[int, int | None, int]:
    """Verdict, status, and how many bytes belong to the response; feeds until the framer has decided."""
    framer = ResponseFramer(MAX_HEADER, MAX_BODY)
    taken = 0
    for piece in pieces:
        code = framer.feed(piece)
        taken += len(piece)
        if code != NEED_MORE:
            return code, framer.status, taken - framer.trailing if code > 0 else -1
    return NEED_MORE, framer.status, -1


def target(data: bytes) -> None:
    """One input: its first byte says how the rest is split."""
    if not data:
        return
    step, raw = data[0] % 61 + 1, data[1:]
    whole = frame([raw])
    split = frame([raw[at : at + step] for at in range(0, len(raw), step)])
    if whole[0] >= 0 and whole != split:
        raise AssertionError(f"whole {whole}, in pieces of {step}: {split}")
    if whole[0] < 0 and split[0] > 0 and whole[0] != split[0]:
        # An error beyond the end of a response is found only by who reads that far; the other way round is a fault.
        raise AssertionError(f"an error when read whole ({whole}), good in pieces ({split})")


if __name__ == "__main__":
    atheris.Setup(sys.argv, target)
    atheris.Fuzz()
