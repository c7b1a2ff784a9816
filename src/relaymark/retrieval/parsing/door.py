"""One parser for all kinds of documents, in the mode that was asked for."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol

from relaymark.errors import ConfigError
from relaymark.retrieval.parsing.documents import MAX_BYTES, Document


class Parsed(NamedTuple):
    """A document's text, its URL, and its title where there is one."""

    text: str
    url: str
    title: str = ""


class Parser(Protocol):
    """Reads documents. ``name`` says how, with the versions of the libraries that decide the text."""

    name: str

    def __call__(self, document: Document) -> Parsed:
        """Text of a document. Raises ValueError (also UnicodeDecodeError) or OSError for one that can't be read."""
        ...


class _Door:
    def __init__(self, name: str, html: Callable[[bytes], tuple[str, str]]) -> None:
        self.name = name
        self._html = html

    def __call__(self, document: Document) -> Parsed:
        data = _bytes(document)
        if document.kind == "html":
            text, title = self._html(data)
            return Parsed(text, document.url, title)
        if document.kind == "jsonl":
            return _record(data, document)
        text = data.decode("utf-8-sig")
        if document.kind == "markdown":
            from relaymark.retrieval.parsing.markdown import plain  # noqa: PLC0415 - only who has such files

            return Parsed(*plain(text, document.url))
        return Parsed(text, document.url)


def open_parser(mode: str) -> Parser:
    """The parser for ``mode``: ``mlperf`` (BeautifulSoup over lxml, the reference's rules) or ``fast`` (selectolax).

    Raises:
        ConfigError: A package is not installed. There is no silent fallback to another parser: it would change the
            text, and with it the count of passages.
    """
    try:
        if mode == "mlperf":
            from relaymark.retrieval.parsing import reference  # noqa: PLC0415 - only who asks for it

            return _Door(reference.NAME, reference.text_of)
        from relaymark.retrieval.parsing import fast  # noqa: PLC0415 - only who asks for it

        return _Door(fast.NAME, fast.text_of)
    except ImportError as error:
        raise ConfigError(
            f"the parser needs a package that isn't installed: {error.name}",
            where=f"parser {mode}",
            mend="pip install 'relaymark[rag]'",
        ) from None


def _bytes(document: Document) -> bytes:
    with Path(document.path).open("rb") as file:
        file.seek(document.begin)
        data = file.read(min(document.size, MAX_BYTES + 1) if document.size >= 0 else MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ValueError(f"larger than {MAX_BYTES >> 20} MiB")
    return data


def _record(line: bytes, document: Document) -> Parsed:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the line is no JSON: {error}") from None
    if not isinstance(found, dict) or not isinstance(found.get("text"), str):
        raise ValueError("the line is no object with a text")
    url, title = found.get("url"), found.get("title")
    parsed = Parsed(
        found["text"], url if isinstance(url, str) and url else document.url, title if isinstance(title, str) else ""
    )
    try:
        "".join(parsed).encode()
    except UnicodeEncodeError:  # JSON may escape half of a pair of surrogates, which is no text
        raise ValueError("the line holds half a character") from None
    return parsed
