"""Texts to token ids, and batches of them: by a budget of tokens, texts of like length together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from relaymark.errors import ConfigError


def open_tokenizer(path: Path, max_length: int | None) -> Tokenizer:
    """Opens a ``tokenizer.json``; longer texts are cut at ``max_length`` tokens, special ones included.

    Raises:
        ConfigError: The file is missing or is none.
    """
    if not path.is_file():
        raise ConfigError("there is no tokenizer", where=str(path), mend="put the model's tokenizer.json there")
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the package raises bare Exception
        raise ConfigError(f"this is no tokenizer: {error}", where=str(path)) from None
    tokenizer.no_padding()
    if max_length is None:
        tokenizer.no_truncation()
    else:
        tokenizer.enable_truncation(max_length)
    return tokenizer


def batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Places of texts in batches, longest first: padded to its longest, a batch has at most ``budget`` tokens.

    Padding is computed like any token, so texts of like length go together; a text longer than the budget goes alone.
    """
    order = sorted(range(len(lengths)), key=lambda place: -lengths[place])
    begin = 0
    while begin < len(order):
        count = max(1, budget // max(1, lengths[order[begin]]))
        yield order[begin : begin + count]
        begin += count


def padded(texts: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Token ids and the mask of what is no padding, both of shape (texts, longest)."""
    ids = np.zeros((len(texts), max(1, *map(len, texts))), np.int64)
    mask = np.zeros_like(ids)
    for row, text in enumerate(texts):
        ids[row, : len(text)] = text
        mask[row, : len(text)] = 1
    return ids, mask
