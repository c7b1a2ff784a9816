"""One answer in progress: what is due when, and the truth about when it was sent."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from time import monotonic_ns

from relaymark.emulate.ask import Ask
from relaymark.emulate.pacedconfig import PacedConfig, plan_gaps
from relaymark.emulate.truth import TruthRecord
from relaymark.emulate.voice import WORDS, Voice, embeddings_body, usage_fields

_SECOND = 1_000_000_000
_PHASES = len(WORDS)  # the words repeat after so many tokens


def response_head(status: str, kind: str, *, length: int | None, gzip: bool, close: bool) -> bytes:
    """Status line and headers. ``length`` None means chunked."""
    lines = [f"HTTP/1.1 {status}", "server: relaymark-paced", f"content-type: {kind}"]
    if kind.startswith("text/event-stream"):
        lines.append("cache-control: no-cache")
    if gzip:
        lines.append("content-encoding: gzip")
    lines.append("transfer-encoding: chunked" if length is None else f"content-length: {length}")
    if close:
        lines.append("connection: close")
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


class Answer:
    """Sends one response on time. The pacer calls :meth:`step` at each due time.

    Args:
        write: Hands bytes to the kernel; returns False when the client is gone.
        done: Called once, after the last byte or when the client is gone; with the ns at which the slot came free.
    """

    __slots__ = (
        "_ask",
        "_close",
        "_config",
        "_done",
        "_finish",
        "_gaps",
        "_grouped",
        "_key",
        "_next",
        "_plain",
        "_raw_id",
        "_rid",
        "_said",
        "_squeeze",
        "_think",
        "_total",
        "_truth",
        "_usage",
        "_voice",
        "_write",
        "ended",
    )  # fmt: skip

    def __init__(
        self,
        config: PacedConfig,
        voice: Voice,
        ask: Ask,
        truth: TruthRecord,
        *,
        write: Callable[[bytes], bool],
        done: Callable[[int], None],
        gzip: bool,
        close: bool,
    ) -> None:
        self._config = config
        self._voice = voice
        self._ask = ask
        self._truth = truth
        self._write = write
        self._done = done
        self._close = close
        self._squeeze = zlib.compressobj(6, zlib.DEFLATED, 31) if gzip else None
        self._rid = voice.request_id(truth.seq)
        self._raw_id = self._rid.encode()
        self._key = truth.id or str(truth.seq)
        self._plan_length()
        self._usage = self._usage_mode()
        # Nothing but the request id differs between the events of plain answers: they are sent from stock.
        self._plain = self._squeeze is None and self._usage != "continuous" and ask.api in ("chat", "completions")
        self._plain = self._plain and voice.stocked
        self._grouped = config.tokens_per_chunk > 1
        self._said = 0
        self._next = 0
        self.ended = False
        self._gaps = plan_gaps(config, self._key)

    def _plan_length(self) -> None:
        limit, total = self._ask.limit, self._config.tokens
        if limit is not None and (limit <= total or self._ask.ignore_eos):
            self._total, self._finish = limit, "length"
        else:
            self._total, self._finish = total, "stop"
        self._think = 0 if self._ask.api == "completions" else round(self._config.reasoning_share * self._total)

    def _usage_mode(self) -> str:
        mode = self._config.usage
        if mode != "asked":
            return mode
        if self._ask.api == "responses" or not self._ask.streamed:
            return "on"
        if self._ask.continuous_usage and self._ask.include_usage:
            return "continuous"
        return "on" if self._ask.include_usage else "off"

    def start(self, at: int) -> int:
        """Take a slot at ``at`` (ns). Returns the first due time."""
        self._truth.started = at
        prefill = round(self._config.prefill * self._ask.prompt_tokens * _SECOND)
        self._next = at + next(self._gaps) + prefill
        if self._ask.api == "embeddings":
            return self._next
        if not self._ask.streamed:
            for _ in range(self._total - 1):
                self._next += next(self._gaps)
            return self._next
        # A chunk leaves when its last token is there.
        for _ in range(min(self._config.tokens_per_chunk, self._piece()) - 1):
            self._next += next(self._gaps)
        if self._config.role_delay is not None:
            return min(at + round(self._config.role_delay * _SECOND), self._next)
        return self._next

    def _piece(self) -> int:
        """Tokens in the next chunk; a chunk never mixes reasoning and answer."""
        left = self._think - self._said if self._said < self._think else self._total - self._said
        return min(self._config.tokens_per_chunk, left)

    def _pack(self, payload: bytes) -> bytes:
        if self._squeeze is not None:
            payload = self._squeeze.compress(payload) + self._squeeze.flush(zlib.Z_SYNC_FLUSH)
        return b"%x\r\n%b\r\n" % (len(payload), payload)

    def _pack_last(self, payload: bytes) -> bytes:
        if self._squeeze is not None:
            payload = self._squeeze.compress(payload) + self._squeeze.flush(zlib.Z_FINISH)
        return b"%x\r\n%b\r\n0\r\n\r\n" % (len(payload), payload)

    def step(self) -> int:
        """Send what is due now. Returns the next due time, 0 when the answer is over."""
        if self.ended:
            return 0
        if not self._ask.streamed:
            return self._send_whole()
        truth = self._truth
        head = b""
        if self._said == 0 and truth.role_at is None:
            head = response_head(
                "200 OK", "text/event-stream; charset=utf-8", length=None, gzip=self._squeeze is not None,
                close=self._close,
            )  # fmt: skip
            if self._config.role_delay is not None or self._ask.api == "responses":
                opening = self._voice.opening(self._rid, self._ask)
                head += self._pack(opening) if opening else b""
                truth.role_at = monotonic_ns()
                if self._config.role_delay is not None:
                    return self._next if self._write(head) else self.abandon("client_gone")
        first = self._said
        count = self._piece() if self._grouped else 1
        thinking = first < self._think
        self._said = said = first + count
        if self._plain and said < self._total:
            before, after = self._voice.pieces(first % _PHASES, count, thinking)
            data = before + self._raw_id + after
        else:
            data = self._compose(count, thinking)
        truth.due.append(self._next)
        truth.tokens.append(count)
        now = monotonic_ns()
        truth.sent_at.append(now)
        if not self._write(head + data if head else data):
            return self.abandon("client_gone")
        if said >= self._total:
            return self._finished(now)
        due = self._next + next(self._gaps)
        if self._grouped:
            for _ in range(self._piece() - 1):
                due += next(self._gaps)
        self._next = due
        return due

    def _compose(self, count: int, thinking: bool) -> bytes:
        """The HTTP chunk that ends with token ``_said``; with it goes everything that follows the last one."""
        first = self._said - count
        if self._usage == "continuous":
            running = usage_fields(self._truth.prompt_tokens, self._said, min(self._said, self._think))
            payload = self._voice.token_with_usage(self._rid, first, count, thinking, running)
        else:
            payload = self._voice.token(self._raw_id, first, count, thinking)
        if self._said < self._total:
            return self._pack(payload)
        usage = None
        if self._usage != "off":
            usage = usage_fields(self._truth.prompt_tokens, self._total, self._think)
        return self._pack_last(payload + self._voice.closing(self._rid, self._finish, usage, self._total, self._think))

    def _send_whole(self) -> int:
        truth = self._truth
        if self._ask.api == "embeddings":
            body = embeddings_body(self._config, self._ask, self._usage != "off")
        else:
            usage = None
            if self._usage != "off":
                usage = usage_fields(truth.prompt_tokens, self._total, self._think)
            body = self._voice.whole(self._rid, self._finish, usage, self._total, self._think)
            truth.due.append(self._next)
            truth.tokens.append(self._total)
            self._said = self._total
        if self._squeeze is not None:
            body = self._squeeze.compress(body) + self._squeeze.flush(zlib.Z_FINISH)
        head = response_head(
            "200 OK", "application/json", length=len(body), gzip=self._squeeze is not None, close=self._close
        )
        now = monotonic_ns()
        if truth.due:
            truth.sent_at.append(now)
        return self._finished(now) if self._write(head + body) else self.abandon("client_gone")

    def _finished(self, now: int) -> int:
        self._truth.ended = now
        self._over("done", self._next)
        return 0

    def abandon(self, why: str) -> int:
        """End it without the rest: the client went away or the server stops."""
        if not self.ended:
            self._over(why, monotonic_ns())
        return 0

    def _over(self, end: str, freed: int) -> None:
        self.ended = True
        self._truth.end = end
        self._truth.completion_tokens = self._said
        self._truth.reasoning_tokens = min(self._said, self._think)
        self._done(freed)
