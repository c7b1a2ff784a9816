"""What an endpoint speaks, streams and reports, found out with a handful of requests; and what would spoil a run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from relaymark.bench.secrets import request_headers
from relaymark.dialects import Decoded, Dialect, dialect
from relaymark.relay.decode import leg_from_capture
from relaymark.relay.plan import Plan
from relaymark.relay.preflight import choose_model, look
from relaymark.relay.redaction import Redactor
from relaymark.relay.reply import Reply, ask
from relaymark.trace import ChunkTokens, Leg
from relaymark.wire import Limits, Target, parse_url, resolve

_PROMPT = "Name the colours of the rainbow in order, with a short remark on each."
_TOKENS = 24
_PROBED = ("openai-completions", "openai-responses", "openai-embeddings")


class Weight(StrEnum):
    """What a finding means for a benchmark."""

    GOOD = "good"
    NOTE = "note"
    SPOILS = "spoils"  # would make some number wrong or absent


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found out, in plain words."""

    topic: str
    text: str
    weight: Weight = Weight.GOOD


@dataclass(slots=True)
class Probe:
    """All that was found out. Texts may quote the endpoint: untrusted."""

    url: str
    model: str
    models: list[str] | None
    findings: list[Finding] = field(default_factory=list[Finding])
    redactor: Redactor = field(default_factory=Redactor)

    def add(self, topic: str, text: str, weight: Weight = Weight.GOOD) -> None:
        """Adds a finding."""
        self.findings.append(Finding(topic, self.redactor.text(text), weight))

    @property
    def spoils(self) -> bool:
        """True when something would spoil a benchmark."""
        return any(finding.weight is Weight.SPOILS for finding in self.findings)


def probe(url: str, model: str | None, *, api_key_env: str = "OPENAI_API_KEY", verify_tls: bool = True) -> Probe:
    """Probes one endpoint with about six short requests.

    Raises:
        ConfigError: The URL, key or model cannot be used.
        UnreachableError: Nothing answers there.
    """
    target = resolve(parse_url(url, verify_tls=verify_tls))
    keys = Plan(run_id="", workers=1, url=url, path="", dialect="", model="", streamed=True, api_key_env=api_key_env)
    headers = request_headers(keys, os.environ)
    redactor = Redactor.of(keys, os.environ)
    served = look(target, headers, redactor)
    found = Probe(target.url, choose_model(served, model, target.url), served.models, redactor=redactor)
    if served.models is None:
        found.add("models", "GET /v1/models gives no list; the model's name cannot be checked.", Weight.NOTE)
    else:
        found.add("models", f"{len(served.models)} listed: {', '.join(served.models[:5])}")
    chat = dialect("openai-chat")
    leg, decoded, reply = _try(found.redactor, target, headers, chat, found.model, stream=True)
    if not leg.outcome.good:
        found.add("chat", f"streaming chat does not work: {_trouble(leg)}", Weight.SPOILS)
    else:
        _streaming(found, leg, decoded, reply)
        _usage(found, leg, decoded)
        _server_timings(found, leg)
        _lengths(found, leg, decoded)
        again, _, _ = _try(found.redactor, target, headers, chat, found.model, stream=True)
        _prefix_cache(found, leg, again)
    whole, _, _ = _try(found.redactor, target, headers, chat, found.model, stream=False)
    if whole.outcome.good:
        found.add("without streaming", "works" + ("" if whole.completion_tokens else ", but reports no token counts"))
    else:
        found.add("without streaming", f"does not work: {_trouble(whole)}", Weight.NOTE)
    for name in _PROBED:
        _other_api(found, target, headers, name)
    return found


def _try(
    redactor: Redactor, target: Target, headers: Mapping[str, str], api: Dialect, model: str, *, stream: bool
) -> tuple[Leg, Decoded, Reply]:
    path, body = api.encode(
        text=_PROMPT,
        max_tokens=None if api.name == "openai-embeddings" else _TOKENS,
        sampling=None if api.name == "openai-embeddings" else {"temperature": 0},
        model=model,
        stream=stream and api.streams,
    )
    streamed = stream and api.streams
    reply = ask(
        target, "POST", path, headers, body, dialect=api.name, streamed=streamed, seconds=60.0, redactor=redactor
    )
    leg, decoded = leg_from_capture(reply.capture, Limits().body, None)
    redactor.leg(leg)
    return leg, decoded, reply


def _streaming(found: Probe, leg: Leg, decoded: Decoded, reply: Reply) -> None:
    kind = reply.response.header("content-type") or "no content-type"
    events = len(leg.chunk_at)
    if decoded.incremental is False or events < 2:
        found.add(
            "streaming",
            f"the answer came in one piece ({events} events, {kind}): a proxy buffers it, or the server does not "
            "stream. TTFT and ITL mean nothing here.",
            Weight.SPOILS,
        )
        return
    ttft = ((leg.first_token or 0) - (leg.sent or 0)) / 1e6
    span = (leg.chunk_at[-1] - leg.chunk_at[0]) / 1e6
    found.add(
        "streaming",
        f"incremental: {events} events over {span:.0f} ms, the first after {ttft:.1f} ms "
        f"({leg.stamp_source} stamps; one request says little of speed)",
    )
    if leg.coalesced > events // 2:
        found.add(
            "coalescing",
            f"{leg.coalesced} of {events} events shared a network read with the one before: gaps are blurred.",
            Weight.NOTE,
        )
    if decoded.reasonings and any(decoded.reasonings):
        found.add("reasoning", "sends reasoning apart from the answer; TTFAT is reported beside TTFT", Weight.NOTE)
    for warning in decoded.warnings[:5]:
        found.add("stream format", warning, Weight.NOTE)


def _usage(found: Probe, leg: Leg, decoded: Decoded) -> None:
    if leg.completion_tokens is None:
        found.add(
            "token counts", "none in the stream: token rates, TPOT and ITL weights will be absent.", Weight.SPOILS
        )
        return
    cached = "" if leg.cached_tokens is None else f", {leg.cached_tokens} from its cache"
    found.add("token counts", f"{leg.prompt_tokens} prompt{cached}, {leg.completion_tokens} completion tokens")
    match leg.chunk_tokens_source:
        case ChunkTokens.USAGE:
            found.add("tokens per event", "the server counts tokens with every event: ITL weights are exact")
        case ChunkTokens.ONE:
            found.add("tokens per event", "one token an event: ITL is exact")
        case _:
            ratio = leg.completion_tokens / max(1, len(decoded.deltas))
            found.add(
                "tokens per event",
                f"{ratio:.2f} on average and not told per event: ITL is weighted with the mean.",
                Weight.NOTE,
            )


def _server_timings(found: Probe, leg: Leg) -> None:
    if leg.server_decode_ns is None:
        found.add("server timings", "none in the answer", Weight.NOTE)
        return
    prefill = (leg.server_prefill_ns or 0) / 1e6
    found.add(
        "server timings", f"prefill {prefill:.1f} ms, decode {leg.server_decode_ns / 1e6:.1f} ms by its own clock"
    )


def _lengths(found: Probe, leg: Leg, decoded: Decoded) -> None:
    count = leg.completion_tokens
    if count is not None and count > _TOKENS:
        found.add("max_tokens", f"not honoured: {_TOKENS} asked for, {count} given.", Weight.SPOILS)
    elif decoded.finish_reason == "length":
        found.add("max_tokens", "honoured")


def _prefix_cache(found: Probe, first: Leg, again: Leg) -> None:
    if not again.outcome.good or again.cached_tokens is None:
        return
    if again.cached_tokens > (first.cached_tokens or 0):
        found.add(
            "prefix cache",
            f"on: the same prompt again took {again.cached_tokens} of {again.prompt_tokens} tokens from the cache. "
            "Repeated prompts flatter TTFT; use distinct ones.",
            Weight.NOTE,
        )


def _other_api(found: Probe, target: Target, headers: Mapping[str, str], name: str) -> None:
    leg, decoded, _ = _try(found.redactor, target, headers, dialect(name), found.model, stream=True)
    if leg.outcome.good:
        what = f", {decoded.dimensions} dimensions" if decoded.dimensions else ""
        found.add(name, f"works{what}")
    else:
        found.add(name, f"not offered: {_trouble(leg)}", Weight.NOTE)


def _trouble(leg: Leg) -> str:
    status = f"HTTP {leg.http_status}" if leg.http_status else ""
    parts = [str(leg.outcome).replace("_", " "), status, (leg.error_message or "")[:200]]
    return ", ".join(part for part in parts if part)
