"""Answers that fail: errors in the stream, error bodies with status 200, cuts, refusals."""

from __future__ import annotations

import asyncio
from email.utils import formatdate
from time import time

import msgspec

from relaymark.emulate.faults.registry import absent, every, fault, none_at_all, until_cut
from relaymark.emulate.faults.stage import DONE, JSON, Piece, Stage
from relaymark.trace import Outcome

_ALL = ("chat", "completions", "responses", "embeddings")
_SPOKEN = ("chat", "completions")
_HTML = b"<!doctype html><title>502</title><h1>Bad Gateway</h1><script>alert('proxy')</script>\n"


def _error(message: str = "the engine died", kind: str = "server_error", code: int = 500) -> bytes:
    return msgspec.json.encode({"error": {"message": message, "type": kind, "param": None, "code": code}})


@fault("inband-error", 19, "The engine dies mid-stream: an error object as an event, then [DONE] (vLLM).",
       Outcome.INBAND_ERROR, events=until_cut, tokens=absent, apis=_SPOKEN, after=5)  # fmt: skip
async def _inband(stage: Stage) -> None:
    await stage.first(stage.count("after"))
    await stage.send(b"data: " + _error() + b"\n\n")
    await stage.send(DONE)
    await stage.finish()


@fault("inband-error-event", 19, "The same as event: error, without [DONE].",
       Outcome.INBAND_ERROR, events=until_cut, tokens=absent, apis=(*_SPOKEN, "responses"), after=5)  # fmt: skip
async def _inband_event(stage: Stage) -> None:
    await stage.first(stage.count("after"))
    if stage.ask.api == "responses":
        told = {"type": "error", "code": "server_error", "message": "the engine died", "sequence_number": 99}
        await stage.send(b"event: error\ndata: " + msgspec.json.encode(told) + b"\n\n")
    else:
        await stage.send(b"event: error\ndata: " + _error() + b"\n\n")
    await stage.finish()


@fault("finish-error", 19, 'finish_reason "error" and an otherwise well-formed stream (OpenRouter).',
       Outcome.INBAND_ERROR, events=until_cut, tokens=every, apis=("chat",), after=5)  # fmt: skip
async def _finish_error(stage: Stage) -> None:
    await stage.first(stage.count("after"))
    for piece in stage.chat_ending("error"):
        await stage.send(piece.data)
    await stage.finish()


async def _whole(stage: Stage, body: bytes, kind: str, *headers: str, status: str = "200 OK") -> None:
    await stage.head(*headers, status=status, kind=kind, framing="length", length=len(body))
    await stage.send(body)
    await stage.finish()


@fault("json-error-200", 20, "Status 200 and a JSON error body, on a stream request too.", Outcome.PROTOCOL_ERROR,
       events=none_at_all, tokens=absent, apis=_ALL, streams_only=False)  # fmt: skip
async def _json_200(stage: Stage) -> None:
    await _whole(stage, _error("no worker is ready"), JSON)


@fault("html-200", 20, "Status 200 and an HTML page: a proxy's or a captive portal's.", Outcome.PROTOCOL_ERROR,
       events=none_at_all, tokens=absent, apis=_ALL, streams_only=False)  # fmt: skip
async def _html_200(stage: Stage) -> None:
    await _whole(stage, _HTML, "text/html")


@fault("empty-200", 20, "Status 200 and no body at all.", Outcome.PROTOCOL_ERROR,
       events=none_at_all, tokens=absent, apis=_ALL, streams_only=False)  # fmt: skip
async def _empty_200(stage: Stage) -> None:
    await _whole(stage, b"", JSON)


@fault("broken-json", 20, "One event of the stream holds half a JSON object.", Outcome.PROTOCOL_ERROR,
       events=absent, apis=_SPOKEN, after=5)  # fmt: skip
async def _broken_json(stage: Stage) -> None:
    rest = await stage.first(stage.count("after"))
    await stage.send(b'data: {"choices":[{"index":0,"del\n\n')
    for piece in rest:
        await stage.send(piece.data, piece.tokens)
    await stage.finish()


@fault("garbage", 20, "Bytes that are no HTTP at all: the port belongs to something else.", Outcome.PROTOCOL_ERROR,
       events=none_at_all, tokens=absent, apis=_ALL, streams_only=False)  # fmt: skip
async def _garbage(stage: Stage) -> None:
    await stage.raw(b"SSH-2.0-OpenSSH_9.2\r\nno such thing here\r\n\r\n")
    stage.close()


@fault("rst", 21, "The connection is reset mid-stream: the server process was killed.", Outcome.TRUNCATED,
       events=until_cut, tokens=absent, apis=_ALL, streams_only=False, after=5)  # fmt: skip
async def _rst(stage: Stage) -> None:
    await stage.first(stage.count("after"))
    await stage.reset()


@fault("fin-cut", 21, "The connection is closed in order without the last chunk.", Outcome.TRUNCATED,
       events=until_cut, tokens=absent, apis=_ALL, streams_only=False, after=5)  # fmt: skip
async def _fin(stage: Stage) -> None:
    await stage.first(stage.count("after"))
    stage.close()


@fault("cut-in-chunk", 21, "The connection is closed in the middle of a chunk.", Outcome.TRUNCATED,
       events=until_cut, tokens=absent, apis=_ALL, streams_only=False, after=5)  # fmt: skip
async def _cut_chunk(stage: Stage) -> None:
    rest = await stage.first(stage.count("after"))
    data = stage.framed(rest[0].data if rest else DONE)
    await stage.raw(data[: len(data) // 2])
    stage.close()


@fault("short-body", 21, "Fewer bytes than content-length promised.", Outcome.TRUNCATED,
       events=until_cut, tokens=absent, apis=_ALL, streams_only=False, after=5)  # fmt: skip
async def _short(stage: Stage) -> None:
    pieces = stage.pieces()
    await stage.head(framing="length", length=sum(len(piece.data) for piece in pieces))
    for piece in pieces[: stage.count("after") if stage.ask.streamed else 2]:
        await stage.send(piece.data, piece.tokens if stage.ask.streamed else 0)
    stage.close()


@fault("http10-close", 21, "HTTP/1.0: the connection ends without finish_reason and [DONE]; HTTP sees nothing wrong.",
       Outcome.TRUNCATED, events=until_cut, tokens=absent, apis=_SPOKEN, after=5)  # fmt: skip
async def _http10_close(stage: Stage) -> None:
    await stage.head(framing="close", version="1.0")
    for piece in stage.pieces()[: stage.count("after")]:
        await stage.send(piece.data, piece.tokens)


@fault("quiet-end", 21, "A well-framed stream without finish_reason and [DONE]: a gateway lost its upstream.",
       Outcome.TRUNCATED, events=until_cut, tokens=absent, apis=_SPOKEN, after=5)  # fmt: skip
async def _quiet_end(stage: Stage) -> None:
    await stage.first(stage.count("after"))
    await stage.finish()


@fault("rst-after-done", 21, "The connection is reset after [DONE], before the last chunk.", Outcome.OK, apis=_SPOKEN,
       note="warning: the transfer did not end in order")  # fmt: skip
async def _rst_after(stage: Stage) -> None:
    await stage.head()
    for piece in stage.pieces():
        await stage.send(piece.data, piece.tokens)
    await stage.reset()


@fault(
    "429-seconds",
    22,
    "Too many requests, Retry-After in seconds.",
    Outcome.HTTP_ERROR,
    events=none_at_all,
    tokens=absent,
    apis=_ALL,
    streams_only=False,
    seconds=1,
    note="Retry-After kept",
)
async def _429(stage: Stage) -> None:
    body = _error("slow down", "rate_limit_error", 429)
    await _whole(stage, body, JSON, f"retry-after: {stage.count('seconds')}", status="429 Too Many Requests")


@fault(
    "429-date",
    22,
    "Too many requests, Retry-After as an HTTP date.",
    Outcome.HTTP_ERROR,
    events=none_at_all,
    tokens=absent,
    apis=_ALL,
    streams_only=False,
    seconds=2,
    note="Retry-After kept",
)
async def _429_date(stage: Stage) -> None:
    body = _error("slow down", "rate_limit_error", 429)
    date = formatdate(time() + stage.params["seconds"], usegmt=True)
    await _whole(stage, body, JSON, f"retry-after: {date}", status="429 Too Many Requests")


@fault("503-html", 22, "A load balancer's HTML page: no healthy upstream.", Outcome.HTTP_ERROR,
       events=none_at_all, tokens=absent, apis=_ALL, streams_only=False)  # fmt: skip
async def _503(stage: Stage) -> None:
    await _whole(stage, _HTML, "text/html", status="503 Service Unavailable")


@fault("500-json", 22, "The engine refuses at once with a JSON error.", Outcome.HTTP_ERROR,
       events=none_at_all, tokens=absent, apis=_ALL, streams_only=False)  # fmt: skip
async def _500(stage: Stage) -> None:
    await _whole(stage, _error(), JSON, status="500 Internal Server Error")


@fault("500-cut", 22, "An error status whose body is cut as well: still an HTTP error.", Outcome.HTTP_ERROR,
       events=none_at_all, tokens=absent, apis=_ALL, streams_only=False)  # fmt: skip
async def _500_cut(stage: Stage) -> None:
    body = _error()
    await stage.head(status="500 Internal Server Error", kind=JSON, framing="length", length=len(body) + 100)
    await stage.send(body)
    stage.close()


@fault("head-flood", 22, "Headers without end.", Outcome.PROTOCOL_ERROR, events=none_at_all, tokens=absent,
       apis=_ALL, streams_only=False, kib=4096)  # fmt: skip
async def _head_flood(stage: Stage) -> None:
    await stage.raw(b"HTTP/1.1 200 OK\r\n")
    for _ in range(stage.count("kib")):
        await stage.raw(b"x-filler: " + b"a" * 1012 + b"\r\n")
    stage.close()


@fault("body-flood", 22, "A body without end: more than a client should keep.", Outcome.PROTOCOL_ERROR, events=absent,
       tokens=absent, apis=_SPOKEN, note="body above the cap", mib=80)  # fmt: skip
async def _body_flood(stage: Stage) -> None:
    await stage.first(1)
    filler = Piece(b": " + b"a" * (256 * 1024 - 4) + b"\n\n")
    for _ in range(4 * stage.count("mib")):
        await stage.send(filler.data)
        await asyncio.sleep(0)
    await stage.finish()
