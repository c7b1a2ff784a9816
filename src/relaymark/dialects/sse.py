"""Event streams (WHATWG HTML §9.2.6), parsed from captured bytes; each event knows the read that completed it.

An event is complete with the byte that ends its blank line: with CRLF line ends that is the CR, whatever the next
read brings. Data stays bytes: it is text only as a whole event, so a character split over reads never breaks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate

import msgspec

from relaymark.dialects.content import Segment

_BOM = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n|\n|\r")


class Event(msgspec.Struct, gc=False):
    """One dispatched event. ``event`` is empty for the default type, ``id`` the last one seen, ``retry`` in ms."""

    read: int
    data: bytes
    event: str = ""
    id: str = ""
    retry: int | None = None


class EventStream(msgspec.Struct):
    """Events in order. ``leftover`` is an event with data whose blank line never came: by the spec not dispatched."""

    events: list[Event]
    leftover: Event | None = None


def parse_events(segments: Sequence[Segment]) -> EventStream:
    """Split a decoded body into events. Takes any bytes; never raises."""
    if not segments:
        return EventStream([])
    pieces = [piece for _, piece in segments]
    body = b"".join(pieces)
    reads = [read for read, _ in segments]
    ends = list(accumulate(map(len, pieces)))
    start = 3 if body.startswith(_BOM) else 0
    returns = body.count(b"\r")
    if not returns:
        return _split_blocks(body, start, b"\n", reads, ends)
    if returns == body.count(b"\n") == body.count(b"\r\n"):
        return _split_blocks(body, start, b"\r\n", reads, ends)
    return _split_lines(body, start, reads, ends)


def _split_blocks(body: bytes, start: int, eol: bytes, reads: list[int], ends: list[int]) -> EventStream:
    """A body in which every line ends with ``eol``: blank lines are found without looking at the others."""
    events: list[Event] = []
    append = events.append
    find = body.find
    blank = eol + eol
    width = len(eol)
    skip = 2 * width
    pos = start
    last_id = ""
    segment = 0
    segment_end = ends[0]
    while (stop := find(blank, pos)) >= 0:
        done = stop + width + 1
        while segment_end < done:
            segment += 1
            segment_end = ends[segment]
        block = body[pos:stop]
        pos = stop + skip
        if block[:6] == b"data: " and eol not in block:
            append(Event(reads[segment], block[6:], "", last_id))
            continue
        event, last_id = _event(block.split(eol), reads[segment], last_id)
        if event:
            append(event)
    rest = body[pos:]
    # A blank line right at the front of the rest ends nothing: the event before it was dispatched by two line ends.
    leftover, _ = _event(rest.split(eol), reads[-1], last_id) if rest else (None, "")
    return EventStream(events, leftover)


def _split_lines(body: bytes, start: int, reads: list[int], ends: list[int]) -> EventStream:
    """A body with mixed or lone-CR line ends: line by line."""
    events: list[Event] = []
    lines: list[bytes] = []
    last_id = ""
    segment = 0
    pos = start
    for terminator in _LINE_END.finditer(body, start):
        stop = terminator.start()
        if stop > pos:
            lines.append(body[pos:stop])
        elif lines:
            while ends[segment] <= stop:
                segment += 1
            event, last_id = _event(lines, reads[segment], last_id)
            lines = []
            if event:
                events.append(event)
        pos = terminator.end()
    lines.append(body[pos:])
    leftover, _ = _event(lines, reads[-1], last_id)
    return EventStream(events, leftover)


def _event(lines: list[bytes], read: int, last_id: str) -> tuple[Event | None, str]:
    """The event that ``lines`` make, if any, and the last event id after them."""
    data: list[bytes] = []
    kind = b""
    retry: int | None = None
    for line in lines:
        # "a:b", "a: b" and plain "a"; a line that starts with a colon is a comment, with an empty name here.
        name, _, value = line.partition(b":")
        if value[:1] == b" ":
            value = value[1:]
        if name == b"data":
            data.append(value)
        elif name == b"event":
            kind = value
        elif name == b"id":
            if b"\0" not in value:
                last_id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit() and len(value) < 16:
            retry = int(value)
    if not data:
        return None, last_id
    return Event(read, b"\n".join(data), kind.decode("utf-8", "replace"), last_id, retry), last_id
