"""What a scripted endpoint says: a script turns each request into a reply. :func:`open_script` finds one by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, TypeVar, cast

import msgspec

from relaymark.emulate.ask import Ask, BadAsk
from relaymark.errors import ConfigError


class ToolCall(msgspec.Struct, kw_only=True, frozen=True):
    """A call that the "model" wants made. ``arguments`` is JSON text, or whatever else a bad model would send."""

    name: str
    arguments: str = "{}"
    id: str = ""  # "": made from the reply's id


class Reply(msgspec.Struct, kw_only=True, frozen=True):
    """One answer. A ``status`` other than 200 sends ``error`` as an OpenAI error object instead of an answer."""

    content: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish: str = ""  # "": stop, tool_calls or length, as the answer is
    role: str = ""  # which of an endpoint's paces it takes; counted in /stats
    status: int = 200
    error: str = ""


@dataclass(slots=True)
class ScriptRequest:
    """A chat request as a script sees it."""

    fields: dict[str, Any]  # the decoded body
    body: bytes
    headers: Mapping[str, str]  # names in lower case
    ask: Ask

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation."""
        return cast("list[dict[str, Any]]", self.fields["messages"])

    @property
    def last(self) -> str:
        """Text of the last message; its text parts joined by newlines."""
        return text_of(self.messages[-1])

    @property
    def user(self) -> str:
        """Text of the last message of the user; empty where there is none."""
        return next((text_of(message) for message in reversed(self.messages) if message.get("role") == "user"), "")

    @property
    def schema_name(self) -> str:
        """Name of the JSON schema that the answer must follow; empty where none was given."""
        wanted = self.fields.get("response_format")
        schema = cast("dict[str, Any]", wanted).get("json_schema") if isinstance(wanted, dict) else None
        name = cast("dict[str, Any]", schema).get("name") if isinstance(schema, dict) else None
        return name if isinstance(name, str) else ""


class Script(Protocol):
    """Says what a model would say. Called in the server's process, one request at a time: it must be quick."""

    def reply(self, request: ScriptRequest) -> Reply:
        """The answer to a request."""
        ...


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a chat message: its content, or the text parts of it."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part for part in cast("list[Any]", content) if isinstance(part, dict)]
        return "\n".join(part["text"] for part in parts if isinstance(part.get("text"), str))
    return ""


def read_request(body: bytes, headers: Mapping[str, str]) -> ScriptRequest:
    """Decodes a chat request.

    Raises:
        BadAsk: Not JSON, not an object, no messages, or a field of the wrong type.
    """
    try:
        raw = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as problem:
        raise BadAsk(f"the body is not JSON: {problem}") from problem
    if not isinstance(raw, dict):
        raise BadAsk("the body is not a JSON object")
    fields = cast("dict[str, Any]", raw)
    messages = fields.get("messages")
    if not isinstance(messages, list) or not messages:
        raise BadAsk("'messages' is missing or empty")
    if not all(isinstance(message, dict) for message in cast("list[Any]", messages)):
        raise BadAsk("a message is not an object")
    ask = Ask("chat")
    model, user, options = fields.get("model"), fields.get("user"), fields.get("stream_options")
    ask.model = model if isinstance(model, str) else None
    ask.user = user if isinstance(user, str) else None
    ask.streamed = fields.get("stream") is True
    if isinstance(options, dict):
        stream_options = cast("dict[str, Any]", options)
        ask.include_usage = stream_options.get("include_usage") is True
        ask.continuous_usage = stream_options.get("continuous_usage_stats") is True
    limit = fields.get("max_completion_tokens", fields.get("max_tokens"))
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
        raise BadAsk("max_tokens must be a positive integer")
    ask.limit = limit
    ask.prompt_tokens = sum(len(text_of(message).split()) for message in cast("list[dict[str, Any]]", messages))
    return ScriptRequest(fields, body, headers, ask)


# A script's name, and where the function lives that opens it: (what follows the colon, its settings) → Script.
SCRIPTS: dict[str, str] = {
    "world": "relaymark.emulate.scriptedworld:open_world",
    "table": "relaymark.emulate.scriptedtable:open_table",
    "record": "relaymark.emulate.scriptedtable:open_record",
}


def open_script(spec: str, settings: Mapping[str, Any]) -> Script:
    """Opens the script that ``spec`` names: ``world:DIR``, ``table:FILE`` or ``record:FILE``.

    Raises:
        ConfigError: No such script, or its file or settings can't be used.
    """
    name, colon, rest = spec.partition(":")
    home = SCRIPTS.get(name)
    if home is None or not colon or not rest:
        known = ", ".join(f"{name}:…" for name in SCRIPTS)
        raise ConfigError(f"no script is called {spec[:80]!r}", where="script", mend=f"name one of {known}")
    module, _, function = home.partition(":")
    opener = cast("Callable[[str, Mapping[str, Any]], Script]", getattr(import_module(module), function))
    return opener(rest, settings)


_Settings = TypeVar("_Settings", bound=msgspec.Struct)


def read_settings(settings: Mapping[str, Any], kind: type[_Settings]) -> _Settings:
    """A script's settings as its struct.

    Raises:
        ConfigError: An unknown setting, or one of the wrong type or out of range.
    """
    try:
        return msgspec.convert(dict(settings), kind)
    except (msgspec.ValidationError, ValueError) as problem:
        raise ConfigError(f"the script's settings can't be used: {problem}", where="script settings") from None
