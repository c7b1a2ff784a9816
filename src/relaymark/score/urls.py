"""One name for one page, however its URL is written; and which gold pages a corpus can give at all."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from urllib.parse import unquote

_SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_HOST = re.compile(r"^(?:www\.)?(?:([a-z-]+)\.m\.)?", re.IGNORECASE)
_URL = re.compile(r"https?://")


def normalise_url(url: str) -> str:
    """A page's name: without scheme, ``www.``, mobile host, query, fragment and a trailing slash or ``.html``; decoded,
    spaces as underscores, in lower case. Idempotent on what it gives.
    """
    name = _SCHEME.sub("", url.strip())
    name = name.partition("#")[0].partition("?")[0]
    name = unicodedata.normalize("NFC", unquote(name, errors="replace"))
    name = _HOST.sub(lambda match: f"{match[1]}." if match[1] else "", name.casefold(), count=1)
    name = "_".join(name.split())
    return name.rstrip("/_").removesuffix(".html").rstrip("/_")


def split_urls(cell: str) -> list[str]:
    """The URLs in a gold cell: some cells hold several, separated by spaces, commas or line breaks."""
    starts = [match.start() for match in _URL.finditer(cell)]
    if len(starts) < 2:
        return [cell.strip()] if cell.strip() else []
    ends = [*starts[1:], len(cell)]
    return [cell[start:end].strip(" \t\r\n,;|") for start, end in zip(starts, ends, strict=True)]


def page_names(urls: Iterable[str]) -> frozenset[str]:
    """The names of all pages in gold cells or retrieved URLs."""
    return frozenset(name for cell in urls for url in split_urls(cell) if (name := normalise_url(url)))


class GoldMap(NamedTuple):
    """What a corpus can give of a question's gold pages. Counts of gold cells."""

    gold: int
    verbatim: int  # a page of the corpus has this very URL
    normalised: int  # … or one that names the same page
    missing: tuple[str, ...]  # no page of the corpus is meant

    @property
    def ceiling(self) -> float | None:
        """Highest recall by the official, verbatim comparison; ``None`` without gold pages."""
        return self.verbatim / self.gold if self.gold else None


def map_gold(gold_urls: Sequence[str], corpus_urls: Iterable[str]) -> GoldMap:
    """Maps a question's gold cells to a corpus (the values of ``url_mapping.json``).

    The official evaluator compares verbatim, so a fragment, an escaped letter or two URLs in a cell make a page
    that no retrieval can hit; this says how much of the recall that costs.
    """
    corpus = frozenset(corpus_urls)
    names = page_names(corpus)
    return map_gold_to(gold_urls, corpus, names)


def map_gold_to(gold_urls: Sequence[str], corpus: frozenset[str], names: frozenset[str]) -> GoldMap:
    """The same for many questions: ``corpus`` and its ``page_names`` are made once."""
    distinct = list(dict.fromkeys(cell for cell in gold_urls if cell.strip()))
    verbatim = sum(cell in corpus for cell in distinct)
    missing = tuple(cell for cell in distinct if not page_names([cell]) <= names)
    return GoldMap(len(distinct), verbatim, len(distinct) - len(missing), missing)
