"""The scripted endpoint's server: the paced endpoint's connections, with answers that a script gives."""

from __future__ import annotations

import asyncio
import gc
import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from time import monotonic_ns
from typing import Any

from relaymark.emulate.answer import Answer
from relaymark.emulate.ask import BadAsk
from relaymark.emulate.endpoint import Connection, PacedEndpoint
from relaymark.emulate.pacedconfig import PacedConfig
from relaymark.emulate.script import Reply, Script, ScriptRequest, read_request, text_of
from relaymark.emulate.scriptedconfig import ScriptedConfig
from relaymark.emulate.scriptedvoice import ScriptedVoice
from relaymark.emulate.truth import TruthRecord

_REASONS = {400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}
_KEPT = 4096  # paces that are kept ready


class ScriptedEndpoint(PacedEndpoint):
    """What all connections share: the script, beside all that a paced endpoint has."""

    def __init__(self, config: ScriptedConfig, script: Script, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(config.paced, loop)
        self.script = script
        self.roles: Counter[str] = Counter()
        self.server: asyncio.Server | None = None
        self._scripted = config
        self._paces: dict[tuple[str, int, float], PacedConfig] = {}
        self._left = config.down_after

    def pace(self, reply: Reply, voice: ScriptedVoice, limit: int | None) -> PacedConfig:
        """Timing and length of an answer that may be cut at ``limit`` tokens."""
        said = voice.tokens if limit is None else min(voice.tokens, limit)
        key = (reply.role, voice.tokens, min(voice.reasoning, said) / said)
        found = self._paces.get(key)
        if found is None:
            shape = {"tokens": voice.tokens, "reasoning_share": key[2]}
            own = self._scripted.pace.get(reply.role)
            if own is not None:
                shape |= {"ttft": own.ttft, "itl": own.itl, "prefill": own.prefill}
            if len(self._paces) >= _KEPT:
                self._paces.clear()
            found = self._paces[key] = replace(self.config, **shape)
        return found

    def take(self) -> bool:
        """Counts a request; False when the endpoint has answered all that it will, and goes away."""
        if self._left is None:
            return True
        self._left -= 1
        if self._left >= 0:
            return True
        if self.server is not None:
            self.server.close()
        for connection in list(self.connections):
            connection.abort()
        return False

    def _begin(self, answer: Answer, at: int) -> None:
        if self.config.slots is not None:
            super()._begin(answer, at)
            return
        # What is due at once is sent at once, without the detour over the timer.
        self._active += 1
        self._peak = max(self._peak, self._active)
        due = answer.start(at)
        while due and due <= monotonic_ns():
            due = answer.step()
        if due:
            self.pacer.add(due, answer)

    def stats(self) -> dict[str, Any]:
        """Counters, for GET /stats: those of the paced endpoint, and the requests by role."""
        return {**super().stats(), "roles": dict(self.roles)}


class ScriptedConnection(Connection):
    """One client connection whose chat requests the script answers."""

    def __init__(self, endpoint: ScriptedEndpoint) -> None:
        super().__init__(endpoint)
        self._desk = endpoint

    def _post(self, path: str, headers: dict[str, str], body: bytes, close: bool, now: int) -> None:
        if path != "/v1/chat/completions":
            self._fail(404, f"a scripted endpoint speaks chat only, not {path}", close, now)
            return
        if not self._desk.take():
            return
        try:
            request = read_request(body, headers)
        except BadAsk as problem:
            self._fail(400, str(problem), close, now)
            return
        config = self._desk.config
        if config.strict_model and request.ask.model != config.model:
            self._fail(404, f"The model `{request.ask.model}` does not exist.", close, now)
            return
        reply = self._desk.script.reply(request)
        self._desk.roles[reply.role] += 1
        if reply.status != 200:
            self._fail(reply.status, reply.error, close, now)
        else:
            self._speak(request, reply, headers, close, now)

    def _speak(self, request: ScriptRequest, reply: Reply, headers: Mapping[str, str], close: bool, now: int) -> None:
        endpoint = self._desk
        seq = endpoint.next_seq()
        voice = ScriptedVoice(endpoint.config, reply, seq)
        ask = request.ask
        truth = TruthRecord(
            seq=seq,
            id=headers.get("x-relaymark-id"),
            user=ask.user,
            prompt_sha=_prompt_sha(request) if endpoint.config.log_path is not None else "",
            streamed=ask.streamed,
            prompt_tokens=ask.prompt_tokens,
            arrived=now,
        )

        def done(freed: int) -> None:
            endpoint.release(answer, truth, freed)
            if self._answer is answer:
                self._answer = None
                self._next_request(close)

        answer = Answer(
            endpoint.pace(reply, voice, ask.limit),
            voice,
            ask,
            truth,
            write=self._write,
            done=done,
            gzip=endpoint.config.gzip and "gzip" in headers.get("accept-encoding", ""),
            close=close,
        )
        self._answer = answer
        endpoint.admit(answer, truth)

    def _fail(self, status: int, why: str, close: bool, now: int) -> None:
        kind = "not_found_error" if status == 404 else "invalid_request_error" if status < 500 else "server_error"
        body = {"error": {"message": why, "type": kind, "param": None, "code": None}}
        self._reply(f"{status} {_REASONS.get(status, 'Scripted')}", body, close, now)


def _prompt_sha(request: ScriptRequest) -> str:
    text = "\n".join(text_of(message) for message in request.messages)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


async def serve_scripted(
    config: ScriptedConfig, script: Script, ready: Callable[[int], None], stop: asyncio.Event
) -> None:
    """Serve until ``stop`` is set. ``ready`` is called with the port once the socket listens.

    Raises:
        OSError: The port is taken.
    """
    loop = asyncio.get_running_loop()
    endpoint = ScriptedEndpoint(config, script, loop)
    try:
        server = await loop.create_server(
            lambda: ScriptedConnection(endpoint), config.paced.host, config.paced.port, backlog=4096
        )
        endpoint.server = server
        gc.freeze()  # what exists now is never garbage; a collection in a burst would make answers late
        gc.set_threshold(50_000, 50, 1000)
        ready(server.sockets[0].getsockname()[1])
        while not stop.is_set():
            endpoint.truth.flush()
            try:
                await asyncio.wait_for(stop.wait(), 1.0)
            except TimeoutError:
                continue
        server.close()
    finally:
        endpoint.close()
