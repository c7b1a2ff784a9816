"""A captured response taken apart: status, headers, and body pieces that remember their read."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from relaymark.dialects.content import Segment, decode_content
from relaymark.dialects.http1 import COMPLETE, NEED_MORE, TOO_LARGE, ResponseFramer, lone_chunk_lines

MAX_HEADER = 64 * 1024
MAX_BODY = 64 * 1024 * 1024
_LONE_LINE = lone_chunk_lines(4096)
_UNSURE = -9


class ParsedResponse(msgspec.Struct, kw_only=True):
    """One response as far as its bytes go.

    ``segments`` are the decoded body in order, each with the index of the read that contained its last byte.
    ``complete``: the framing's end was reached, or ``close_delimited`` is True and the peer's close is the end.
    ``framing_error`` is set when the bytes are not HTTP/1.1 (``too_large``: or above a cap), ``content_error`` when
    the content coding could not be undone; both leave what came before them in place.
    """

    status: int | None = None
    reason: str = ""
    headers: list[tuple[str, str]] = msgspec.field(default_factory=list[tuple[str, str]])
    trailers: list[tuple[str, str]] = msgspec.field(default_factory=list[tuple[str, str]])
    segments: list[Segment] = msgspec.field(default_factory=list[Segment])
    complete: bool = False
    close_delimited: bool = False
    too_large: bool = False
    framing_error: str = ""
    content_error: str = ""
    content_whole: bool = True
    body_bytes: int = 0  # after de-chunking, before decompression
    trailing: int = 0  # bytes after the end of the response

    def header(self, name: str) -> str | None:
        """First value of a header, by lower-case name."""
        return next((value for key, value in self.headers if key == name), None)

    @property
    def body(self) -> bytes:
        """The decoded body in one piece."""
        return b"".join([piece for _, piece in self.segments])


def parse_response(
    raw: bytes,
    sizes: Sequence[int],
    *,
    max_header: int = MAX_HEADER,
    max_body: int = MAX_BODY,
    head_request: bool = False,
) -> ParsedResponse:
    """Take apart the bytes of one response; ``sizes`` are the bytes of each read, in order.

    Never raises on what a server sent. Sizes that don't add up to ``raw`` are tolerated: bytes beyond them
    count for the last read.
    """
    framer = ResponseFramer(max_header, max_body, head_request)
    segments: list[Segment] = []
    code = _unframe(framer, raw, sizes, _LONE_LINE, max_body, segments)
    if code == _UNSURE:
        framer, segments = ResponseFramer(max_header, max_body, head_request), []
        code = _unframe(framer, raw, sizes, [], max_body, segments)
    if code < 0:
        # What is said of broken framing must not depend on where reads happened to end.
        framer = ResponseFramer(max_header, max_body, head_request)
        code = framer.scan(raw, [])
    parsed = ParsedResponse(
        status=framer.status,
        reason=framer.reason.decode("latin-1").strip(),
        complete=code == COMPLETE,
        close_delimited=framer.close_delimited,
        too_large=code == TOO_LARGE,
        framing_error=framer.error,
        trailing=framer.trailing,
    )
    if not framer.headers_done:
        return parsed
    parsed.headers = [_header(line) for line in framer.header_lines]
    parsed.trailers = [_header(line) for line in framer.trailer_lines]
    parsed.segments = segments
    parsed.body_bytes = sum([len(piece) for _, piece in segments])
    codings = [
        part.strip().lower()
        for name, value in parsed.headers
        if name == "content-encoding"
        for part in value.split(",")
    ]
    codings += [coding.decode("latin-1") for coding in framer.codings]
    if codings and segments:
        content = decode_content(parsed.segments, codings, max_body)
        parsed.segments = content.segments
        parsed.content_error = content.error
        parsed.content_whole = content.whole
    return parsed


def _header(line: bytes) -> tuple[str, str]:
    name, _, value = line.decode("latin-1").partition(":")
    return name.strip().lower(), value.strip(" \t")


def _unframe(
    framer: ResponseFramer,
    raw: bytes,
    sizes: Sequence[int],
    lone_line: list[bytes],
    max_body: int,
    segments: list[Segment],
) -> int:
    """Runs the framer over the reads; appends the pieces of the body, each with its read.

    Reads that are just a chunk by ``lone_line`` are not shown to the framer. What they hold counts with their size
    lines; where the cap might be passed by that count, the answer is _UNSURE. Else it is the framer's code.
    """
    code = NEED_MORE
    begin = skipped = 0
    longest = len(lone_line)
    between = False
    last = len(sizes) - 1
    for read, size in enumerate(sizes or (len(raw),)):
        end = begin + size if read != last else len(raw)
        if between and size < longest and raw.startswith(b"\r\n", end - 2):
            line = lone_line[size]
            if raw.startswith(line, begin):
                segments.append((read, raw[begin + len(line) : end - 2]))
                skipped += size
                begin = end
                continue
        if code == COMPLETE:
            framer.trailing += end - begin
        else:
            piece = raw[begin:end]
            spans: list[tuple[int, int]] = []
            code = framer.scan(piece, spans)
            segments += [(read, piece[start:stop]) for start, stop in spans]
            if code < 0:
                return code
            between = framer.between_chunks
            if skipped and framer.announced + skipped > max_body:
                return _UNSURE
        begin = end
    return _UNSURE if skipped and framer.announced + skipped > max_body else code
