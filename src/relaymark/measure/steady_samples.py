"""The samples of one stage in the order they were sent, as arrays: what windows and result files are computed from."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from relaymark.errors import TraceError
from relaymark.measure import metrics
from relaymark.measure.columns import Mask, Piece, pieces
from relaymark.measure.percentiles import Floats, Ints
from relaymark.trace.runfolder import TRACE_FILE
from relaymark.trace.table import Trace

_COLUMNS = (*metrics.COLUMNS, "finish_reason", "kind")


@dataclass(slots=True)
class StageSamples:
    """The samples of a stage in the order they were sent; absent is NaN. Times in ns."""

    sent: Ints
    ended: Ints
    good: Mask
    values: dict[str, Floats]
    finish_reasons: dict[str, int] = field(default_factory=dict[str, int])
    open_ended: int = 0  # sent, but never ended


def stage_samples(folder: Path, stage: int) -> StageSamples:
    """Reads a stage's legs, warm-up and superseded attempts left out.

    Raises:
        TraceError: The trace cannot be read, or the stage has no legs.
    """
    trace = Trace(folder / TRACE_FILE)
    parts: dict[str, list[Floats]] = {key: [] for key in ("ttft", "tpot", "latency", "osl", "isl")}
    sent: list[Ints] = []
    ended: list[Ints] = []
    good: list[Any] = []
    open_ended = 0
    reasons: dict[str, int] = {}
    for index, piece in pieces(trace.batches, _COLUMNS):
        if index != stage:
            continue
        calls = piece.where(piece.equals("kind", ("llm",)))  # of a task of many legs, its LLM calls
        done = calls.where(calls.known("ended"))
        open_ended += len(calls) - len(done)
        # what was refused was never sent: it counts from the moment it was tried
        tried = np.where(done.known("started"), done.ints("started"), done.ints("ended"))
        sent.append(np.where(done.known("sent"), done.ints("sent"), tried))
        ended.append(done.ints("ended"))
        good.append(done.good)
        _collect(done, parts)
        for reason, count in done.tally("finish_reason").items():
            reasons[reason] = reasons.get(reason, 0) + count
    if not sent:
        raise TraceError(f"The run has no stage {stage}.", where=str(folder / TRACE_FILE))
    order = np.argsort(at := np.concatenate(sent), kind="stable")
    values = {key: np.concatenate(found)[order] for key, found in parts.items()}
    return StageSamples(
        at[order], np.concatenate(ended)[order], np.concatenate(good)[order], values, reasons, open_ended
    )


def _collect(piece: Piece, parts: dict[str, list[Floats]]) -> None:
    parts["ttft"].append(metrics.ttft(piece))
    parts["tpot"].append(metrics.tpot(piece))
    parts["latency"].append(metrics.latency(piece))
    parts["osl"].append(metrics.completion_tokens(piece))
    parts["isl"].append(metrics.prompt_tokens(piece))
