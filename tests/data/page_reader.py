"""Reads a wiki page as ingestion is to read it, with the standard library's parser: what the generator is held to."""

from __future__ import annotations

from html.parser import HTMLParser

_VOID = {"meta", "link", "input", "br", "img", "hr"}
_GONE_TAGS = {"script", "style", "nav", "header", "footer"}
_GONE = {"navbox", "mw-editsection", "reference", "citation", "hatnote", "catlinks", "toc"}


class PageReader(HTMLParser):
    """Text nodes of ``.mw-parser-output`` without what is to be left out."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.nodes: list[str] = []
        self.balanced = True
        self._open: list[tuple[str, bool, bool]] = []  # tag, within the content, left out

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        classes = set((dict(attrs).get("class") or "").split())
        inside = bool(self._open) and self._open[-1][1]
        gone = bool(self._open) and self._open[-1][2]
        if tag not in _VOID:
            here = inside or "mw-parser-output" in classes
            self._open.append((tag, here, gone or tag in _GONE_TAGS or bool(classes & _GONE)))

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open[-1][0] != tag:
            self.balanced = False
        else:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1][1] and not self._open[-1][2] and data.strip():
            self.nodes.append(data.strip())

    @property
    def finished(self) -> bool:
        """True when every tag was closed in order."""
        return self.balanced and not self._open


def read_page(html: str) -> str:
    """The page's text; raises on tags that are not closed in order."""
    reader = PageReader()
    reader.feed(html)
    reader.close()
    assert reader.finished
    return " ".join(reader.nodes)
