"""Text normalisation of MLPerf's end-to-end RAG ("word" mode). The order matters: it decides the count of passages."""

from __future__ import annotations

import re
import unicodedata

_ODD_SPACES = re.compile("[\u00a0\u2000-\u200b\u2028\u2029]")
_SPACES = re.compile(" +")
_LINES = re.compile("\n+")
_GLUED = re.compile(r"([.!?,:;])(?=[A-Za-z])")  # splits "U.S." and domain names too, as the reference does
_BROKEN = re.compile(r"(\w)- (\w)")


def normalise(text: str) -> str:
    """One line of text: NFKC, odd spaces made plain, a space after punctuation that a letter follows, and so on.

    Curly quotes stay: the reference's replacement of them has no effect.
    """
    if not text.isascii():
        text = _ODD_SPACES.sub(" ", unicodedata.normalize("NFKC", text))
    text = text.strip()
    text = _LINES.sub("\n", _SPACES.sub(" ", text.replace("\r", "\n")))
    text = "\n".join(filter(None, map(str.strip, text.split("\n"))))
    text = _GLUED.sub(r"\1 ", text)
    text = _BROKEN.sub(r"\1-\2", text)
    return " ".join(text.split())
