"""Event streams: the rules one by one, and every split."""

from __future__ import annotations

import pytest
from dialect_captures import cut
from hypothesis import given, settings
from hypothesis import strategies as st

from relaymark.dialects import Event, parse_events

FAST = settings(deadline=None, max_examples=200)


def events_of(*reads: bytes) -> list[tuple[int, bytes]]:
    return [(event.read, event.data) for event in parse_events(list(enumerate(reads))).events]


@pytest.mark.parametrize(
    ("body", "data"),
    [
        (b"data: a\n\n", [b"a"]),
        (b"data:a\n\n", [b"a"]),
        (b"data:  a\n\n", [b" a"]),
        (b"data: a\r\n\r\n", [b"a"]),
        (b"data: a\r\r", [b"a"]),
        (b"data: a\n\r\n", [b"a"]),
        (b"data: a\r\ndata: b\n\rdata: c\n\n", [b"a\nb", b"c"]),
        (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
        (b"data: \xef\xbb\xbfa\n\n", [b"\xef\xbb\xbfa"]),
        (b": comment\n\ndata: a\n\n", [b"a"]),
        (b": c\ndata: a\n: c\n\n", [b"a"]),
        (b"data: a\ndata: b\n\n", [b"a\nb"]),
        (b"data\n\n", [b""]),
        (b"data:\n\n", [b""]),
        (b"data\ndata\n\n", [b"\n"]),
        (b"event: ping\n\n", []),
        (b"Data: a\n\n", []),
        (b" data: a\n\n", []),
        (b"\n\n\ndata: a\n\n\n\ndata: b\n\n", [b"a", b"b"]),
        ("data: a\u2028b\u0085c\n\n".encode(), ["a\u2028b\u0085c".encode()]),
        (b"data: a\x0bb\x0cc\x1cd\n\n", [b"a\x0bb\x0cc\x1cd"]),
        (b"data: a\n", []),
        (b"", []),
    ],
)
def test_rules(body: bytes, data: list[bytes]) -> None:
    assert [text for _, text in events_of(body)] == data


def test_fields() -> None:
    body = b"id: 1\nevent: error\nretry: 100\ndata: a\n\nid: 2\0\nretry: x\ndata: b\n\nid\ndata: c\n\ndata: d\n\n"
    assert parse_events([(0, body)]).events == [
        Event(0, b"a", "error", "1", 100),
        Event(0, b"b", "", "1", None),
        Event(0, b"c", "", "", None),
        Event(0, b"d", "", "", None),
    ]


def test_the_completing_read_is_the_one_with_the_blank_line() -> None:
    assert events_of(b"data: a\n", b"\n", b"data: b\n\ndata: ", b"c\n\n") == [(1, b"a"), (2, b"b"), (3, b"c")]
    # A CR ends the blank line, whatever comes next.
    assert events_of(b"data: a\r\n\r", b"\ndata: b\r\n", b"\r\n") == [(0, b"a"), (2, b"b")]
    assert events_of(b"data: a\r", b"\r", b"data: b\r\r") == [(1, b"a"), (2, b"b")]


def test_leftover() -> None:
    assert parse_events([(0, b"data: a\n\ndata: b\n")]).leftover == Event(0, b"b")
    assert parse_events([(0, b"data: a\r\n\r\nda"), (1, b"ta: b")]).leftover == Event(1, b"b")
    assert parse_events([(0, b"data: a\n\n: c")]).leftover is None
    assert parse_events([(0, b"data: a\n\n")]).leftover is None


lines = st.sampled_from(
    [b"data: x", b"data:y", b"data", b": c", b"event: e", b"id: 7", "data: 日".encode(), b"", b"", b"junk"]
)
bodies = st.lists(st.tuples(lines, st.sampled_from([b"\n", b"\r\n", b"\r"])), max_size=20)


@FAST
@given(bodies, st.booleans(), st.lists(st.integers(0, 150), max_size=10))
def test_any_split_and_any_line_end_give_the_same_events(
    parts: list[tuple[bytes, bytes]], uniform: bool, places: list[int]
) -> None:
    if uniform and parts:
        parts = [(line, parts[0][1]) for line, _ in parts]
    body = b"".join(line + end for line, end in parts)
    # LF after a lone CR would be read as one CRLF; the oracle takes the lines as they come out of the bytes.
    lines = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")[:-1]
    expected: list[bytes] = []
    data: list[bytes] = []
    for line in lines:
        if line:
            name, _, value = line.partition(b":")
            if name == b"data":
                data.append(value.removeprefix(b" "))
        else:
            if data:
                expected.append(b"\n".join(data))
            data = []
    reads = cut(body, places)
    got = parse_events(list(enumerate(reads)))
    assert [event.data for event in got.events] == expected
    assert (got.leftover.data if got.leftover else None) == (b"\n".join(data) if data else None)
    # Each event is there with its read and not before: dropping the reads after it keeps it.
    for i, event in enumerate(got.events):
        seen = parse_events(list(enumerate(reads[: event.read + 1]))).events
        before = parse_events(list(enumerate(reads[: event.read]))).events
        assert len(before) <= i < len(seen)


@FAST
@given(st.binary(max_size=200))
def test_any_bytes(body: bytes) -> None:
    parse_events([(0, body)])


def test_windows_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    body = b"\n\ndata: a\n\n\n\n\ndata: b\ndata: c\n\n: d\n\n\ndata: e\n\ndata: f\n"
    for text in (body, body.replace(b"\n", b"\r\n")):
        reads = [(i, text[i : i + 1]) for i in range(len(text))]
        whole = parse_events(reads)
        assert len(whole.events) == 3
        for window in range(1, len(text)):
            monkeypatch.setattr("relaymark.dialects.sse._WINDOW", window)
            assert parse_events(reads) == whole
