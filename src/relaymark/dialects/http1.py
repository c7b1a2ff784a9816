"""Where an HTTP/1.1 response ends (RFC 9112), without I/O and without touching the payload.

``ResponseFramer`` runs on the read path of every connection, so ``feed`` answers with a plain int and the usual
read of a token stream (whole chunks, nothing else) costs one search and one dictionary lookup per chunk. The same
machine finds the body again at decode time (``response.py``), so that what the wire took for the end of a
response and what the decoder takes for it cannot differ.

Stricter than browsers where leniency would guess (conflicting lengths, sizes such as ``+5`` or ``0x5``), more
lenient than the RFC where real servers are sloppy (line ends of a lone LF, folded headers, blank lines before
the status line).
"""

from __future__ import annotations

from typing import Final

NEED_MORE: Final = 0
COMPLETE: Final = 1
BAD_FRAMING: Final = -1
TOO_LARGE: Final = -2

# _SIZE: at the start of a chunk-size line; _SIZE_REST: in the middle of one.
_STATUS, _HEADERS, _SIZE, _SIZE_REST, _CHUNK, _CHUNK_END, _TRAILERS, _LENGTH, _CLOSE, _DONE, _FAILED = range(11)

_HEX: Final = frozenset(b"0123456789abcdefABCDEF")
_MAX_DIGITS: Final = 16

# Chunk-size lines seen before → size. Token streams repeat a few hundred of them; a lookup is cheaper than int() and
# only lines that passed the strict check get in, where int() would take "+5", "0x5", "1_0" and " 5". Zero stays
# out: the last chunk leaves the fast path. Bounded, since a server chooses the keys.
_sizes: dict[bytes, int] = {}
_SIZES_KEPT: Final = 4096


def lone_chunk_lines(longest: int) -> list[bytes]:
    """By length of a read, up to ``longest``: the size line that makes it exactly one chunk.

    A read that starts with its line and ends with CRLF is one whole chunk, whatever lies between. Lengths that fit no
    chunk hold a lone LF, which no chunk starts with.
    """
    lines = [b"\n"] * (longest + 1)
    for size in range(1, longest):
        line = b"%x\r\n" % size
        if len(line) + size + 2 > longest:
            break
        lines[len(line) + size + 2] = line
    return lines


def _chunk_size(line: bytes) -> int:
    """Size in a chunk-size line (extensions cut off), or -1 if there is none."""
    digits = line.partition(b";")[0].rstrip(b" \t")
    if not 0 < len(digits) <= _MAX_DIGITS or not _HEX.issuperset(digits):
        return -1
    size = int(digits, 16)
    if 0 < size < 1 << 24 and len(line) <= 8 and len(_sizes) < _SIZES_KEPT and line == digits:
        _sizes[line] = size
    return size


class ResponseFramer:
    """Follows the bytes of one response to its end.

    Args:
        max_header: Cap in bytes on status line, headers, interim responses and trailers together.
        max_body: Cap in bytes on the body after de-chunking; chunk extensions count too.
        head_request: The request was HEAD: the response has no body whatever its headers say.

    After each ``feed`` the attributes hold: ``status`` (final status code, ``None`` before its headers ended),
    ``headers_done``, ``keep_alive`` (the connection may carry another request after this response),
    ``trailing`` (bytes of the last feed beyond the end; only after COMPLETE) and ``error`` (text; only after an
    error code).
    """

    __slots__ = (
        "_announced",
        "_code",
        "_head",
        "_head_request",
        "_left",
        "_max_body",
        "_max_header",
        "_partial",
        "_state",
        "_version",
        "chunked",
        "codings",
        "error",
        "header_lines",
        "headers_done",
        "keep_alive",
        "reason",
        "status",
        "trailer_lines",
        "trailing",
    )

    def __init__(self, max_header: int, max_body: int, head_request: bool = False) -> None:
        self._max_header = max_header
        self._max_body = max_body
        self._head_request = head_request
        self._state = _STATUS
        self._partial = b""  # a line whose end has not come yet
        self._head = 0  # bytes spent on headers so far
        self._announced = 0  # body bytes up to the end of the current chunk, extensions included
        self._left = 0  # bytes missing of the current chunk, or of content-length
        self._version = 1
        self._code = 0
        self.status: int | None = None
        self.reason = b""
        self.header_lines: list[bytes] = []  # without line ends, folded lines joined
        self.trailer_lines: list[bytes] = []
        self.headers_done = False
        self.keep_alive = False
        self.chunked = False
        self.codings: list[bytes] = []  # transfer codings below chunked, in the order they were applied
        self.trailing = 0
        self.error = ""

    def feed(self, data: bytes | bytearray | memoryview) -> int:
        """Take the bytes of one read; NEED_MORE (0), COMPLETE (1) or an error (< 0, text in ``error``)."""
        end = len(data)
        if self._state == _SIZE and type(data) is bytes:
            pos = 0
            announced = self._announced
            while True:
                eol = data.find(b"\r\n", pos, pos + 10)
                if eol < 0:
                    break
                size = _sizes.get(data[pos:eol])
                if size is None:
                    break
                after = eol + 4 + size
                # The two bytes at the announced end must be the chunk's CRLF; nothing in between is looked at.
                if after > end or not data.startswith(b"\r\n", after - 2):
                    break
                announced += size
                pos = after
                if pos == end:
                    break
            if announced > self._max_body:
                return self._fail(TOO_LARGE, f"body above {self._max_body} bytes")
            self._announced = announced
            if pos == end:
                return NEED_MORE
            if end - pos == 5 and data.endswith(b"0\r\n\r\n"):
                return self._finish(data, end)
            return self._run(data, pos, None)
        if self._left > end:
            self._left -= end
            return NEED_MORE
        if self._state == _STATUS and type(data) is bytes and not self._partial:
            return self._whole_head(data)
        return self._run(data if type(data) is bytes else bytes(data), 0, None)

    def eof(self) -> bool:
        """The peer closed: True if the response is complete (its end was seen, or the close is its end)."""
        return self._state in (_CLOSE, _DONE)

    @property
    def announced(self) -> int:
        """Bytes of body up to the end of the current chunk; what counts against the cap."""
        return self._announced

    @property
    def between_chunks(self) -> bool:
        """True where the next byte begins a chunk-size line."""
        return self._state == _SIZE

    @property
    def close_delimited(self) -> bool:
        """True if only the peer's close ends the body."""
        return self._state == _CLOSE

    def _whole_head(self, data: bytes) -> int:
        """The usual first read: plain headers, all there. Anything else goes through the line machine."""
        blank = data.find(b"\r\n\r\n")
        if 0 < blank <= self._max_header - self._head - 4:
            head = data[:blank]
            lines = head.split(b"\r\n")
            # Folded lines, lines without a colon and lone LFs are the machine's business.
            if (
                head.count(b"\n") == len(lines) - 1
                and all(line.find(b":") > 0 for line in lines[1:])
                and (b"\n " not in head and b"\n\t" not in head)
            ):
                self._head += blank + 4
                code = self._status_line(lines.pop(0))
                if code == NEED_MORE:
                    self.header_lines = lines
                    code = self._headers_end()
                if code < 0:
                    return code
                return self._run(data, blank + 4, None)
        return self._run(data, 0, None)

    def scan(self, raw: bytes, spans: list[tuple[int, int]]) -> int:
        """As ``feed``; also appends (start, end) in ``raw`` of each piece of the body."""
        return self._run(raw, 0, spans)

    def _fail(self, code: int, text: str) -> int:
        self._state = _FAILED
        self._left = 0
        self._partial = b""
        self.keep_alive = False
        self.error = text
        return code

    def _finish(self, data: bytes, pos: int) -> int:
        self._state = _DONE
        self.trailing = len(data) - pos
        return COMPLETE

    def _run(self, data: bytes, pos: int, spans: list[tuple[int, int]] | None) -> int:
        """The machine itself: any state, any split."""
        end = len(data)
        while True:
            state = self._state
            if state in (_CHUNK, _LENGTH):
                take = min(self._left, end - pos)
                if spans is not None and take:
                    spans.append((pos, pos + take))
                pos += take
                self._left -= take
                if self._left:
                    return NEED_MORE
                if state == _LENGTH:
                    return self._finish(data, pos)
                self._state = state = _CHUNK_END
            elif state == _CLOSE:
                self._announced += end - pos
                if self._announced > self._max_body:
                    return self._fail(TOO_LARGE, f"body above {self._max_body} bytes")
                if spans is not None and end > pos:
                    spans.append((pos, end))
                return NEED_MORE
            elif state == _DONE:
                return self._finish(data, pos)
            elif state == _FAILED:
                return BAD_FRAMING
            # The other states eat lines.
            newline = data.find(b"\n", pos)
            if newline < 0:
                return self._keep(data[pos:])
            line = data[pos:newline]
            if self._partial:
                line = self._partial + line
                self._partial = b""
            pos = newline + 1
            if line.endswith(b"\r"):
                line = line[:-1]
            if state == _CHUNK_END:
                if line:
                    return self._fail(BAD_FRAMING, "chunk longer than its announced size")
                self._state = _SIZE
                if spans is not None:
                    pos = self._skip_chunks(data, pos, spans)
            elif state in (_SIZE, _SIZE_REST):
                size = _sizes.get(line)
                code = self._start_chunk(line) if size is None else self._add_chunk(size)
                if code:
                    return code
            else:
                code = self._header_line(line)
                if code < 0:
                    return code
                if self._state == _DONE:
                    return self._finish(data, pos)

    def _skip_chunks(self, data: bytes, pos: int, spans: list[tuple[int, int]]) -> int:
        """Step over whole chunks, as most are in a capture; returns where the machine must go on."""
        find, known, startswith = data.find, _sizes.get, data.startswith
        announced, cap = self._announced, self._max_body
        while (eol := find(b"\r\n", pos, pos + 10)) > 0:
            size = known(data[pos:eol])
            if size is None or announced + size > cap:
                break
            stop = eol + 2 + size
            if not startswith(b"\r\n", stop):
                break
            announced += size
            spans.append((eol + 2, stop))
            pos = stop + 2
        self._announced = announced
        return pos

    def _keep(self, rest: bytes) -> int:
        """Keep an unfinished line, unless what there is of it cannot become a good one."""
        partial = self._partial + rest
        state = self._state
        if state == _CHUNK_END:
            if partial not in (b"", b"\r"):
                return self._fail(BAD_FRAMING, "chunk longer than its announced size")
        elif state in (_SIZE, _SIZE_REST):
            if not partial:
                return NEED_MORE
            self._state = _SIZE_REST
            digits = partial.partition(b";")[0].rstrip(b" \t\r")
            if not 0 < len(digits) <= _MAX_DIGITS or not _HEX.issuperset(digits):
                return self._fail(BAD_FRAMING, f"not a chunk size: {partial[:40]!r}")
            if len(partial) > self._max_header:
                return self._fail(TOO_LARGE, f"chunk-size line above {self._max_header} bytes")
        else:
            if state == _STATUS and not _may_be_status(partial):
                return self._fail(BAD_FRAMING, f"not an HTTP response: {partial[:40]!r}")
            if self._head + len(partial) > self._max_header:
                return self._fail(TOO_LARGE, f"headers above {self._max_header} bytes")
        self._partial = partial
        return NEED_MORE

    def _start_chunk(self, line: bytes) -> int:
        size = _chunk_size(line)
        if size < 0:
            return self._fail(BAD_FRAMING, f"not a chunk size: {line[:40]!r}")
        if len(line) > self._max_header:
            return self._fail(TOO_LARGE, f"chunk-size line above {self._max_header} bytes")
        # Extensions are kept with the capture, so they count: a server could otherwise fill memory with them.
        extension = line.find(b";")
        if extension >= 0:
            self._announced += len(line) - extension
        return self._add_chunk(size)

    def _add_chunk(self, size: int) -> int:
        self._announced += size
        if self._announced > self._max_body:
            return self._fail(TOO_LARGE, f"body above {self._max_body} bytes")
        self._left = size
        self._state = _CHUNK if size else _TRAILERS
        return NEED_MORE

    def _header_line(self, line: bytes) -> int:
        """One line of status, headers or trailers."""
        self._head += len(line) + 2  # an LF counts as CRLF, so that the cap doesn't depend on the way taken
        if self._head > self._max_header:
            return self._fail(TOO_LARGE, f"headers above {self._max_header} bytes")
        if self._state == _STATUS:
            return self._status_line(line) if line else NEED_MORE
        lines = self.header_lines if self._state == _HEADERS else self.trailer_lines
        if not line:
            if self._state == _TRAILERS:
                self._state = _DONE
                return COMPLETE
            return self._headers_end()
        if line[0] in b" \t":
            # obs-fold (RFC 9112 §5.2): the line goes on with the value before it.
            if not lines:
                return self._fail(BAD_FRAMING, "folded header line without a header")
            lines[-1] += b" " + line.strip(b" \t")
            return NEED_MORE
        if line.find(b":") <= 0:
            return self._fail(BAD_FRAMING, f"not a header line: {line[:40]!r}")
        lines.append(line)
        return NEED_MORE

    def _status_line(self, line: bytes) -> int:
        # HTTP/1.1 200 OK; the reason and the space before it may be missing.
        code = line[9:12]
        if not (
            line.startswith(b"HTTP/1.")
            and line[7:8].isdigit()
            and line[8:9] == b" "
            and len(code) == 3
            and code.isdigit()
            and code[0] != 48
            and line[12:13] in (b"", b" ")
        ):
            return self._fail(BAD_FRAMING, f"not an HTTP/1.1 status line: {line[:40]!r}")
        self._version = line[7] - 48
        self._code = int(code)
        self.reason = line[13:]
        self._state = _HEADERS
        return NEED_MORE

    def _headers_end(self) -> int:
        """Headers are whole: skip an interim response, else find out how the body is delimited (RFC 9112 §6.3)."""
        status = self._code
        if status < 200:
            if status == 101:
                return self._fail(BAD_FRAMING, "switched protocols though nobody asked")
            self.header_lines = []
            self._state = _STATUS
            return NEED_MORE
        lengths: set[bytes] = set()
        codings: list[bytes] = []
        connection: list[bytes] = []
        for line in self.header_lines:
            # Names are told apart by their first letter first: most headers are none of these three.
            if line[0] not in b"cCtT":
                continue
            name, _, value = line.partition(b":")
            name = name.strip().lower()
            if name == b"content-length":
                lengths.update(part.strip() for part in value.split(b","))
            elif name == b"transfer-encoding":
                codings += [part.strip().lower() for part in value.split(b",")]
            elif name == b"connection":
                connection += [part.strip().lower() for part in value.split(b",")]
        self.status = status
        self.headers_done = True
        keep_alive = b"close" not in connection and (self._version >= 1 or b"keep-alive" in connection)
        codings = [coding for coding in codings if coding not in (b"", b"identity")]
        if self._head_request or status in (204, 304):
            self.keep_alive = keep_alive
            self._state = _DONE
            return COMPLETE
        if codings:
            if b"chunked" in codings[:-1]:
                return self._fail(BAD_FRAMING, "transfer-encoding names chunked before its end")
            self.chunked = codings[-1] == b"chunked"
            self.codings = codings[:-1] if self.chunked else codings
            # A length beside a transfer coding is void, and such a server is not trusted with another request.
            self.keep_alive = keep_alive and self.chunked and not lengths and self._version >= 1
            self._state = _SIZE if self.chunked else _CLOSE
            return NEED_MORE
        if not lengths:
            self._state = _CLOSE
            return NEED_MORE
        text = lengths.pop()
        if lengths:
            return self._fail(BAD_FRAMING, "conflicting content-length headers")
        if not text.isdigit():
            return self._fail(BAD_FRAMING, f"not a content-length: {text[:40]!r}")
        text = text.lstrip(b"0")
        if len(text) > 18 or int(text or b"0") > self._max_body:
            return self._fail(TOO_LARGE, f"body above {self._max_body} bytes")
        self.keep_alive = keep_alive
        self._left = self._announced = int(text or b"0")
        self._state = _LENGTH if text else _DONE
        return NEED_MORE


def _may_be_status(start: bytes) -> bool:
    """False as soon as the first bytes of a response rule out HTTP/1.x (TLS, HTTP/2, a database, noise)."""
    return b"HTTP/1."[: len(start)] == start[:7] or start == b"\r"
