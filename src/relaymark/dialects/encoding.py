"""Request bodies: only what the user set, in a stable order, so that equal inputs give equal bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from relaymark.errors import ConfigError

Fields = Mapping[str, object]
Messages = Sequence[Fields]

_encode = msgspec.json.Encoder().encode


def request_body(
    head: Fields,
    *,
    limit_key: str,
    max_tokens: int | None,
    sampling: Fields | None,
    extra: Fields | None,
    stream: bool,
    include_usage: bool,
) -> bytes:
    """Put a JSON body together.

    ``head`` comes first (a ``model`` of ``None`` is left out), then the run's ``sampling`` settings (``None`` means
    not set), then the prompt's own token limit under ``limit_key`` (or under whichever spelling the user
    chose already), then the prompt's ``extra`` keys, which win. ``stream`` is ours to set, since decoding relies
    on it; with ``include_usage`` the stream is asked for token counts unless the user said otherwise.
    """
    body: dict[str, object] = {key: value for key, value in head.items() if value is not None}
    body.update((key, value) for key, value in (sampling or {}).items() if value is not None)
    if max_tokens is not None:
        body["max_completion_tokens" if "max_completion_tokens" in body else limit_key] = max_tokens
    body.update(extra or {})
    body.pop("stream", None)
    if stream:
        body["stream"] = True
        if include_usage:
            options = body.get("stream_options")
            given = options if isinstance(options, Mapping) else {}
            body["stream_options"] = {"include_usage": True, **given}
    else:
        body.pop("stream_options", None)
    try:
        return _encode(body)
    except (TypeError, ValueError, UnicodeEncodeError, msgspec.MsgspecError) as error:
        raise ConfigError(
            f"a request cannot be written as JSON: {error}",
            mend="use only text, numbers, lists and mappings in prompts and sampling settings",
        ) from None


def wrong_input(api: str, needs: str) -> ConfigError:
    """The error for a prompt of a kind the API does not take."""
    return ConfigError(f"{api} takes {needs}", mend="choose prompts of that kind, or another API")
