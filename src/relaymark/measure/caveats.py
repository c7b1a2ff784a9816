"""What a reader should know of a run beside the verdict: warnings, which never make it INVALID."""

from __future__ import annotations

from collections.abc import Callable

from relaymark.measure.evidence import Evidence, StageEvidence, bound_for, ms, percent
from relaymark.measure.summary import Reason

_REPEATED = 0.5
_ENOUGH_TO_REPEAT = 10


def failures(run: Evidence, it: StageEvidence) -> Reason | None:
    """Some requests failed."""
    counts = it.counts
    if not counts.failed or not counts.good:
        return None
    share = counts.failed / counts.requests
    text = (
        f"{counts.failed:,} of {counts.requests:,} requests failed ({percent(share)}); see percentiles with failures."
    )
    return _reason(it, "failures", text, share)


def retries(run: Evidence, it: StageEvidence) -> Reason | None:
    """Some requests were tried again; what the server was asked is more than what was measured."""
    stage = it.stage
    if not stage.retried:
        return None
    share = stage.retried / stage.requests
    text = (
        f"{stage.retried:,} of {stage.requests:,} requests ({percent(share)}) were retried, {stage.retries:,} attempts "
        "more than requests: the server saw more load than was offered, and latency is that of the last attempt."
    )
    return _reason(it, "retries", text, share)


def reconnects(run: Evidence, it: StageEvidence) -> Reason | None:
    """Kept-alive connections had died before they were used again."""
    count = it.stage.reconnects
    if not count:
        return None
    text = f"{count:,} requests met a kept-alive connection that the server had just closed; sent again on a fresh one."
    return _reason(it, "reconnects", text, float(count))


def client_added_near(run: Evidence, it: StageEvidence) -> Reason | None:
    """The client's part is more than half of what is allowed; for sampled loop lateness, its worst moments are."""
    if it.distorted is None:
        return None
    bound = bound_for(it.distorted[1])
    if run.error_bar.source == "kernel":
        added = it.added_p99
        if added is None or added <= bound / 2 or (added > bound and (it.added_low is None or it.added_low > bound)):
            return None
        if added > bound:
            text = (
                f"the client added {ms(added)} at p99, above the {ms(bound)} that is allowed, but over so few reads "
                "that it may be chance; a longer stage would tell."
            )
            return _reason(it, "client_added_near", text, added, bound)
        return _reason(
            it, "client_added_near", f"the client added {ms(added)} at p99; {ms(bound)} is allowed.", added, bound
        )
    added = run.error_bar.read_p99
    if added is None or added <= bound / 2:
        return None
    text = f"the client's loop was up to {ms(added)} late in its worst moments; {ms(bound)} is allowed at p99."
    return _reason(it, "client_added_near", text, added, bound)


def average_weights(run: Evidence, it: StageEvidence) -> Reason | None:
    """ITL rests on the mean number of tokens per chunk."""
    if it.withheld or it.stage.itl_weights not in ("average", "mixed"):
        return None
    text = (
        "tokens per chunk are only known on average for some streams (the server told a total that differs from "
        "the number of chunks), so ITL percentiles are weighted with the mean."
    )
    return _reason(it, "average_weights", text)


def no_token_counts(run: Evidence, it: StageEvidence) -> Reason | None:
    """The server told no token counts for some or all requests."""
    known, good = it.counts.tokens_known["completion_tokens"], it.counts.good
    if known == good or "chunk_gap" not in it.stage.distributions:
        return None
    text = (
        f"{good - known:,} of {good:,} successful requests have no token counts and are in no token rate, TPOT or ITL. "
        "Name a tokenizer, or a server that reports usage."
    )
    return _reason(it, "no_token_counts", text, float(good - known))


def no_kernel_stamps(run: Evidence, it: StageEvidence) -> Reason | None:
    """Times are the client's own, so its lateness is in them."""
    total = sum(it.counts.stamp_sources.values())
    without = total - it.counts.stamp_sources["kernel"]
    if not without or not it.counts.good:
        return None
    text = f"{percent(without / total)} of the requests have no kernel stamps: the client's lateness is in them."
    return _reason(it, "no_kernel_stamps", text, without / total)


def few_requests(run: Evidence, it: StageEvidence) -> Reason | None:
    """Under 100 values the p99 is the largest one."""
    if not 0 < it.counts.good < 100:
        return None
    text = f"p99 of {it.counts.good} requests is the slowest one; at least 100 are needed for it to be more."
    return _reason(it, "few_requests", text, float(it.counts.good), 100.0)


def repeated_prompts(run: Evidence, it: StageEvidence) -> Reason | None:
    """The same requests over and over flatter a server with a prefix cache."""
    unique, requests = it.stage.unique_prompts, it.stage.requests
    if unique is None or requests < _ENOUGH_TO_REPEAT or unique >= _REPEATED * requests:
        return None
    text = f"only {unique:,} of {requests:,} requests are distinct: a prefix cache may flatter TTFT."
    return _reason(it, "repeated_prompts", text, unique / requests, _REPEATED)


def one_piece(run: Evidence, it: StageEvidence) -> Reason | None:
    """TTFT and ITL are withheld, though nobody asked for them."""
    share = it.stage.one_piece_share
    if not it.withheld or run.gates.streaming or share is None:
        return None
    text = f"{percent(share)} of the streams came in one piece; TTFT, TPOT and ITL are withheld."
    return _reason(it, "not_incremental", text, share, run.gates.max_one_piece_share)


def in_flight(run: Evidence) -> Reason | None:
    """Some requests had no end when the run ended."""
    count = max(run.health.in_flight, sum(it.stage.in_flight_at_end for it in run.stages))
    if not count:
        return None
    text = f"{count:,} requests were in flight when the run ended; they are in no latency."
    return Reason(code="in_flight_at_end", text=text, measured=float(count))


def no_heartbeats(run: Evidence) -> Reason | None:
    """Nothing is known of the workers' CPU and clocks."""
    if run.health.beats:
        return None
    return Reason(
        code="no_heartbeats", text="There are no worker heartbeats: CPU saturation and clock steps were not checked."
    )


_RUN: tuple[Callable[[Evidence], Reason | None], ...] = (in_flight, no_heartbeats)
_STAGE: tuple[Callable[[Evidence, StageEvidence], Reason | None], ...] = (
    *(failures, retries, reconnects, client_added_near, one_piece, average_weights, no_token_counts),
    *(no_kernel_stamps, few_requests, repeated_prompts),
)


def caveats(run: Evidence) -> list[Reason]:
    """Every warning that applies."""
    found = [rule(run) for rule in _RUN] + [rule(run, it) for it in run.stages for rule in _STAGE]
    return [reason for reason in found if reason is not None]


def _reason(
    it: StageEvidence, code: str, text: str, measured: float | None = None, bound: float | None = None
) -> Reason:
    return Reason(code=code, text=f"{it.stage.name}: {text}", measured=measured, bound=bound)
