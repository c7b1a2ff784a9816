"""What a client asked for: the little of an OpenAI-style request that decides the shape of the answer."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Literal, cast

import msgspec

Api = Literal["chat", "completions", "responses", "embeddings"]

PATHS: dict[str, Api] = {
    "/v1/chat/completions": "chat",
    "/v1/completions": "completions",
    "/v1/responses": "responses",
    "/v1/embeddings": "embeddings",
}


class BadAsk(Exception):
    """The body is not a request of this API; the text says why."""


@dataclass(slots=True)
class Ask:
    """One request, decoded. ``limit`` is its max_tokens by any name; ``inputs`` are an embedding request's texts."""

    api: Api
    model: str | None = None
    streamed: bool = False
    limit: int | None = None
    ignore_eos: bool = False
    include_usage: bool = False
    continuous_usage: bool = False
    user: str | None = None
    prompt_tokens: int = 0
    prompt_sha: str = ""
    inputs: tuple[str, ...] = ()
    base64: bool = False


def read_ask(api: Api, body: bytes) -> Ask:
    """Decode a request body.

    Raises:
        BadAsk: Not JSON, not an object, or a field of the wrong type.
    """
    try:
        raw = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError) as problem:
        raise BadAsk(f"the body is not JSON: {problem}") from problem
    if not isinstance(raw, dict):
        raise BadAsk("the body is not a JSON object")
    fields = cast("dict[str, Any]", raw)
    ask = Ask(api)
    model, user = fields.get("model"), fields.get("user")
    ask.model = model if isinstance(model, str) else None
    ask.user = user if isinstance(user, str) else None
    ask.streamed = fields.get("stream") is True and api != "embeddings"
    ask.limit = _limit(fields)
    ask.ignore_eos = fields.get("ignore_eos") is True
    options = fields.get("stream_options")
    if isinstance(options, dict):
        stream_options = cast("dict[str, Any]", options)
        ask.include_usage = stream_options.get("include_usage") is True
        ask.continuous_usage = stream_options.get("continuous_usage_stats") is True
    ask.base64 = fields.get("encoding_format") == "base64"
    _measure_prompt(ask, fields)
    return ask


def _limit(fields: dict[str, Any]) -> int | None:
    for name in ("max_completion_tokens", "max_tokens", "max_output_tokens"):
        value = fields.get(name)
        if value is None:
            continue
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise BadAsk(f"{name} must be a positive integer")
        return value
    return None


def _measure_prompt(ask: Ask, fields: dict[str, Any]) -> None:
    name = {"chat": "messages", "completions": "prompt", "responses": "input", "embeddings": "input"}[ask.api]
    prompt = fields.get(name)
    if prompt is None:
        raise BadAsk(f"'{name}' is missing")
    if isinstance(prompt, list) and prompt and all(isinstance(token, int) for token in cast("list[Any]", prompt)):
        ids = cast("list[int]", prompt)
        ask.prompt_tokens = len(ids)
        texts = [" ".join(map(str, ids))]
    else:
        texts = list(_texts(prompt))
        ask.prompt_tokens = sum(len(text.split()) for text in texts)
    ask.prompt_sha = hashlib.sha256("\n".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    if ask.api == "embeddings":
        ask.inputs = tuple(texts)


def _texts(value: Any) -> list[str]:
    """Every text of a prompt: a string, a list of strings, messages, or messages of content parts."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [text for item in cast("list[Any]", value) for text in _texts(item)]
    if isinstance(value, dict):
        part = cast("dict[str, Any]", value)
        return _texts(part.get("content", part.get("text")))
    return []
