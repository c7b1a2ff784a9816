"""Does the number count? Each rule looks at the evidence and gives one reason against it, or ``None``.

With kernel stamps the reported TTFT and ITL are right even when the client was late to read. A late client is INVALID
all the same: it also sends late, replaces finished requests late and so offers another load than it reports.
"""

from __future__ import annotations

from collections.abc import Callable

from relaymark.measure.caveats import caveats
from relaymark.measure.definitions import METRICS
from relaymark.measure.evidence import Evidence, StageEvidence, bound_for, ms, percent
from relaymark.measure.health import SATURATED
from relaymark.measure.summary import Reason, Verdict
from relaymark.trace import TokenSource

_SUSTAINED_NS = 2_000_000_000
_SUSTAINED_SHARE = 0.2


def client_added(run: Evidence, it: StageEvidence) -> Reason | None:
    """The client added more at p99 than 5 % of the smallest p99 it would distort (1 ms at least).

    It must be sure to: a p99 of a few hundred reads is one of the slowest few, so the lower end of its 95 % interval
    counts. Where only the p99 itself is above the bound there is a warning.

    Without kernel stamps there is only the largest lateness of each heartbeat interval. Its p99 is close to the single
    worst moment of the run and not the p99 of reads; so its median is held against the bound here (in half of all
    intervals the loop was later than that at least once), and its p99 gives a warning.
    """
    if it.distorted is None:
        return None
    metric, p99 = it.distorted
    kernel = run.error_bar.source == "kernel"
    added = it.added_p99 if kernel else run.error_bar.read_p50
    sure = it.added_low if kernel else added
    bound = bound_for(p99)
    if added is None or added <= bound or (sure is not None and sure <= bound):
        return None
    how = "at p99 of its reads" if run.error_bar.source == "kernel" else "in half of all intervals"
    text = (
        f"{_in(it)}the client added {ms(added)} {how}; at most {ms(bound)} is allowed beside a "
        f"{METRICS[metric].label} p99 of {ms(p99)}."
    )
    return Reason(code="client_added", text=text, measured=added, bound=bound)


def send_lag(run: Evidence, it: StageEvidence) -> Reason | None:
    """Open loop: requests left late by more than 5 % of the p99 of TTFT (else latency), 1 ms at least."""
    lag = it.p99("send_lag")
    metric = "ttft" if it.p99("ttft") is not None else "latency"
    p99 = it.p99(metric)
    if not it.info.open_loop or lag is None:
        return None
    bound = bound_for(p99 or 0.0)
    if lag <= bound:
        return None
    beside = "" if p99 is None else f" beside a {METRICS[metric].label} p99 of {ms(p99)}"
    text = (
        f"{_in(it)}requests left {ms(lag)} after their scheduled time at p99; at most {ms(bound)} is allowed{beside}."
    )
    return Reason(code="send_lag", text=text, measured=lag, bound=bound)


def not_incremental(run: Evidence, it: StageEvidence) -> Reason | None:
    """Streams came in one piece, though streaming metrics were asked for."""
    share = it.stage.one_piece_share
    if not it.withheld or share is None or not run.gates.streaming:
        return None
    bound = run.gates.max_one_piece_share
    text = (
        f"{_in(it)}{percent(share)} of the streams came in one piece (at most {percent(bound)} is allowed): the "
        "server, or a proxy before it, held the tokens back. TTFT, TPOT and ITL are withheld."
    )
    return Reason(code="not_incremental", text=text, measured=share, bound=bound)


def too_short(run: Evidence, it: StageEvidence) -> Reason | None:
    """The stage is shorter than the benchmark asks."""
    bound = run.gates.min_duration_ns
    if bound is None or it.stage.duration >= bound:
        return None
    text = (
        f"{_in(it)}measured for {it.stage.duration / 1e9:.1f} s; the benchmark asks for at least {bound / 1e9:.1f} s."
    )
    return Reason(code="too_short", text=text, measured=it.stage.duration, bound=float(bound))


def too_few(run: Evidence, it: StageEvidence) -> Reason | None:
    """The stage has fewer requests than the benchmark asks."""
    bound = run.gates.min_requests
    if bound is None or it.stage.requests >= bound:
        return None
    text = f"{_in(it)}{it.stage.requests:,} requests; the benchmark asks for at least {bound:,}."
    return Reason(code="too_few_requests", text=text, measured=float(it.stage.requests), bound=float(bound))


def token_estimates(run: Evidence, it: StageEvidence) -> Reason | None:
    """Token counts are not the server's, in a mode that asks for them."""
    if not run.gates.token_counts_from_server or not it.counts.good:
        return None
    if it.stage.token_source == TokenSource.USAGE and it.stage.itl_weights not in ("average", "mixed"):
        return None
    text = (
        f"{_in(it)}token counts come from: {it.stage.token_source}, tokens per chunk from: {it.stage.itl_weights}; the "
        "benchmark allows only the server's own counts."
    )
    return Reason(code="token_estimates", text=text)


def no_success(run: Evidence, it: StageEvidence) -> Reason | None:
    """Nothing was measured, because nothing succeeded or nothing was sent."""
    if it.counts.good:
        return None
    if not it.stage.requests:
        return Reason(code="no_requests", text=f"{_in(it)}no request ended.", measured=0.0)
    worst, count = next(iter(it.stage.outcomes.items()))
    text = f"{_in(it)}none of {it.stage.requests:,} requests succeeded (most often {worst}: {count:,})."
    return Reason(code="no_success", text=text, measured=0.0)


def schedule_incomplete(run: Evidence, it: StageEvidence) -> Reason | None:
    """Fewer requests than planned are in the trace of a run that says it is complete."""
    there, planned = it.stage.requests + it.stage.in_flight_at_end, it.info.requests
    if run.status != "complete" or planned is None or there >= planned:
        return None
    text = f"{_in(it)}{planned - there:,} of {planned:,} planned requests are not in the trace."
    return Reason(code="schedule_incomplete", text=text, measured=float(there), bound=float(planned))


def never_sent(run: Evidence) -> Reason | None:
    """Tasks whose time had come were never sent."""
    count = run.health.never_sent
    if run.status != "complete" or not count:
        return None
    text = f"{count:,} requests were due and never sent: the client did not offer the load that was asked for."
    return Reason(code="never_sent", text=text, measured=float(count), bound=0.0)


def cpu_saturated(run: Evidence) -> Reason | None:
    """A worker used 95 % of a core for 2 s on end, or for a fifth of the measured time."""
    longest, total = run.health.saturated_longest, run.health.saturated_total
    share = total / run.measured_ns if run.measured_ns else 0.0
    if longest < _SUSTAINED_NS and share < _SUSTAINED_SHARE:
        return None
    text = (
        f"A worker used at least {percent(SATURATED)} of a core for {total / 1e9:.1f} s ({percent(share)} of the "
        "measured time): the client was the bottleneck. Use more workers or a lower load."
    )
    return Reason(code="cpu_saturated", text=text, measured=run.health.worker_cpu, bound=SATURATED)


def backpressure(run: Evidence) -> Reason | None:
    """This machine could not send: no port, no descriptor, no memory."""
    count = run.health.backpressure
    if not count:
        return None
    text = f"{count:,} requests could not be sent for lack of ports or file descriptors on this machine."
    return Reason(code="backpressure", text=text, measured=float(count), bound=0.0)


def clock_step(run: Evidence) -> Reason | None:
    """The wall clock, on which kernel stamps are taken, was stepped."""
    if run.error_bar.source != "kernel" or not run.health.step:
        return None
    text = f"The wall clock was stepped by {ms(run.health.step)} during the run; kernel stamps are taken on it."
    return Reason(code="clock_step", text=text, measured=float(run.health.step), bound=1e6)


def worker_crashed(run: Evidence) -> Reason | None:
    """A worker died, or the whole run was killed: what is left is a part of the load."""
    if run.crashed_workers:
        who = ", ".join(str(worker) for worker in run.crashed_workers)
        return Reason(code="worker_crashed", text=f"A worker process died during the run (worker {who}).")
    if run.status in ("complete", "interrupted"):
        return None
    return Reason(code="worker_crashed", text="The run was killed or crashed before its end.")


def interrupted(run: Evidence) -> Reason | None:
    """The run was cut short."""
    if run.status != "interrupted":
        return None
    return Reason(
        code="interrupted", text="The run was interrupted before its end; the numbers are of the part that ran."
    )


RUN_RULES: tuple[Callable[[Evidence], Reason | None], ...] = (
    interrupted,
    worker_crashed,
    backpressure,
    never_sent,
    cpu_saturated,
    clock_step,
)
STAGE_RULES: tuple[Callable[[Evidence, StageEvidence], Reason | None], ...] = (
    no_success,
    client_added,
    send_lag,
    not_incremental,
    token_estimates,
    schedule_incomplete,
    too_short,
    too_few,
)


def judge(run: Evidence) -> Verdict:
    """Applies every rule: VALID when no rule has a reason against the run. Warnings never decide."""
    found = [rule(run) for rule in RUN_RULES]
    found += [rule(run, it) for it in run.stages for rule in STAGE_RULES]
    if not run.stages:
        found.append(Reason(code="no_requests", text="The run has no measured request.", measured=0.0))
    reasons = [reason for reason in found if reason is not None]
    return Verdict(valid=not reasons, reasons=reasons, warnings=caveats(run))


def _in(it: StageEvidence) -> str:
    return f"{it.stage.name}: "
