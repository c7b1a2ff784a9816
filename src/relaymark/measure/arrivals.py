"""From event stamps to arrivals and the gaps between them.

Events that one read completed share a stamp. They are one arrival: the zero between them says how the client read, not
how the server wrote. So coalesced zeros are in no gap distribution; ``coalesced_share`` reports them apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from relaymark.errors import TraceError
from relaymark.measure.columns import Mask, Piece
from relaymark.measure.percentiles import Floats, Ints

TOKEN_UNIT = 1 << 20
"""Token weights are whole multiples of 1/TOKEN_UNIT token, so that sums are exact in any order."""


@dataclass(frozen=True)
class Gaps:
    """Gaps between successive arrivals, flat over the legs of a piece.

    ``value``: ns, float64; ``leg``: index of the leg within the piece; ``weight``: int64 tokens × TOKEN_UNIT,
    ``None`` where each gap counts once.
    """

    value: Floats
    leg: Ints
    weight: Ints | None


@dataclass(frozen=True)
class Arrivals:
    """The arrivals of a piece's streams, flat.

    ``events``: token-bearing events per leg; ``leg``: leg of each arrival; ``at``: ns from ``sent``;
    ``tokens``/``weight``: tokens it brought, as float64 and as int64 × TOKEN_UNIT; both 0 where the leg has no counts.
    """

    events: Ints
    leg: Ints
    at: Ints
    tokens: Floats
    weight: Ints

    @cached_property
    def chunk_gaps(self) -> Gaps:
        """Gaps between arrivals, each once."""
        same = self.leg[1:] == self.leg[:-1]
        return Gaps((self.at[1:] - self.at[:-1])[same].astype(np.float64), self.leg[1:][same], None)

    @cached_property
    def token_gaps(self) -> Gaps:
        """ITL: an arrival of k tokens counts as k gaps of gap/k.

        An arrival without a token (the server's running count did not move) is passed over, and the wait goes to the
        next one that has some; so the weights of a leg sum to its tokens after the first arrival.
        """
        first = np.ones(self.leg.size, np.bool_)
        first[1:] = self.leg[1:] != self.leg[:-1]
        kept = first | (self.weight > 0)
        if kept.all():
            leg, at, tokens, weight = self.leg, self.at, self.tokens, self.weight
        else:
            leg, at, tokens, weight = self.leg[kept], self.at[kept], self.tokens[kept], self.weight[kept]
        use = (leg[1:] == leg[:-1]) & (weight[1:] > 0)
        gap = (at[1:] - at[:-1])[use].astype(np.float64)
        return Gaps(gap / tokens[1:][use], leg[1:][use], weight[1:][use])


def arrivals(piece: Piece) -> Arrivals:
    """Merges the events of each leg that share a stamp.

    Tokens per event follow ``chunk_tokens_source``: ``usage``, as listed; ``one``, one each; ``average``, the leg's
    completion tokens spread evenly over its events (c tokens in n events: c/n each, so an arrival of e events holds
    e·c/n); ``none``, not known.
    """
    offsets, stamps = piece.lists("chunk_at")
    events = np.diff(offsets)
    opens = np.ones(stamps.size, np.bool_)
    np.not_equal(stamps[1:], stamps[:-1], out=opens[1:])
    opens[offsets[:-1][events > 0]] = True
    start = np.flatnonzero(opens)
    stop = np.append(start[1:], stamps.size)
    leg = np.repeat(np.arange(events.size), events)[start]
    held = stop - start  # events per arrival
    weight = np.zeros(start.size, np.int64)
    tokens = np.zeros(start.size, np.float64)

    one = piece.equals("chunk_tokens_source", ("one",))
    if one.any():
        at = _of(one, leg)
        weight[at] = held[at] * TOKEN_UNIT
        tokens[at] = held[at]
    usage = piece.equals("chunk_tokens_source", ("usage",))
    if usage.any():
        listed = _listed(piece, offsets)
        at = _of(usage, leg)
        sums = np.add.reduceat(listed, start) if start.size else listed
        weight[at] = sums[at] * TOKEN_UNIT
        tokens[at] = sums[at]
    average = piece.equals("chunk_tokens_source", ("average",)) & piece.known("completion_tokens")
    if average.any():
        at = _of(average, leg)
        own, total, n = leg[at], piece.ints("completion_tokens"), np.maximum(events, 1)
        before = start[at] - offsets[own]
        # differences of a running share, so that a leg's weights add up to its tokens without rounding loss
        weight[at] = _share(total[own], before + held[at], n[own]) - _share(total[own], before, n[own])
        tokens[at] = held[at] * (total[own] / n[own])
    return Arrivals(events=events, leg=leg, at=stamps[start], tokens=tokens, weight=weight)


def first_event_tokens(piece: Piece) -> Floats:
    """Tokens of each leg's first event; NaN where unknown or where there is no event."""
    offsets, _ = piece.lists("chunk_at")
    events = np.diff(offsets)
    result = np.full(len(piece), np.nan)
    result[piece.equals("chunk_tokens_source", ("one",))] = 1.0
    average = piece.equals("chunk_tokens_source", ("average",))
    result[average] = (piece.floats("completion_tokens") / np.maximum(events, 1))[average]
    usage = piece.equals("chunk_tokens_source", ("usage",)) & (events > 0)
    if usage.any():
        result[usage] = _listed(piece, offsets)[offsets[:-1][usage]]
    result[events == 0] = np.nan
    return result


def _of(legs: Mask, leg: Ints) -> Mask | slice:
    """Selects the arrivals of the legs in the mask; everything without a copy when that is all."""
    return slice(None) if legs.all() else legs[leg]


def _listed(piece: Piece, offsets: Ints) -> Ints:
    own_offsets, listed = piece.lists("chunk_tokens")
    if not np.array_equal(own_offsets, offsets):
        raise TraceError(
            "The trace has legs whose chunk_tokens and chunk_at differ in length.",
            mend="The file was changed or written by another program; run again or repair it.",
        )
    return listed


def _share(total: Ints, part: Ints, whole: Ints) -> Ints:
    """total·part/whole in units of 1/TOKEN_UNIT, rounded down, without overflow."""
    quotient, remainder = np.divmod(total * part, whole)
    return quotient * TOKEN_UNIT + remainder * TOKEN_UNIT // whole
