"""HTML as MLPerf's reference reads it: BeautifulSoup over lxml, its selectors, its way of joining text.

The reference falls back to another parser when lxml is missing, silently, which is one candidate for the three
different passage counts on record; here lxml is needed, and its version stands in the manifest.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from bs4 import BeautifulSoup
from lxml import etree  # pyright: ignore[reportAttributeAccessIssue] - a C extension without stubs

from relaymark.retrieval.parsing.normalising import normalise
from relaymark.retrieval.parsing.selectors import BOILERPLATE, CONTENT, TAGS

_etree: Any = etree
# libxml2 mends broken markup, and does so differently by version; soupsieve finds what the selectors name.
_VERSIONS = (
    *(f"{package} {version(package)}" for package in ("beautifulsoup4", "soupsieve", "lxml")),
    f"libxml2 {'.'.join(map(str, _etree.LIBXML_VERSION))}",
)
NAME = f"mlperf: {', '.join(_VERSIONS)}"


def text_of(data: bytes) -> tuple[str, str]:
    """Text and title of a page. The title is no part of the text, as in the reference.

    Raises:
        UnicodeDecodeError: It is not UTF-8.
    """
    soup = BeautifulSoup(data.decode("utf-8"), "lxml")
    for tag in soup.find_all(TAGS):
        tag.decompose()
    for tag in soup.select(BOILERPLATE):
        tag.decompose()
    content = next((found for place in CONTENT if (found := soup.select_one(place)) is not None), soup)
    title = soup.title.get_text(" ", strip=True) if soup.title is not None else ""
    return normalise(" ".join(content.stripped_strings)), title
