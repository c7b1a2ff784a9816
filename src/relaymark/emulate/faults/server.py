"""The faulty endpoint's server. Clarity over speed: asyncio streams, one task a connection."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic_ns
from typing import Any

import msgspec

from relaymark.emulate.ask import PATHS, BadAsk, read_ask
from relaymark.emulate.faults.registry import Chooser, FaultSpec
from relaymark.emulate.faults.stage import Stage
from relaymark.emulate.pacedconfig import PacedConfig
from relaymark.emulate.truth import TruthLog, TruthRecord
from relaymark.errors import ConfigError

_MAX_BODY = 64 * 1024 * 1024
_REMEMBERED = 100_000  # request ids whose attempts are counted


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultyConfig:
    """A plain endpoint (``paced``: ttft, itl, tokens, model, host, port, log_path, …) with faults at a rate.

    ``faults`` are texts that :meth:`FaultSpec.parse` reads. Independently of them, a client that uses the base URL
    ``http://host:port/fault/NAME:key=number,…/v1`` meets that fault on every request.
    """

    paced: PacedConfig = field(default_factory=PacedConfig)
    faults: tuple[str, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        Chooser([FaultSpec.parse(text) for text in self.faults], self.seed)
        if self.paced.tls_cert is not None:
            raise ConfigError("faults are played without TLS", where="faulty: tls_cert")


class FaultyEndpoint:
    """Reads requests, chooses a fault for each, lets it play."""

    def __init__(self, config: FaultyConfig) -> None:
        self._config = config
        self._chooser = Chooser([FaultSpec.parse(text) for text in config.faults], config.seed)
        self.truth = TruthLog(config.paced.log_path)
        self._seq = 0
        self._attempts: dict[str, int] = {}
        self._met: dict[str, int] = {}
        self.tasks: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, until either side ends it."""
        task = asyncio.current_task()
        if task is not None:
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        nth = 0
        try:
            while await self._one(reader, writer, nth):
                nth += 1
        except (OSError, EOFError, asyncio.LimitOverrunError):
            pass  # the client left, or sent no request
        finally:
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, nth: int) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        headers = {
            name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])
        }
        size = headers.get("content-length", "0")
        if not size.isdecimal() or int(size) > _MAX_BODY:
            return await self._reply(writer, "400 Bad Request", {"error": {"message": "bad content-length"}}, False)
        if headers.get("expect", "").lower() == "100-continue":
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = await reader.readexactly(int(size))
        arrived = monotonic_ns()
        first = lines[0].split(" ")
        if len(first) != 3:
            return await self._reply(writer, "400 Bad Request", {"error": {"message": "not HTTP"}}, False)
        method, path = first[0], first[1].partition("?")[0]
        keep = headers.get("connection", "").lower() != "close" and first[2] == "HTTP/1.1"
        spec: FaultSpec | None = None
        if path.startswith("/fault/"):
            text, _, rest = path.removeprefix("/fault/").partition("/")
            path = "/" + rest
            try:
                spec = FaultSpec.parse(text)
            except ConfigError as problem:
                return await self._reply(writer, "404 Not Found", {"error": {"message": problem.what}}, keep)
        if method == "GET":
            return await self._get(writer, path, keep)
        if method != "POST" or path not in PATHS:
            return await self._reply(writer, "404 Not Found", {"error": {"message": f"no such path: {path}"}}, keep)
        try:
            ask = read_ask(PATHS[path], body)
        except BadAsk as problem:
            return await self._reply(writer, "400 Bad Request", {"error": {"message": str(problem)}}, keep)
        truth = TruthRecord(
            seq=self._seq,
            id=headers.get("x-relaymark-id"),
            user=ask.user,
            prompt_sha=ask.prompt_sha,
            api=ask.api,
            streamed=ask.streamed,
            prompt_tokens=ask.prompt_tokens,
            arrived=arrived,
            started=arrived,
        )
        self._seq += 1
        spec = spec or self._chooser.pick(self._key(truth))
        if spec is not None and not spec.fault.applies(ask.api, ask.streamed):
            spec = None
        stage = Stage(
            self._config.paced, ask, truth, reader=reader, writer=writer, params=spec.params if spec else {}, nth=nth,
            keep=keep,
        )  # fmt: skip
        await self._play(spec, stage, truth)
        return stage.keep

    async def _play(self, spec: FaultSpec | None, stage: Stage, truth: TruthRecord) -> None:
        truth.fault = spec.name if spec else None
        self._met[spec.name if spec else "none"] = self._met.get(spec.name if spec else "none", 0) + 1
        try:
            if spec is None:
                await stage.answer()
            else:
                await spec.fault.play(stage)
        except OSError:
            truth.end = "client_gone"
            raise
        except asyncio.CancelledError:
            truth.end = "stopped"
            raise
        finally:
            truth.completion_tokens = sum(truth.tokens)
            self.truth.add(truth)

    def _key(self, truth: TruthRecord) -> str:
        """What decides the fault: the client's id and how often it came, so that a retry may fare better."""
        if truth.id is None:
            return str(truth.seq)
        attempt = self._attempts.pop(truth.id, 0) + 1
        self._attempts[truth.id] = attempt
        if len(self._attempts) > _REMEMBERED:
            del self._attempts[next(iter(self._attempts))]
        return f"{truth.id}#{attempt}"

    async def _get(self, writer: asyncio.StreamWriter, path: str, keep: bool) -> bool:
        if path == "/health":
            return await self._reply(writer, "200 OK", {"status": "ok"}, keep)
        if path == "/v1/models":
            entry = {
                "id": self._config.paced.model,
                "object": "model",
                "created": 1_700_000_000,
                "owned_by": "relaymark",
            }
            return await self._reply(writer, "200 OK", {"object": "list", "data": [entry]}, keep)
        if path == "/stats":
            return await self._reply(writer, "200 OK", {"requests": self._seq, "faults": self._met}, keep)
        return await self._reply(writer, "404 Not Found", {"error": {"message": f"no such path: {path}"}}, keep)

    async def _reply(self, writer: asyncio.StreamWriter, status: str, body: dict[str, Any], keep: bool) -> bool:
        data = msgspec.json.encode(body)
        end = "" if keep else "connection: close\r\n"
        writer.write(
            f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(data)}\r\n{end}\r\n".encode()
            + data
        )
        await writer.drain()
        return keep


async def serve_faulty(config: FaultyConfig, ready: Callable[[int], None], stop: asyncio.Event) -> None:
    """Serve until ``stop`` is set. ``ready`` is called with the port once the socket listens.

    Raises:
        OSError: The port is taken.
    """
    endpoint = FaultyEndpoint(config)
    try:
        server = await asyncio.start_server(endpoint.serve, config.paced.host, config.paced.port, backlog=1024)
        ready(server.sockets[0].getsockname()[1])
        while not stop.is_set():
            endpoint.truth.flush()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), 1.0)
        server.close()
        for task in list(endpoint.tasks):
            task.cancel()
        await asyncio.gather(*endpoint.tasks, return_exceptions=True)
    finally:
        endpoint.truth.close()
