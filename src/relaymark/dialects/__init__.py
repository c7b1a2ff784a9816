"""What is said on the wire: one module per API, HTTP/1.1 framing, event streams, outcomes. No I/O."""

from __future__ import annotations

from typing import Final

from relaymark.dialects.any_json import AnyJson
from relaymark.dialects.decoded import Channel, Decoded, Delta, ToolCall
from relaymark.dialects.decoding import decode_with
from relaymark.dialects.dialect import Dialect
from relaymark.dialects.http1 import BAD_FRAMING, COMPLETE, NEED_MORE, TOO_LARGE, ResponseFramer
from relaymark.dialects.openai_chat import OpenAIChat
from relaymark.dialects.openai_completions import OpenAICompletions
from relaymark.dialects.openai_embeddings import OpenAIEmbeddings
from relaymark.dialects.openai_responses import OpenAIResponses
from relaymark.dialects.response import MAX_BODY, MAX_HEADER, ParsedResponse, parse_response
from relaymark.dialects.sse import Event, EventStream, parse_events
from relaymark.errors import ConfigError
from relaymark.trace import Capture

__all__ = [
    "BAD_FRAMING",
    "COMPLETE",
    "DIALECTS",
    "MAX_BODY",
    "MAX_HEADER",
    "NEED_MORE",
    "TOO_LARGE",
    "Channel",
    "Decoded",
    "Delta",
    "Dialect",
    "Event",
    "EventStream",
    "ParsedResponse",
    "ResponseFramer",
    "ToolCall",
    "decode_capture",
    "dialect",
    "parse_events",
    "parse_response",
]

_ALL: Final[tuple[Dialect, ...]] = (OpenAIChat(), OpenAICompletions(), OpenAIResponses(), OpenAIEmbeddings())
_BY_NAME: Final[dict[str, Dialect]] = {dialect.name: dialect for dialect in (*_ALL, AnyJson())}

DIALECTS: Final[tuple[str, ...]] = tuple(dialect.name for dialect in _ALL)
"""Names of the APIs spoken here."""


def dialect(name: str) -> Dialect:
    """The API called ``name``.

    Raises:
        ConfigError: There is none of that name.
    """
    found = _BY_NAME.get(name)
    if found is None:
        raise ConfigError(f"no API called {name!r}", mend="use one of " + ", ".join(DIALECTS))
    return found


def decode_capture(capture: Capture, max_body: int = MAX_BODY) -> Decoded:
    """Decode one attempt by the API its capture names. Gives an outcome whatever the bytes are.

    ``max_body`` bounds the body in bytes, before and after decompression.

    Raises:
        ConfigError: The capture names an API that is not spoken here; no bytes can cause it.
    """
    return decode_with(dialect(capture.dialect), capture, max_body)
