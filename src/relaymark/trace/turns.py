"""What a model said at each turn of a conversation, and what had been recorded: two files in a run's folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

TURNS_FILE = "turns.jsonl"
RECORDED_FILE = "recorded.jsonl"
_MAX_LINE = 64 << 20


class SaidCall(msgspec.Struct, array_like=True, frozen=True):
    """A tool call: its name and the text of its arguments, maybe not JSON."""

    name: str
    arguments: str


class TurnSaid(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One turn as it was answered; untrusted texts."""

    stage: int
    session: str
    conversation: str
    turn: int  # from 1
    outcome: str
    warmup: bool = False
    content: str | None = None
    reasoning: str | None = None
    calls: list[SaidCall] = []


class TurnRecorded(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The recorded answer to a turn."""

    conversation: str
    turn: int
    content: str | None = None
    reasoning: str | None = None
    calls: list[SaidCall] = []
    intents: list[str] = []


_encode = msgspec.json.Encoder().encode
_Line = TypeVar("_Line", TurnSaid, TurnRecorded)


def turn_line(turn: TurnSaid) -> bytes:
    """A line of the file. Half a surrogate pair, which JSON can smuggle in, becomes a question mark."""
    try:
        return _encode(turn) + b"\n"
    except UnicodeEncodeError:
        whole = msgspec.structs.replace(
            turn,
            content=turn.content and _whole(turn.content),
            reasoning=turn.reasoning and _whole(turn.reasoning),
            calls=[SaidCall(_whole(call.name), _whole(call.arguments)) for call in turn.calls],
        )
        return _encode(whole) + b"\n"


def _whole(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def write_recorded(folder: Path, turns: Iterable[TurnRecorded]) -> None:
    """Writes what had been recorded."""
    with (folder / RECORDED_FILE).open("wb") as file:
        for turn in turns:
            file.write(_encode(turn) + b"\n")


def read_said(folder: Path) -> Iterator[TurnSaid]:
    """What was said, in the order it came; lines that were torn by a kill are left out."""
    return _read(folder / TURNS_FILE, TurnSaid)


def read_recorded(folder: Path) -> Iterator[TurnRecorded]:
    """What had been recorded."""
    return _read(folder / RECORDED_FILE, TurnRecorded)


def _read(path: Path, kind: type[_Line]) -> Iterator[_Line]:
    if not path.is_file():
        return
    decode = msgspec.json.Decoder(kind).decode
    with path.open("rb") as file:
        while line := file.readline(_MAX_LINE):
            try:
                yield decode(line)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                continue
