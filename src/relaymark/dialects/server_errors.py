"""What went wrong, in the server's own words: JSON error bodies of the field's servers, HTML pages, plain text."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping

import msgspec

from relaymark.dialects.response import ParsedResponse
from relaymark.dialects.usage import is_array, is_object

MAX_MESSAGE = 2000
_MAX_TYPE = 200
_LOOKED_AT = 64 * 1024  # bytes of an error page worth reading

_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_TITLE = re.compile(r"<title\b[^<>]*>([^<]*)", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")

_decode = msgspec.json.Decoder().decode


class ServerError(msgspec.Struct, frozen=True):
    """An error the server told: its type or code where it gave one, and its message (bounded, one line)."""

    type: str | None
    message: str


class NotJsonError(ValueError):
    """Bytes that are no JSON text."""


def one_line(text: str, limit: int = MAX_MESSAGE) -> str:
    """Untrusted text made fit for a table: control characters and line breaks become spaces, length bounded."""
    return " ".join(_UNSEEN.sub(" ", text[: 4 * limit]).split())[:limit]


def read_json(data: bytes) -> tuple[object, bool]:
    """Decode JSON; the flag is False if it took leniency (invalid UTF-8, NaN, half a surrogate pair).

    Python servers write ``NaN`` and lone ``\\ud83d`` escapes, which strict JSON forbids: they cost nobody a token.

    Raises:
        NotJsonError: Not JSON even so.
    """
    try:
        return _decode(data), True
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, ValueError):
        pass
    try:
        return json.loads(data.decode("utf-8", "replace")), False
    except (ValueError, RecursionError) as error:
        raise NotJsonError(str(error)) from None


def error_in(obj: Mapping[str, object]) -> ServerError | None:
    """The error an object of a 200 response carries, if it is one.

    Shapes: ``{"error": {"message", "type"|"code"}}``, ``{"error": "text"}``, ``{"object": "error", "message"}``
    (vLLM), ``{"type": "error", …}`` (Responses, Anthropic).
    """
    error = obj.get("error")
    if error:
        return _told(error) or ServerError(None, one_line(_dump(error)))
    if obj.get("object") == "error" or obj.get("type") == "error":
        return _told(obj) or ServerError(None, one_line(_dump(obj)))
    return None


def error_of(obj: object) -> ServerError | None:
    """The error in a body that is known to be one: also ``{"detail": …}`` (FastAPI) and a bare ``message``."""
    if is_object(obj):
        return error_in(obj) or _told(obj)
    if is_array(obj) and obj:
        return _told(obj[0])
    if isinstance(obj, str) and obj.strip():
        return ServerError(None, one_line(obj))
    return None


def http_error(parsed: ParsedResponse) -> ServerError:
    """What a response with status ≥ 300 says."""
    status = f"HTTP {parsed.status} {parsed.reason}".strip()
    location = parsed.header("location")
    if parsed.status is not None and parsed.status < 400:
        text = f"{status}: redirects to {location}" if location else f"{status}: redirects without saying where"
        return ServerError(None, one_line(text))
    body = parsed.body[:_LOOKED_AT]
    if body.startswith((b"data:", b"event:")):
        # An error status on a stream: the first event says why.
        body = next((line[5:] for line in body.splitlines() if line.startswith(b"data:")), b"")
    try:
        told = error_of(read_json(body)[0])
    except NotJsonError:
        text = plain_text(body)
        told = ServerError(None, text) if text else None
    return told or ServerError(None, one_line(status))


def plain_text(body: bytes) -> str:
    """A page in a few words: the title of HTML, else its text; other text as it is."""
    text = body[:_LOOKED_AT].decode("utf-8", "replace")
    if "<" in text:
        title = _TITLE.search(text)
        if title and title[1].strip():
            return one_line(html.unescape(title[1]))
        text = html.unescape(_TAG.sub(" ", _without_scripts(text)))
    return one_line(text)


def _without_scripts(text: str) -> str:
    """Cut scripts, styles and comments out; searched by hand, since a backtracking pattern is slow on bad pages."""
    for begin, end in (("<script", "</script"), ("<style", "</style"), ("<!--", "-->")):
        lower = text.lower()
        if len(lower) != len(text):
            return text  # a letter that changes length in lower case; the offsets would be off
        kept: list[str] = []
        pos = 0
        while (start := lower.find(begin, pos)) >= 0:
            kept.append(text[pos:start])
            stop = lower.find(end, start)
            pos = len(text) if stop < 0 else stop
        kept.append(text[pos:])
        text = " ".join(kept)
    return text


def _told(error: object, depth: int = 0) -> ServerError | None:
    if isinstance(error, str):
        return ServerError(None, one_line(error)) if error.strip() else None
    if not is_object(error) or depth > 4:
        return None
    words = (_word(error.get(key)) for key in ("type", "code", "status"))
    kind = next((word for word in words if word not in ("", "error")), None)
    for key in ("message", "detail", "msg", "error"):
        value = error.get(key)
        if isinstance(value, str) and value.strip():
            return ServerError(kind, one_line(value))
        if is_array(value) and value:
            return ServerError(kind, one_line("; ".join(_complaint(item) for item in value[:20])))
        if is_object(value) and value:
            return _told(value, depth + 1)
    return None


def _word(value: object) -> str:
    """A string or a plain number as a short word, empty for anything else."""
    if isinstance(value, str):
        return one_line(value, _MAX_TYPE)
    if type(value) is int and abs(value) < 1 << 63:
        return str(value)
    return ""


def _complaint(item: object) -> str:
    """One entry of FastAPI's ``detail`` list: where and what."""
    if is_object(item) and isinstance(item.get("msg"), str):
        place = item.get("loc")
        where = ".".join(_word(part) for part in place[:10]) if is_array(place) else ""
        return f"{where}: {item['msg']}" if where else str(item["msg"])
    return _dump(item)


def _dump(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)[: 4 * MAX_MESSAGE]
    except (ValueError, RecursionError):
        return type(value).__name__
