"""Cutting a text into passages: windows of characters, as MLPerf Inference v6.1's end-to-end RAG has them."""

from __future__ import annotations

WINDOW = 768
STRIDE = 736


def chunk(text: str, window: int = WINDOW, stride: int = STRIDE) -> list[str]:
    """Windows of ``window`` characters, one every ``stride``, each stripped; empty ones are dropped.

    Words are cut where a window ends. A text of at most ``window`` characters is one passage, a longer one gives
    ceil(L / stride), of which the last may lie wholly within the one before.
    """
    text = " ".join(text.split())
    if len(text) <= window:
        return [text] if text else []
    pieces = (text[begin : begin + window].strip() for begin in range(0, len(text), stride))
    return [piece for piece in pieces if piece]
