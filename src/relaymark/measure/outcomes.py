"""Counts of one stage: outcomes, tokens, streams in one piece, distinct prompts, errors, first and last instants."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from relaymark.measure.columns import Mask, Piece, tally
from relaymark.measure.percentiles import Ints

COLUMNS = (
    *("scheduled", "started", "sent", "ended", "streamed", "chunk_at", "coalesced", "outcome", "token_source"),
    *("chunk_tokens_source", "prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_tokens"),
    *("request_ref", "stamp_source", "error_message", "error_type", "attempt", "reconnects"),
)

_TOKENS = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_tokens")
_MAX_MESSAGES = 4096
_MESSAGE_LENGTH = 300


class DistinctTexts:
    """Counts distinct texts by their 64-bit hashes: 8 bytes each, nothing kept of the text."""

    def __init__(self) -> None:
        self._seen: Ints = np.zeros(0, np.int64)
        self._fresh: list[Ints] = []
        self._waiting = 0
        self.absent = 0

    def add(self, texts: pa.Array[Any]) -> None:
        """Counts a column of texts; nulls are counted in ``absent``."""
        self.absent += texts.null_count
        hashes = np.array([hash(text) for text in pc.unique(texts).to_pylist() if text is not None], np.int64)
        self._fresh.append(hashes)
        self._waiting += hashes.size
        if self._waiting > max(1 << 16, self._seen.size):
            self._settle()

    def _settle(self) -> None:
        self._seen = np.unique(np.concatenate([self._seen, *self._fresh]))
        self._fresh, self._waiting = [], 0

    @property
    def count(self) -> int | None:
        """Number of distinct texts; ``None`` when any was absent or there was none."""
        self._settle()
        return None if self.absent or not self._seen.size else self._seen.size


@dataclass
class Counts:
    """What a stage's legs add up to. Instants are ns of CLOCK_MONOTONIC, ``None`` until seen.

    ``requests`` are the legs that ended; a leg without an end was in flight when the run was cut short and is counted
    in ``in_flight`` alone. A retried leg counts once, with its last attempt; ``retries`` are the attempts after the
    first, ``retried`` the legs that needed any. Token sums are of successes;
    ``tokens_known`` says over how many.
    """

    requests: int = 0
    good: int = 0
    retries: int = 0
    retried: int = 0
    reconnects: int = 0
    in_flight: int = 0
    outcomes: Counter[str] = field(default_factory=Counter[str])
    first_scheduled: int | None = None
    last_scheduled: int | None = None
    first_sent: int | None = None
    last_ended: int | None = None
    tokens: Counter[str] = field(default_factory=Counter[str])
    tokens_known: Counter[str] = field(default_factory=Counter[str])
    partial_tokens: int = 0
    events: int = 0
    coalesced: int = 0
    streams: int = 0  # successful streams
    streams_of_two: int = 0  # those of at least two events
    one_piece: int = 0  # those of them whose events all came in one read
    token_sources: Counter[str] = field(default_factory=Counter[str])
    weight_sources: Counter[str] = field(default_factory=Counter[str])
    stamp_sources: Counter[str] = field(default_factory=Counter[str])
    messages: Counter[str] = field(default_factory=Counter[str])
    prompts: DistinctTexts = field(default_factory=DistinctTexts)

    @property
    def failed(self) -> int:
        """Legs that ended otherwise than well."""
        return self.requests - self.good

    def add(self, piece: Piece) -> None:
        """Counts the legs of a piece."""
        ended = piece.known("ended")
        self.in_flight += int((~ended).sum())
        self._instants(piece, ended)
        piece = piece.where(ended)
        if not len(piece):
            return
        good = piece.good
        self.requests += len(piece)
        self.good += int(good.sum())
        attempts = piece.ints("attempt")
        self.retries += int((attempts - 1).sum())
        self.retried += int((attempts > 1).sum())
        self.reconnects += int(piece.ints("reconnects").sum())
        self.outcomes.update(piece.tally("outcome"))
        self.stamp_sources.update(piece.tally("stamp_source"))
        self.prompts.add(piece.column("request_ref"))
        offsets, stamps = piece.lists("chunk_at")
        events = np.diff(offsets)
        self.partial_tokens += int(events[~good].sum())
        self._errors(piece.where(~good))
        self._streams(piece, good, offsets, stamps)
        won = piece.where(good)
        for name in _TOKENS:
            self.tokens[name] += int(won.ints(name).sum())
            self.tokens_known[name] += int(won.known(name).sum())
        self.token_sources.update(won.tally("token_source"))

    def _instants(self, piece: Piece, ended: Mask) -> None:
        scheduled, start, end = piece.known("scheduled"), *_start(piece)
        self.first_scheduled = _least(self.first_scheduled, piece.ints("scheduled")[scheduled])
        self.last_scheduled = _most(self.last_scheduled, piece.ints("scheduled")[scheduled])
        self.first_sent = _least(self.first_sent, start[end])
        self.last_ended = _most(self.last_ended, piece.ints("ended")[ended])

    def _streams(self, piece: Piece, good: Mask, offsets: Ints, stamps: Ints) -> None:
        events = np.diff(offsets)
        streamed = good & piece.flags("streamed")
        several = streamed & (events >= 2)
        first, last = offsets[:-1][several], offsets[1:][several] - 1
        self.streams += int(streamed.sum())
        self.streams_of_two += int(several.sum())
        self.one_piece += int((stamps[first] == stamps[last]).sum())
        self.events += int(events[streamed].sum())
        self.coalesced += int(piece.ints("coalesced")[streamed].sum())
        self.weight_sources.update(piece.where(several).tally("chunk_tokens_source"))

    def _errors(self, failed: Piece) -> None:
        if not len(failed):
            return
        texts = pc.coalesce(
            failed.column("error_message"),
            failed.column("error_type").cast(pa.string()),
            failed.column("outcome").cast(pa.string()),
        )
        for text, count in tally(texts).items():
            message = text[:_MESSAGE_LENGTH]
            # a server that puts a request id in every message must not fill our memory
            if message in self.messages or len(self.messages) < _MAX_MESSAGES:
                self.messages[message] += count


def _start(piece: Piece) -> tuple[Ints, Mask]:
    """When each leg went out: sent, else (a refused connection) started; and where either is known."""
    sent = piece.known("sent")
    return np.where(sent, piece.ints("sent"), piece.ints("started")), sent | piece.known("started")


def starts(piece: Piece, otherwise: Ints) -> Ints:
    """When each leg went out: sent, else started, else ``otherwise`` (one instant per leg)."""
    start, known = _start(piece)
    return np.where(known, start, otherwise)


def _least(current: int | None, values: Ints) -> int | None:
    return current if not values.size else int(min(values.min(), values[0] if current is None else current))


def _most(current: int | None, values: Ints) -> int | None:
    return current if not values.size else int(max(values.max(), values[0] if current is None else current))


def single_or_mixed(sources: Counter[str]) -> str:
    """The one source all agree on, ``mixed``, or ``none`` when there is nothing."""
    present = [source for source, count in sources.items() if count]
    return present[0] if len(present) == 1 else ("mixed" if present else "none")
