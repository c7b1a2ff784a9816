"""Recorded conversations ready to be sent: the messages of each as JSON once, and where in them every turn ends.

The prompt of a turn begins with the whole prompt of the turn before. A conversation is therefore kept as one run of
messages, ``sessions.pack``, and a request is its beginning between a head and a tail: 1,007 requests of 46 MB come to
2 MB on the disk, and sending one copies its bytes once.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from relaymark.data.trajectories import Trajectory, Turn, answered, incoming

PACK_FILE = "sessions.pack"
INDEX_FILE = "sessions.idx"
_encode = msgspec.json.Encoder().encode


class PackedTurn(msgspec.Struct, array_like=True, frozen=True):
    """One turn: where in the conversation's messages its prompt ends, and what it waits for."""

    end: int  # bytes
    role: str  # user | tool
    delay_ns: int  # recorded; -1 where it was not
    head: int  # which of the stage's request heads it takes
    recorded: bool  # whether there is an answer to compare with


class PackedSession(msgspec.Struct, array_like=True, frozen=True):
    """One conversation. ``begin`` and ``size`` are bytes in the pack; ``system`` stands in no message there."""

    id: str
    system: str
    begin: int
    size: int
    turns: list[PackedTurn]


class Heads(msgspec.Struct, array_like=True, frozen=True):
    """Request bodies up to the messages, and from behind them, of one stage."""

    before: list[bytes]
    after: list[bytes]


class Index(msgspec.Struct, frozen=True):
    """``sessions.idx``."""

    sessions: list[PackedSession]
    heads: dict[int, Heads]  # by stage


def write_sessions(
    folder: Path, trajectories: Iterable[Trajectory], heads: dict[int, Heads], which: dict[str, int]
) -> str:
    """Writes pack and index; returns the SHA-256 (hex) of all that decides what is sent.

    Args:
        folder: The run's.
        trajectories: In the order in which they are taken.
        heads: By stage; see :func:`head_key` for which a turn takes.
        which: Key of a head → its place.
    """
    sessions: list[PackedSession] = []
    digest = sha256()
    begin = 0
    with (folder / PACK_FILE).open("wb") as file:
        for trajectory in trajectories:
            blob, ends = _joined(trajectory.turns)
            file.write(blob)
            digest.update(f"{trajectory.id}\0{trajectory.system}\0{len(blob)}\0".encode())
            digest.update(blob)
            turns = [
                PackedTurn(
                    end,
                    turn.role,
                    -1 if turn.delay is None else round(turn.delay * 1e9),
                    which[head_key(trajectory, turn)],
                    turn.reply is not None,
                )
                for turn, end in zip(trajectory.turns, ends, strict=True)
            ]
            sessions.append(PackedSession(trajectory.id, trajectory.system, begin, len(blob), turns))
            begin += len(blob)
    for stage in sorted(heads):
        for before, after in zip(heads[stage].before, heads[stage].after, strict=True):
            digest.update(before + b"\0" + after + b"\0")
    (folder / INDEX_FILE).write_bytes(msgspec.msgpack.encode(Index(sessions, heads)))
    return digest.hexdigest()


def head_key(trajectory: Trajectory, turn: Turn) -> str:
    """What decides a turn's request beside its messages: the tools, and the fields that its row or the first sets."""
    return _encode([trajectory.tools, {**trajectory.turns[0].overrides, **turn.overrides}]).decode()


def _joined(turns: Sequence[Turn]) -> tuple[bytes, list[int]]:
    pieces: list[bytes] = []
    ends: list[int] = []
    size = -1  # no comma before the first
    for turn in turns:
        for message in incoming(turn):
            pieces.append(_encode(message))
            size += len(pieces[-1]) + 1
        ends.append(size)
        if turn.reply is not None:
            pieces.append(_encode(answered(turn.reply)))
            size += len(pieces[-1]) + 1
    return b",".join(pieces), ends


class Sessions:
    """Read access for a worker."""

    def __init__(self, folder: Path) -> None:
        index = msgspec.msgpack.decode((folder / INDEX_FILE).read_bytes(), type=Index)
        self._heads = index.heads
        self._pack = os.open(folder / PACK_FILE, os.O_RDONLY | os.O_CLOEXEC)
        self.all = index.sessions

    def close(self) -> None:
        """Closes the pack."""
        if self._pack >= 0:
            os.close(self._pack)
            self._pack = -1

    def messages(self, session: PackedSession) -> memoryview:
        """All messages of a conversation but the system's, joined."""
        return memoryview(os.pread(self._pack, session.size, session.begin))

    def body(self, stage: int, turn: PackedTurn, system: bytes, messages: memoryview) -> bytes:
        """The request of a turn. ``system`` is the system's message with a comma behind it, or empty."""
        heads = self._heads[stage]
        return b"".join((heads.before[turn.head], system, messages[: turn.end], heads.after[turn.head]))


def system_message(text: str) -> bytes:
    """The message that stands first, with a comma behind it; nothing where there is none."""
    return _encode({"role": "system", "content": text}) + b"," if text else b""


def heads_of(bodies: Sequence[bytes]) -> Heads:
    """Splits requests without messages at the place where those go."""
    mark = b'"messages":[]'
    before, after = [], []
    for body in bodies:
        place = body.index(mark) + len(mark) - 1
        before.append(body[:place])
        after.append(body[place:])
    return Heads(before, after)


def recorded_fields(trajectory: Trajectory, turn: Turn) -> dict[str, Any]:
    """The request fields that the file sets for a turn, under the API's own names."""
    told = {**trajectory.turns[0].overrides, **turn.overrides}
    if "max_new_tokens" in told:
        told["max_completion_tokens"] = told.pop("max_new_tokens")
    if trajectory.tools:
        told["tools"] = list(trajectory.tools)
    return told
