"""Markdown to text: marks of headings, emphasis, links and code are taken away, the words stay."""

from __future__ import annotations

import re

_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_FENCE = re.compile(r"^(```|~~~).*$", re.MULTILINE)
_HEADING = re.compile(r"^#{1,6}[ \t]+(.+?)[ \t]*#*$", re.MULTILINE)
_IMAGE = re.compile(r"!\[([^\]]*)\]\([^)]*\)")
_LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")
_EMPHASIS = re.compile(r"(?<!\w)(\*\*|__|\*|_|`)(?=\S)(.+?)(?<=\S)\1(?!\w)")
_LIST = re.compile(r"^[ \t]*(?:[-*+]|\d+[.)])[ \t]+", re.MULTILINE)
_QUOTE = re.compile(r"^[ \t]*>[ \t]?", re.MULTILINE)


def plain(text: str, url: str) -> tuple[str, str, str]:
    """Text, URL and title (the first heading)."""
    text = _FRONT_MATTER.sub("", text.replace("\r\n", "\n"))
    heading = _HEADING.search(text)
    text = _FENCE.sub("", text)
    text = _HEADING.sub(r"\1", text)
    text = _LINK.sub(r"\1", _IMAGE.sub(r"\1", text))
    text = _QUOTE.sub("", _LIST.sub("", text))
    text = _EMPHASIS.sub(r"\2", text)
    return " ".join(text.split()), url, heading[1] if heading else ""
