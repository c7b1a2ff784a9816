"""Right answers in unusual dress: what the event-stream and HTTP rules allow, and what proxies make of it."""

from __future__ import annotations

import asyncio
import zlib

from relaymark.emulate.faults.registry import absent, fault, none_at_all
from relaymark.emulate.faults.stage import APART, DONE, JSON, SSE, Piece, Stage
from relaymark.trace import Outcome

_ALL = ("chat", "completions", "responses", "embeddings")


@fault("crlf", 1, "Lines end in CR LF, as many .NET and Java servers write them.")
async def _crlf(stage: Stage) -> None:
    await stage.answer(turn=lambda data: data.replace(b"\n", b"\r\n"))


@fault("cr-only", 2, "Lines end in a lone CR, which the event-stream rules allow.")
async def _cr_only(stage: Stage) -> None:
    await stage.answer(turn=lambda data: data.replace(b"\n", b"\r"))


@fault("crlf-split", 2, "A packet ends between the CR and the LF of an empty line.")
async def _crlf_split(stage: Stage) -> None:
    await stage.head()
    carried = b""
    for piece in stage.pieces():
        # Everything but the last LF now; that LF leads the next packet.
        data = carried + piece.data.replace(b"\n", b"\r\n")
        carried = data[-1:]
        await stage.send(data[:-1], piece.tokens)
    await asyncio.sleep(APART)
    await stage.send(carried)
    await stage.finish()


@fault("comments", 3, "Keep-alive comments before and between events, as OpenRouter and many gateways send.")
async def _comments(stage: Stage) -> None:
    await stage.head()
    await stage.send(b": OPENROUTER PROCESSING\n\n")
    for piece in stage.pieces():
        await stage.send(piece.data, piece.tokens)
        await stage.send(b": keep-alive\n\n")
    await stage.finish()


@fault("empty-data", 4, "Empty data events and pings between the real ones.")
async def _empty_data(stage: Stage) -> None:
    pings = [Piece(b"data: \n\n"), Piece(b"data:\n\n"), Piece(b"event: ping\ndata: \n\n")]
    pieces = list(pings)
    for piece in stage.pieces():
        pieces += [piece] if piece.data == DONE else [piece, pings[0]]
    await stage.answer(pieces)


@fault("multiline-data", 5, "One event's JSON is pretty-printed over several data: lines.")
async def _multiline(stage: Stage) -> None:
    def spread(data: bytes) -> bytes:
        # A line may break wherever JSON allows white space: after the opening brace and before the closing one.
        return data.replace(b"data: {", b"data: {\ndata:   ").replace(b"}\n\n", b"\ndata: }\n\n")

    await stage.answer(turn=spread)


@fault("no-space", 6, "No space after the colon: data:{…} and data:[DONE].")
async def _no_space(stage: Stage) -> None:
    await stage.answer(turn=lambda data: data.replace(b"data: ", b"data:").replace(b"event: ", b"event:"))


@fault("event-id-retry-fields", 7, "event:, id: and retry: fields and unknown ones around the data.")
async def _fields(stage: Stage) -> None:
    if stage.ask.api == "responses":
        await stage.answer(turn=lambda data: b"id: 7\nretry: 3000\n" + data)
    else:
        await stage.answer(turn=lambda data: b"event: message\nid: 7\nretry: 3000\nx-unknown: 1\n" + data)


@fault("bom", 7, "The stream starts with a byte-order mark, which readers must skip.")
async def _bom(stage: Stage) -> None:
    first, *rest = stage.pieces()
    await stage.answer([Piece(b"\xef\xbb\xbf" + first.data, first.tokens), *rest])


def _deltas(stage: Stage, texts: list[str]) -> list[Piece]:
    return [
        *(Piece(stage.chat({"content": texts[index % len(texts)]}), 1) for index in range(stage.n)),
        *stage.chat_ending(),
    ]


@fault("utf8-split", 8, "Packets end inside multi-byte characters (CJK text and emoji).", apis=("chat",))
async def _utf8_split(stage: Stage) -> None:
    await stage.head()
    for piece in _deltas(stage, ["日本", "語の", "🏃‍♀️", "né"]):
        cut = next((at + 1 for at, byte in enumerate(piece.data) if byte >= 0xC0), len(piece.data))
        await stage.due(piece.tokens)
        await stage.raw(stage.framed(piece.data[:cut]))
        if cut < len(piece.data):
            await asyncio.sleep(APART)
            await stage.raw(stage.framed(piece.data[cut:]))
    await stage.finish()


@fault(
    "u2028",
    9,
    "Raw U+2028, U+2029 and U+0085 in the JSON: line ends for str.splitlines, not for events.",
    apis=("chat",),
)
async def _u2028(stage: Stage) -> None:
    await stage.answer(_deltas(stage, ["a\u2028b", "c\u2029d", "e\u0085f"]))


@fault("half-json", 10, "Packets end in the middle of an event's JSON and carry the end of the one before.")
async def _half_json(stage: Stage) -> None:
    await stage.head()
    carried = b""
    for piece in stage.pieces():
        data = carried + piece.data
        cut = len(data) - len(piece.data) // 2
        carried = data[cut:]
        await stage.send(data[:cut], piece.tokens)
    await asyncio.sleep(APART)
    await stage.send(carried)
    await stage.finish()


@fault("many-per-packet", 10, "A proxy hands on events in groups.", note="events coalesced", group=4)
async def _many(stage: Stage) -> None:
    await stage.head()
    group = max(1, stage.count("group"))
    held: list[bytes] = []
    for piece in stage.pieces():
        await stage.due(piece.tokens)
        held.append(stage.framed(piece.data))
        if len(held) >= group:
            await stage.raw(b"".join(held))
            held.clear()
    await stage.raw(b"".join(held))
    await stage.finish()


async def _compressed(stage: Stage, coding: str, window: int, flush: bool) -> None:
    squeeze = zlib.compressobj(6, zlib.DEFLATED, window)
    await stage.head(f"content-encoding: {coding}")
    for piece in stage.pieces():
        data = squeeze.compress(piece.data)
        await stage.send(data + squeeze.flush(zlib.Z_SYNC_FLUSH) if flush else data, piece.tokens)
    await stage.send(squeeze.flush())
    await stage.finish()


@fault("gzip", 24, "The stream is gzipped, flushed at each event.", apis=_ALL, streams_only=False)
async def _gzip(stage: Stage) -> None:
    await _compressed(stage, "gzip", 31, True)


@fault("gzip-buffered", 24, "A proxy gzips without flushing.", note="stream not incremental", streams_only=False)
async def _gzip_buffered(stage: Stage) -> None:
    await _compressed(stage, "gzip", 31, False)


@fault("deflate", 24, "The stream is deflated (zlib format).", apis=_ALL, streams_only=False)
async def _deflate(stage: Stage) -> None:
    await _compressed(stage, "deflate", 15, True)


@fault(
    "deflate-raw", 24, "deflate without the zlib wrapper, as old IIS servers send it.", apis=_ALL, streams_only=False
)
async def _deflate_raw(stage: Stage) -> None:
    await _compressed(stage, "deflate", -15, True)


@fault("one-packet", 24, "A buffering proxy: the whole answer at once, at the end.", note="stream not incremental")
async def _one_packet(stage: Stage) -> None:
    pieces = stage.pieces()
    data = stage.head_bytes()
    for piece in pieces:
        await stage.due(piece.tokens)
        data += stage.framed(piece.data)
    await stage.raw(data + b"0\r\n\r\n")


@fault("huge-delta", 24, "One delta of a megabyte.", apis=("chat",), size=1_000_000)
async def _huge(stage: Stage) -> None:
    big = "x" * stage.count("size")
    await stage.answer(
        [Piece(stage.chat({"content": big if index == 1 else "a"}), 1) for index in range(stage.n)]
        + stage.chat_ending()
    )


@fault("trailers", 24, "Trailing headers after the last chunk.", apis=_ALL, streams_only=False)
async def _trailers(stage: Stage) -> None:
    await stage.head("trailer: x-checksum")
    for piece in stage.pieces():
        await stage.send(piece.data, piece.tokens)
    await stage.finish(trailer=b"x-checksum: 1234\r\nx-more: 1\r\n")


@fault(
    "chunk-extensions", 24, "Chunk sizes with extensions, capitals and leading zeros.", apis=_ALL, streams_only=False
)
async def _extensions(stage: Stage) -> None:
    await stage.head()
    for piece in stage.pieces():
        await stage.due(piece.tokens)
        await stage.raw(b'000%X;name="a;b"\r\n%b\r\n' % (len(piece.data), piece.data))
    await stage.finish()


@fault(
    "te-identity",
    24,
    "Transfer-Encoding: identity and a body that ends with the connection.",
    apis=_ALL,
    streams_only=False,
)
async def _identity(stage: Stage) -> None:
    await stage.head("transfer-encoding: identity", "connection: close", framing="close")
    for piece in stage.pieces():
        await stage.send(piece.data, piece.tokens)
    await stage.finish()


@fault(
    "te-no-chunks",
    24,
    "The headers say chunked, the body isn't: a gateway that rewrites one and not the other.",
    Outcome.PROTOCOL_ERROR,
    events=none_at_all,
    tokens=absent,
    apis=_ALL,
    streams_only=False,
)
async def _no_chunks(stage: Stage) -> None:
    await stage.head("transfer-encoding: chunked", framing="close")
    for piece in stage.pieces():
        await stage.send(piece.data, piece.tokens)
    await stage.finish()


@fault("http10-whole", 24, "HTTP/1.0: a whole answer that ends with the connection.", apis=_ALL, streams_only=False)
async def _http10(stage: Stage) -> None:
    await stage.head(framing="close", version="1.0")
    for piece in stage.pieces():
        await stage.send(piece.data, piece.tokens)
    await stage.finish()


@fault("interim-103", 24, "Interim responses (100, 103) before the real one.", apis=_ALL, streams_only=False)
async def _interim(stage: Stage) -> None:
    await stage.raw(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>; rel=preload\r\n\r\n")
    await stage.answer()


@fault("unstreamed", 24, "The server ignores stream: true and answers with one JSON body.", events=absent,
       apis=("chat", "completions"), note="stream not incremental")  # fmt: skip
async def _unstreamed(stage: Stage) -> None:
    body = stage.body()
    await stage.due(stage.n)
    await stage.head(kind=JSON, framing="length", length=len(body))
    await stage.send(body)
    await stage.finish()


@fault("odd-headers", 24, "The content type in capitals, an empty header, stray white space.")
async def _odd_headers(stage: Stage) -> None:
    await stage.head("X-Empty:", "X-Spaced:   a b  ", kind=SSE.upper())
    for piece in stage.pieces():
        await stage.send(piece.data, piece.tokens)
    await stage.finish()
