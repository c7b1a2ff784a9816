"""From a trace to a summary, in two passes over it and bounded memory."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import numpy as np

from relaymark.measure.columns import Legs, pieces
from relaymark.measure.errorbar import error_bar
from relaymark.measure.evidence import Evidence, StageEvidence
from relaymark.measure.exact import ExactQuantiles
from relaymark.measure.health import read_health
from relaymark.measure.inputs import RunInfo, StageInfo
from relaymark.measure.metrics import send_lag
from relaymark.measure.rates import Window
from relaymark.measure.stage import AGAIN, COLUMNS, StageScan, read_added
from relaymark.measure.summary import Summary
from relaymark.measure.verdict import judge
from relaymark.trace import Heartbeat

SCHEMA = 1


def summarise(legs: Legs, health: Iterable[Heartbeat], info: RunInfo) -> Summary:
    """Computes every number of a run from its trace.

    Args:
        legs: gives the trace's record batches for the named columns; it is called twice and must give the same rows.
        health: the workers' heartbeats, each worker's own in order.
        info: what the run knows about itself. A stage found in the trace alone is taken as open loop when its legs have
            scheduled times.

    Raises:
        TraceError: columns of a leg contradict each other.
    """
    scans = {stage.index: StageScan(_as_it_went(stage, info), info.slos) for stage in info.stages}
    for index, piece in pieces(legs, COLUMNS):
        if index not in scans:
            planned = bool(piece.known("scheduled").any())
            found = StageInfo(index=index, name=f"stage {index}", load="", open_loop=planned)
            scans[index] = StageScan(found, info.slos)
        scans[index].add(piece)
    scans = dict(sorted(scans.items()))

    added, lag = ExactQuantiles(), ExactQuantiles()
    for scan in scans.values():
        scan.turn()
        added.merge(scan.added)
        if scan.info.open_loop:
            lag.merge(scan.statistics["send_lag"])
    for whole in (added, lag):
        whole.want(whole.rank(q) for q in (0.5, 0.99))

    for index, piece in pieces(legs, AGAIN):
        scan = scans[index]
        scan.again(piece)
        added.collect(read_added(piece))
        if scan.info.open_loop:
            late = send_lag(piece.where(piece.known("ended")))
            lag.collect(late[~np.isnan(late)])

    windows = [scan.window for scan in scans.values() if scan.counts.requests]
    whole_run = Window(min((w.begin for w in windows), default=0), max((w.end for w in windows), default=0))
    seen = read_health(health, whole_run)
    bar = error_bar(added, lag, seen)
    stages = [_evidence(scan, info) for scan in scans.values()]
    evidence = Evidence(
        stages=stages,
        health=seen,
        error_bar=bar,
        gates=info.gates,
        status=info.status,
        crashed_workers=info.crashed_workers,
        measured_ns=whole_run.end - whole_run.begin,
    )
    return Summary(
        schema=SCHEMA,
        run_id=info.run_id,
        name=info.name,
        version=info.version,
        started_at=info.started_at,
        url=info.url,
        model=info.model,
        dialect=info.dialect,
        status=info.status,
        verdict=judge(evidence),
        error_bar=bar,
        stages=[it.stage for it in stages],
        schedule_sha256=info.schedule_sha256,
        config=info.config,
        environment=info.environment,
        server=info.server,
        notes=info.notes,
    )


def _as_it_went(stage: StageInfo, info: RunInfo) -> StageInfo:
    """A run that was cut short did not last as long as planned: its stages end with their last leg."""
    return stage if info.status == "complete" else msgspec.structs.replace(stage, duration_ns=None)


def _evidence(scan: StageScan, info: RunInfo) -> StageEvidence:
    share = scan.one_piece_share
    withheld = share is not None and share > info.gates.max_one_piece_share
    return StageEvidence(
        stage=scan.result(withheld),
        info=scan.info,
        counts=scan.counts,
        added_p99=scan.added.at(scan.added.rank(0.99)),
        added_low=scan.added_low,
        withheld=withheld,
    )
