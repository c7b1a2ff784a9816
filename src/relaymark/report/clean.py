"""Untrusted text (model output, URLs, error messages, names) made fit to be shown on one line or in a block.

Escaping for HTML or rich is the job of whoever prints it; this removes what escaping does not: control
characters that drive a terminal, direction overrides that reorder a line, lone surrogates that cannot be encoded,
and lengths that push everything else off the page.
"""

from __future__ import annotations

import unicodedata

# Joiners belong to ordinary text (emoji, Persian, Indic scripts); every other format character can mislead.
_KEPT_FORMAT = frozenset("\u200c\u200d")
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_MARK_RUN = 4  # stacked combining marks beyond this only serve to paint over the neighbouring lines


def plain_line(text: str, limit: int = 200) -> str:
    """The text on one line: white space runs become one space, hidden characters U+FFFD, the rest is cut at `limit`."""
    # Cut before the walk, so that a 10 MB message costs no more than a short one.
    head = text[: 4 * limit]
    line = _visible(" ".join(head.split()), keep="")
    return line if len(line) <= limit and len(head) == len(text) else _cut(line, limit)


def plain_block(text: str, limit: int = 200_000) -> str:
    """The text with its line breaks and tabs kept, hidden characters shown as U+FFFD, cut at `limit` characters."""
    head = text[:limit].replace("\r\n", "\n").replace("\r", "\n")
    block = _visible(head, keep="\n\t")
    if len(text) > limit:
        block += f"\n… ({len(text) - limit:,} more characters)"
    return block


def _cut(line: str, limit: int) -> str:
    return line[: max(limit - 1, 0)].rstrip() + "…"


def _visible(text: str, keep: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    out: list[str] = []
    marks = 0
    for char in text:
        category = unicodedata.category(char)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        if marks > _MARK_RUN:
            continue
        if category in _HIDDEN and char not in keep and char not in _KEPT_FORMAT:
            char = "\ufffd"  # noqa: PLW2901 (the loop variable is the thing being replaced)
        out.append(char)
    return "".join(out)
