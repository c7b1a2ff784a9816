"""Going on with a replay that was cut short: conversations that were had whole are not had again.

The new run has its own folder. What it takes over from the earlier one, the legs and the answers of whole
conversations, is put into its trace when it is merged, with their times moved to just before its start: durations
stay as measured, and CLOCK_MONOTONIC may have begun anew in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from relaymark.errors import ConfigError
from relaymark.trace import Kind, Leg, RunRecord, read_run_record
from relaymark.trace.runfolder import TRACE_FILE
from relaymark.trace.table import Trace
from relaymark.trace.turns import TurnSaid, read_said

_STAMPS = (
    "scheduled", "started", "connected", "sent", "first_sent", "first_byte", "first_token", "first_answer_token",
    "last_token", "ended",
)  # fmt: skip
_OTHER_IDS = 1 << 55
"""Added to leg ids that come from an earlier run: above all that this run gives out."""
_GAP_NS = 1_000_000


def whole_sessions(folder: Path, record: RunRecord) -> list[str]:
    """The sessions that an earlier run has had whole, as ``stage/session``.

    Args:
        folder: The earlier run's, merged.
        record: Of the run that is to go on with it.

    Raises:
        ConfigError: It is not the same work: other conversations, settings, model or endpoint.
    """
    earlier = read_run_record(folder)
    for what, mine, theirs in (
        ("other conversations or settings", record.prompts_sha256, earlier.prompts_sha256),
        ("another model", record.model, earlier.model),
        ("another endpoint", record.url, earlier.url),
        ("another load", [s.load for s in record.stages], [s.load for s in earlier.stages]),
    ):
        if mine != theirs:
            raise ConfigError(f"that run had {what}", where=str(folder), mend="start a new run")
    return [
        f"{leg.stage}/{leg.session_id}"
        for leg in Trace(folder / TRACE_FILE).legs()
        if leg.kind is Kind.TASK and leg.outcome.good and not leg.warmup
    ]


def carried_over(folder: Path, done: tuple[str, ...], record: RunRecord) -> Iterator[Leg]:
    """The legs of those sessions, their times moved; moves the beginning of the record's stages with them."""
    wanted = set(done)
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for leg in _legs(folder, wanted):
        if leg.started is not None and leg.ended is not None:
            first[leg.stage] = min(first.get(leg.stage, leg.started), leg.started)
            last[leg.stage] = max(last.get(leg.stage, leg.ended), leg.ended)
    moved: dict[int, int] = {}
    for stage in record.stages:
        if stage.index in last and stage.started_ns is not None:
            moved[stage.index] = stage.started_ns - _GAP_NS - last[stage.index]
            stage.started_ns = first[stage.index] + moved[stage.index]
    for leg in _legs(folder, wanted):
        if leg.stage not in moved:
            continue
        for name in _STAMPS:
            at = getattr(leg, name)
            if at is not None:
                setattr(leg, name, at + moved[leg.stage])
        leg.leg_id += _OTHER_IDS
        leg.parent_id = None if leg.parent_id is None else leg.parent_id + _OTHER_IDS
        yield leg


def said_before(folder: Path, done: tuple[str, ...]) -> Iterator[TurnSaid]:
    """What was said in those sessions."""
    wanted = set(done)
    return (turn for turn in read_said(folder) if f"{turn.stage}/{turn.session}" in wanted)


def _legs(folder: Path, wanted: set[str]) -> Iterator[Leg]:
    return (leg for leg in Trace(folder / TRACE_FILE).legs() if f"{leg.stage}/{leg.session_id}" in wanted)
