"""The kinds of records in a run's journals, and their codecs."""

from __future__ import annotations

from typing import Final

import msgspec

from relaymark.trace import Capture, Heartbeat, Leg
from relaymark.trace.turns import TurnSaid

CAPTURE: Final = 1  # worker → decoder
HEARTBEAT: Final = 2  # worker → decoder → merge
LEG: Final = 3  # decoder → merge
CONTENT: Final = 4  # decoder → merge
COMMIT: Final = 5  # decoder → merge and its own successor: how far the worker's journal is decoded
SAID: Final = 7  # decoder → merge: what a model said at a turn of a conversation
RESUME: Final = 6  # a decoder's first record: what its predecessor had not committed is void


class Content(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A stored answer, by the hash that legs refer to it with."""

    ref: str
    texts: list[str] = msgspec.field(default_factory=list[str])
    reasonings: list[str] = msgspec.field(default_factory=list[str])
    tool_calls: list[dict[str, str | int | None]] = msgspec.field(default_factory=list[dict[str, str | int | None]])


class Commit(msgspec.Struct, array_like=True):
    """Position in the worker's journal up to which everything before this record is decoded."""

    segment: int
    offset: int
    torn: int


encode = msgspec.msgpack.Encoder().encode
decode_capture = msgspec.msgpack.Decoder(Capture).decode
decode_heartbeat = msgspec.msgpack.Decoder(Heartbeat).decode
decode_leg = msgspec.msgpack.Decoder(Leg).decode
decode_content = msgspec.msgpack.Decoder(Content).decode
decode_said = msgspec.msgpack.Decoder(TurnSaid).decode
decode_commit = msgspec.msgpack.Decoder(Commit).decode


def worker_stem(worker: int) -> str:
    """Name of a worker's journal."""
    return f"worker-{worker}"


def legs_stem(worker: int) -> str:
    """Name of the journal its decoder writes."""
    return f"legs-{worker}"
