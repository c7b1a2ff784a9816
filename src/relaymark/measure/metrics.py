"""Each metric as a function of a piece of the trace.

Per-request metrics give float64 of length ``len(piece)``, NaN where the leg has no such value; gap metrics give
:class:`~relaymark.measure.arrivals.Gaps`. Times in ns. No loop over legs or gaps.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from relaymark.measure.arrivals import Arrivals, Gaps, first_event_tokens
from relaymark.measure.columns import Piece
from relaymark.measure.definitions import METRICS, Metric
from relaymark.measure.percentiles import Floats

__all__ = ["COLUMNS", "GAPS", "METRICS", "PER_LEG", "Metric"]

COLUMNS = (
    *(
        "scheduled",
        "started",
        "connected",
        "sent",
        "first_sent",
        "first_byte",
        "first_token",
        "first_answer_token",
        "ended",
    ),
    *("streamed", "chunk_at", "chunk_tokens", "chunk_tokens_source", "prompt_tokens", "completion_tokens"),
    *("server_prefill_ns", "server_decode_ns", "server_completion_tokens", "outcome"),
)
"""Columns of the trace that the metrics read."""


def send_lag(piece: Piece) -> Floats:
    """sent − scheduled (design §5), of the first attempt: a retry's wait is no lateness of ours."""
    return _from_first(piece.span("scheduled", "first_sent"), piece.span("scheduled", "sent"))


def _from_first(first: Floats, only: Floats) -> Floats:
    """``first`` where the trace knows a first attempt, else ``only``."""
    return np.where(np.isnan(first), only, first)


def connect(piece: Piece) -> Floats:
    """connected − started, TLS included; absent on a connection that was open already (no time passed)."""
    return _positive(piece.span("started", "connected"))


def ttfb(piece: Piece) -> Floats:
    """first_byte − sent."""
    return piece.span("sent", "first_byte")


def ttft(piece: Piece) -> Floats:
    """first_token − sent: first token of any channel (MLPerf Endpoints rules §2.8). Streams only."""
    return _streams(piece, piece.span("sent", "first_token"))


def ttft_scheduled(piece: Piece) -> Floats:
    """first_token − scheduled: what a user waited who came when the schedule says, coordinated omission included."""
    return _streams(piece, piece.span("scheduled", "first_token"))


def ttfat(piece: Piece) -> Floats:
    """first_answer_token − sent."""
    return _streams(piece, piece.span("sent", "first_answer_token"))


def tpot(piece: Piece) -> Floats:
    """(ended − first_token) / tokens after the first chunk: MLPerf Endpoints rules §2.8.

    ``ended``, not the last token: the rules stop the clock when the response is complete, so a server that holds the
    stream open, or sends usage late, pays for it; ITL is where only tokens count. "First chunk" is the first
    token-bearing event as in the rules, even where others came in the same read. As in the rules, responses that were
    not streamed and values that are not positive are left out.
    """
    counted = piece.floats("completion_tokens")
    after = counted - first_event_tokens(piece)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = piece.span("first_token", "ended") / after
    return _streams(piece, _positive(np.where(after > 0, value, np.nan)))


def tps_per_user(piece: Piece) -> Floats:
    """10⁹ / TPOT, tokens/s. MLPerf's scalar of a point is 1 / p90(TPOT): Stage.tps_per_user."""
    return 1e9 / tpot(piece)


def latency(piece: Piece) -> Floats:
    """ended − sent."""
    return piece.span("sent", "ended")


def latency_total(piece: Piece) -> Floats:
    """ended − the first attempt's sent."""
    return _from_first(piece.span("first_sent", "ended"), piece.span("sent", "ended"))


def latency_scheduled(piece: Piece) -> Floats:
    """ended − scheduled."""
    return piece.span("scheduled", "ended")


def prompt_tokens(piece: Piece) -> Floats:
    """Tokens of the prompt (ISL)."""
    return piece.floats("prompt_tokens")


def completion_tokens(piece: Piece) -> Floats:
    """Tokens of the response (OSL)."""
    return piece.floats("completion_tokens")


def server_prefill(piece: Piece) -> Floats:
    """The server's own figure for the prompt, ns."""
    return piece.floats("server_prefill_ns")


def server_decode_rate(piece: Piece) -> Floats:
    """The server's own tokens over its own decode time, tokens/s."""
    spent = _positive(piece.floats("server_decode_ns"))
    return piece.floats("server_completion_tokens") * 1e9 / spent


def itl(found: Arrivals, legs: int) -> Gaps:
    """Gaps weighted by tokens (design §5)."""
    return found.token_gaps


def chunk_gap(found: Arrivals, legs: int) -> Gaps:
    """Gaps between arrivals, each once; the zeros within one read are not gaps."""
    return found.chunk_gaps


def stall(found: Arrivals, legs: int) -> Gaps:
    """The longest gap of each stream of at least two arrivals. ``legs``: number of legs in the piece."""
    gaps = found.chunk_gaps
    longest = np.full(legs, -np.inf)
    if gaps.value.size:
        starts = np.flatnonzero(np.concatenate([[True], gaps.leg[1:] != gaps.leg[:-1]]))
        longest[gaps.leg[starts]] = np.maximum.reduceat(gaps.value, starts)
    own = np.flatnonzero(np.isfinite(longest))
    return Gaps(longest[own], own, None)


def _streams(piece: Piece, values: Floats) -> Floats:
    return np.where(piece.flags("streamed"), values, np.nan)


def _positive(values: Floats) -> Floats:
    return np.where(values > 0, values, np.nan)


PER_LEG: dict[str, Callable[[Piece], Floats]] = {
    "ttft": ttft,
    "ttft_scheduled": ttft_scheduled,
    "ttfat": ttfat,
    "tpot": tpot,
    "latency": latency,
    "latency_scheduled": latency_scheduled,
    "latency_total": latency_total,
    "tps_per_user": tps_per_user,
    "send_lag": send_lag,
    "connect": connect,
    "ttfb": ttfb,
    "prompt_tokens": prompt_tokens,
    "completion_tokens": completion_tokens,
    "server_prefill": server_prefill,
    "server_decode_rate": server_decode_rate,
}
GAPS: dict[str, Callable[[Arrivals, int], Gaps]] = {"itl": itl, "chunk_gap": chunk_gap, "stall": stall}
