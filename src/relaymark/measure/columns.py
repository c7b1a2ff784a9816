"""Legs as columns: small pieces of record batches, by stage, without warm-up and superseded attempts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from relaymark.measure.percentiles import Floats, Ints

Legs = Callable[[Sequence[str]], Iterator[pa.RecordBatch]]
"""Given column names of the trace, yields its batches with those columns: the same rows at each call."""

Mask = npt.NDArray[np.bool_]

_PIECE_ITEMS = 1 << 17  # list items a piece: 1 MB an array, so that a dozen temporaries stay near the cache
_PIECE_ROWS = 1 << 14
GOOD = ("ok", "ok_length")


class Piece:
    """Some legs of one stage. Per-leg arrays have length ``len(piece)``; absent is NaN in float arrays."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = batch
        self._columns: dict[str, pa.Array[Any]] = {}

    def __len__(self) -> int:
        return self.batch.num_rows

    def column(self, name: str) -> pa.Array[Any]:
        """The Arrow column of that name."""
        if name not in self._columns:
            self._columns[name] = self.batch.column(self.batch.schema.get_field_index(name))
        return self._columns[name]

    def known(self, name: str) -> Mask:
        """Where the column is not null."""
        column = self.column(name)
        if not column.null_count:
            return np.ones(len(self), np.bool_)
        return np.asarray(column.is_valid().to_numpy(zero_copy_only=False), np.bool_)

    def ints(self, name: str) -> Ints:
        """An integer column as int64, 0 where null."""
        column = self.column(name)
        filled = column.fill_null(0) if column.null_count else column
        return np.asarray(filled.to_numpy(zero_copy_only=False), np.int64)

    def floats(self, name: str) -> Floats:
        """An integer column as float64, NaN where null. Not for clock stamps: those outgrow a float's 53 bits."""
        return np.where(self.known(name), self.ints(name).astype(np.float64), np.nan)

    def span(self, begin: str, end: str) -> Floats:
        """``end`` − ``begin`` in ns, subtracted as integers; NaN where either is null."""
        known = self.known(begin) & self.known(end)
        return np.where(known, (self.ints(end) - self.ints(begin)).astype(np.float64), np.nan)

    def flags(self, name: str) -> Mask:
        """A boolean column, false where null."""
        column = self.column(name)
        filled = column.fill_null(False) if column.null_count else column
        return np.asarray(filled.to_numpy(zero_copy_only=False), np.bool_)

    def equals(self, name: str, values: Collection[str]) -> Mask:
        """Where a string column (plain or dictionary) holds one of ``values``."""
        column = self.column(name)
        if not isinstance(column, pa.DictionaryArray):
            column = column.dictionary_encode()
        table = np.array([entry in values for entry in column.dictionary.to_pylist()] + [False], np.bool_)
        indices = column.indices
        filled = indices.fill_null(table.size - 1) if indices.null_count else indices
        return table[np.asarray(filled.to_numpy(zero_copy_only=False))]

    def tally(self, name: str) -> dict[str, int]:
        """How often each value of a string column occurs, nulls left out."""
        return tally(self.column(name))

    def lists(self, name: str) -> tuple[Ints, Ints]:
        """A list column as (offsets, items): leg i has ``items[offsets[i]:offsets[i + 1]]``; null is empty."""
        column: Any = self.column(name)  # list or large list; the stubs give them no common type
        offsets = np.asarray(column.offsets.to_numpy(), np.int64)
        items = column.values.slice(int(offsets[0]), int(offsets[-1] - offsets[0]))
        return offsets - offsets[0], np.asarray(items.to_numpy(zero_copy_only=False), np.int64)

    def where(self, mask: Mask) -> Piece:
        """The legs where ``mask`` is true; itself when that is all of them."""
        return self if mask.all() else Piece(self.batch.filter(pa.array(mask)))

    @property
    def good(self) -> Mask:
        """Legs that ended and count as a success."""
        return self.equals("outcome", GOOD) & self.known("ended")


def tally(texts: pa.Array[Any]) -> dict[str, int]:
    """How often each value of a string array (plain or dictionary) occurs, nulls left out."""
    encoded = texts if isinstance(texts, pa.DictionaryArray) else texts.dictionary_encode()
    counts = np.bincount(np.asarray(encoded.indices.drop_null().to_numpy(zero_copy_only=False), np.int64))
    return {
        str(text): int(count)
        for text, count in zip(encoded.dictionary.to_pylist(), counts, strict=False)
        if count and text is not None
    }


def pieces(legs: Legs, columns: Sequence[str]) -> Iterator[tuple[int, Piece]]:
    """Cuts the legs into (stage, piece) in the order of the trace, without warm-up legs and superseded attempts.

    ``columns`` need not name ``stage``, ``warmup`` and ``final``. Only one batch is held at a time.
    """
    wanted = [*dict.fromkeys([*columns, "stage", "warmup", "final"])]
    for batch in legs(wanted):
        for part in _cut(batch):
            piece = Piece(part)
            measured = piece.where(~piece.flags("warmup") & piece.flags("final"))
            stages = measured.ints("stage")
            for stage in np.unique(stages):
                yield int(stage), measured.where(stages == stage)


def _cut(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    rows = batch.num_rows
    if not rows:
        return
    reached = np.zeros(rows + 1, np.int64)  # the longest list column's items before each row
    columns: list[Any] = batch.columns
    for column in columns:
        if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
            offsets = np.asarray(column.offsets.to_numpy(), np.int64)
            reached = np.maximum(reached, offsets - offsets[0])
    start = 0
    while start < rows:
        fits = int(np.searchsorted(reached, reached[start] + _PIECE_ITEMS, side="right")) - 1
        stop = min(max(fits, start + 1), start + _PIECE_ROWS, rows)
        yield batch.slice(start, stop - start)
        start = stop
