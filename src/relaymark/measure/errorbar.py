"""The error bar: what the client itself added to the times it reports."""

from __future__ import annotations

from relaymark.measure.exact import ExactQuantiles
from relaymark.measure.health import Health
from relaymark.measure.summary import ErrorBar


def error_bar(added: ExactQuantiles, lag: ExactQuantiles, health: Health) -> ErrorBar:
    """Client-added latency of the whole run.

    Args:
        added: user stamp − kernel stamp of every read that has both, ns, after its second pass with p50 and p99 wanted.
            Where the kernel stamped no read, the loop's lateness stands in: the largest of each heartbeat interval, so
            its percentiles are those of the worst moments and overstate what a typical read suffered.
        lag: sent − scheduled of the open-loop stages, likewise.
        health: the heartbeats.
    """
    if added.total:
        source, reads = "kernel", added.total
        read = (added.at(added.rank(0.5)), added.at(added.rank(0.99)), added.maximum)
    elif health.late:
        source, reads = "loop", len(health.late)
        read = (health.late_at(0.5), health.late_at(0.99), float(max(health.late)))
    else:
        source, reads, read = "none", 0, (None, None, None)
    return ErrorBar(
        source=source,
        read_p50=read[0],
        read_p99=read[1],
        read_max=read[2],
        reads=reads,
        send_p50=lag.at(lag.rank(0.5)),
        send_p99=lag.at(lag.rank(0.99)),
        send_max=lag.maximum if lag.total else None,
        worker_cpu=health.worker_cpu,
        clock_drift=health.drift,
    )
