"""Undo content codings piece by piece, so that each decoded piece keeps the read that brought it."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Protocol

import msgspec

Segment = tuple[int, bytes]  # (index of the read that held the last byte, bytes)

_MAX_CODINGS = 4


class _Inflater(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    @property
    def unconsumed_tail(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


class Content(msgspec.Struct):
    """A body after its codings were undone.

    ``error`` says why no more could be decoded (what came before it is kept); ``whole`` is False if the compressed
    stream had not reached its own end.
    """

    segments: list[Segment]
    error: str = ""
    whole: bool = True


def decode_content(segments: Sequence[Segment], codings: Sequence[str], max_body: int) -> Content:
    """Undo ``codings`` (in the order they were applied) on ``segments``.

    gzip, x-gzip, deflate (zlib-wrapped as RFC 9110 asks, and raw as some servers send it) and identity.
    ``max_body`` bounds the decoded size in bytes, so that a small body cannot unpack into all of memory.
    """
    content = Content(list(segments))
    codings = [coding for coding in codings if coding not in ("", "identity")]
    if len(codings) > _MAX_CODINGS:
        return Content([], f"content-encoding with {len(codings)} layers", whole=False)
    for coding in reversed(codings):
        if coding not in ("gzip", "x-gzip", "deflate"):
            return Content([], f"content-encoding {coding[:40]!r} is not supported", whole=False)
        inner = _inflate(content.segments, coding == "deflate", max_body)
        content = Content(inner.segments, content.error or inner.error, content.whole and inner.whole)
    return content


def _inflate(segments: Sequence[Segment], deflate: bool, max_body: int) -> Content:
    out: list[Segment] = []
    room = max_body
    inflater: _Inflater | None = None
    held = b""
    started = False
    for read, piece in segments:
        data = held + piece
        held = b""
        while data:
            if inflater is None:
                # Two bytes tell zlib's header from gzip's and from raw deflate's first block.
                if len(data) < 2:
                    held = data
                    break
                if started and data[:2] != b"\x1f\x8b":
                    break  # padding after the last gzip member; gzip(1) ignores it too
                wrapped = data[0] & 15 == 8 and (data[0] << 8 | data[1]) % 31 == 0
                bits = 31 if not deflate else (15 if wrapped else -15)
                inflater = zlib.decompressobj(wbits=bits)
                started = True
            try:
                text = inflater.decompress(data, room + 1)
            except zlib.error as error:
                return Content(out, f"broken compressed body: {error}", whole=False)
            if len(text) > room:
                out.append((read, text[:room]))
                return Content(out, f"decompressed body above {max_body} bytes", whole=False)
            room -= len(text)
            if text:
                out.append((read, text))
            if inflater.eof:
                data = inflater.unused_data
                inflater = None
                if deflate:
                    return Content(out)
            else:
                data = inflater.unconsumed_tail
    return Content(out, whole=inflater is None and (started or not segments))
