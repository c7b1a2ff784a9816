"""One record of a data set (a JSON object, a CSV row, a Parquet row) read as a prompt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from relaymark.data.prompt import Prompt
from relaymark.errors import ConfigError

PROMPT_FIELDS = ("messages", "prompt", "text")
# Fields of OpenAI's APIs that a data set may set per request; any other field is the data set's own and not sent.
REQUEST_FIELDS = (
    "temperature", "top_p", "top_k", "min_p", "seed", "stop", "tools", "tool_choice", "response_format",
    "reasoning_effort", "presence_penalty", "frequency_penalty", "repetition_penalty", "logit_bias", "min_tokens",
    "ignore_eos", "parallel_tool_calls",
)  # fmt: skip
READ_FIELDS = (*PROMPT_FIELDS, *REQUEST_FIELDS, "system", "max_tokens", "id", "extra")


def prompt_from(record: Any, *, where: str) -> Prompt:
    """Return the prompt that ``record`` holds.

    Fields: ``messages`` (a list of role/content objects, or such a list as JSON text) or ``prompt`` or ``text``;
    optional ``system`` (put before it), ``max_tokens``, ``id``, ``extra`` (an object of request fields) and the
    request fields of `REQUEST_FIELDS` by name. Other fields are ignored. Empty values count as absent.

    Raises:
        ConfigError: no prompt in it, or a field of the wrong kind; ``where`` says which record.
    """
    if isinstance(record, str):
        return Prompt(text=_filled(record, "prompt", where))
    if not isinstance(record, Mapping):
        raise ConfigError(
            "a prompt must be an object with a prompt, text or messages field",
            where=where,
            mend='write lines such as {"prompt": "Name three rivers."}',
        )
    fields = {str(key): value for key, value in cast(Mapping[Any, Any], record).items() if value not in (None, "")}
    extra: dict[str, Any] = {name: fields[name] for name in REQUEST_FIELDS if name in fields}
    if "extra" in fields:
        extra |= _object(_decoded(fields["extra"], "extra", where), where)
    text, messages = _content(fields, list(cast(Mapping[Any, Any], record)), where)
    if "system" in fields:
        system = {"role": "system", "content": _filled(fields["system"], "system", where)}
        messages = [system, *(messages or [{"role": "user", "content": text}])]
        text = None
    return Prompt(
        text=text,
        messages=messages,
        max_tokens=_count(fields.get("max_tokens"), where),
        id=str(fields["id"]) if "id" in fields else None,
        extra=extra,
    )


def _content(fields: dict[str, Any], found: list[Any], where: str) -> tuple[str | None, list[dict[str, Any]] | None]:
    name = next((name for name in PROMPT_FIELDS if name in fields), None)
    if name is None:
        names = ", ".join(str(key)[:40] for key in found[:12]) or "none"
        raise ConfigError(
            f"no prompt here; the fields are: {names}", where=where, mend="name one of them prompt, text or messages"
        )
    if name != "messages":
        return _filled(fields[name], name, where), None
    messages = _decoded(fields["messages"], "messages", where)
    if not isinstance(messages, list) or not messages:
        raise ConfigError("messages must be a list of objects with role and content", where=where)
    for message in cast(list[Any], messages):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise ConfigError("each message must be an object with a role", where=where)
    return None, cast(list[dict[str, Any]], messages)


def _filled(value: Any, name: str, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ConfigError(f"{name} must be text that isn't empty", where=where, mend="fill it in, or drop the record")
    return value


def _decoded(value: Any, name: str, where: str) -> Any:
    """Tables hold structure as JSON text."""
    if not isinstance(value, str):
        return value
    try:
        return msgspec.json.decode(value)
    except msgspec.DecodeError as error:
        raise ConfigError(f"{name} isn't JSON: {error}", where=where) from None


def _object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError("extra must be an object of request fields", where=where)
    return cast(dict[str, Any], value)


def _count(value: Any, where: str) -> int | None:
    if value is None:
        return None
    number = value
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
        number = int(value.strip()[:18])
    if isinstance(value, float) and value.is_integer():
        number = int(value)
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise ConfigError(f"max_tokens must be a whole number of at least 1, got {value!r}", where=where)
    return number
