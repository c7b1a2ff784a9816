"""Event streams (WHATWG HTML §9.2.6), parsed from captured bytes; each event knows the read that completed it.

An event is complete with the byte that ends its blank line: with CRLF line ends that is the CR, whatever the next
read brings. Data stays bytes: it is text only as a whole event, so a character split over reads never breaks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, islice

import msgspec

from relaymark.dialects.content import Segment
from relaymark.dialects.repeating import Repeating

_BOM = b"\xef\xbb\xbf"
_WINDOW = 1 << 20  # bytes split at once
_LINE_END = re.compile(rb"\r\n|\n|\r")


class Event(msgspec.Struct, gc=False):
    """One dispatched event. ``event`` is empty for the default type, ``id`` the last one seen, ``retry`` in ms."""

    read: int
    data: bytes
    event: str = ""
    id: str = ""
    retry: int | None = None


class EventReader:
    """Iterates over the events of a decoded body, once; any bytes, never raises.

    Events are made as they are asked for, since a hostile body may hold millions. After the last one, ``leftover``
    is the event with data whose blank line never came, if any: by the spec it is not dispatched.

    ``repeating`` may be set between two events: it takes the events that follow its pattern, which are then left out.
    """

    def __init__(self, segments: Sequence[Segment]) -> None:
        pieces = [piece for _, piece in segments]
        self._body = b"".join(pieces)
        self._reads = [read for read, _ in segments]
        self._ends = list(accumulate(map(len, pieces)))
        self._start = 3 if self._body.startswith(_BOM) else 0
        self.leftover: Event | None = None
        self.repeating: Repeating | None = None

    def __iter__(self) -> Iterator[Event]:
        body = self._body
        if not body:
            return iter(())
        if b"\r" not in body:
            return self._split_blocks(b"\n")
        if body.count(b"\r") == body.count(b"\n") == body.count(b"\r\n"):
            return self._split_blocks(b"\r\n")
        return self._split_lines()

    def _split_blocks(self, eol: bytes) -> Iterator[Event]:
        """A body in which every line ends with ``eol``: blank lines are found without looking at the others."""
        body, reads, ends = self._body, self._reads, self._ends
        blank = eol + eol
        width = len(eol)
        skip = 2 * width
        pos = self._start
        last_id = ""
        segment = 0
        segment_end = ends[0]
        last = False
        while not last:
            # A window ends with the first blank line after its size is reached.
            stop = body.find(blank, pos + _WINDOW)
            last = stop < 0
            window = body[pos:] if last else body[pos : stop + skip]
            *blocks, rest = window.split(blank)
            place = 0
            while place < len(blocks):
                block = blocks[place]
                place += 1
                pos += len(block) + skip
                # The first byte of the blank line's end completes the event.
                while segment_end <= pos - width:
                    segment += 1
                    segment_end = ends[segment]
                if block.startswith(b"data: ") and eol not in block:
                    yield Event(reads[segment], block[6:], "", last_id)
                    if self.repeating is None or not (texts := self.repeating.texts(islice(blocks, place, None))):
                        continue
                    completed: list[int] = []
                    for block in blocks[place : place + len(texts)]:
                        pos += len(block) + skip
                        while segment_end <= pos - width:
                            segment += 1
                            segment_end = ends[segment]
                        completed.append(reads[segment])
                    self.repeating.give(texts, completed)
                    place += len(texts)
                    continue
                event, last_id = _event(_lines(block), reads[segment], last_id)
                if event:
                    yield event
            if last and rest:
                self.leftover, _ = _event(_lines(rest), reads[-1], last_id)

    def _split_lines(self) -> Iterator[Event]:
        """A body with mixed or lone-CR line ends: line by line."""
        body, reads, ends = self._body, self._reads, self._ends
        last_id = ""
        segment = 0
        pos = begin = self._start
        for terminator in _LINE_END.finditer(body, pos):
            stop = terminator.start()
            if stop == pos:
                if pos > begin:
                    while ends[segment] <= stop:
                        segment += 1
                    event, last_id = _event(_lines(body[begin:pos]), reads[segment], last_id)
                    if event:
                        yield event
                begin = terminator.end()
            pos = terminator.end()
        self.leftover, _ = _event(_lines(body[begin:]), reads[-1], last_id)


class EventStream(msgspec.Struct):
    """All events of a body, and the unfinished one."""

    events: list[Event]
    leftover: Event | None = None


def parse_events(segments: Sequence[Segment]) -> EventStream:
    """All events of a decoded body at once; see ``EventReader``."""
    reader = EventReader(segments)
    return EventStream(list(reader), reader.leftover)


def _lines(block: bytes) -> Iterable[bytes]:
    """Lines of a block by any line end; one by one where a hostile block could hold millions."""
    if len(block) < 1 << 16:
        return _LINE_END.split(block)
    return _each_line(block)


def _each_line(block: bytes) -> Iterator[bytes]:
    pos = 0
    for terminator in _LINE_END.finditer(block):
        yield block[pos : terminator.start()]
        pos = terminator.end()
    yield block[pos:]


def _event(lines: Iterable[bytes], read: int, last_id: str) -> tuple[Event | None, str]:
    """The event that ``lines`` make, if any, and the last event id after them."""
    data: bytearray | None = None
    kind = b""
    retry: int | None = None
    for line in lines:
        # "a:b", "a: b" and plain "a"; a line that starts with a colon is a comment, with an empty name here.
        name, _, value = line.partition(b":")
        if value[:1] == b" ":
            value = value[1:]
        if name == b"data":
            if data is None:
                data = bytearray(value)
            else:
                data += b"\n"
                data += value
        elif name == b"event":
            kind = value
        elif name == b"id":
            if b"\0" not in value:
                last_id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit() and len(value) < 16:
            retry = int(value)
    if data is None:
        return None, last_id
    return Event(read, bytes(data), kind.decode("utf-8", "replace"), last_id, retry), last_id
