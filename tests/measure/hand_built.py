"""Traces built by hand, as the trace room would write them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import pyarrow as pa

from relaymark.measure.columns import Legs, Piece
from relaymark.measure.inputs import Gates, RunInfo, Slo, StageInfo
from relaymark.trace import ChunkTokens, Heartbeat, Leg, Outcome, TokenSource
from relaymark.trace.table import SCHEMA

MS = 1_000_000
S = 1_000_000_000
# past 2**53 ns (104 days of uptime), where float64 no longer tells neighbouring ns apart
T0 = 20_000_000 * S + 1


def batch_of(legs: Sequence[Leg]) -> pa.RecordBatch:
    columns = []
    for name in SCHEMA.names:
        kind = SCHEMA.field(name).type
        values = ["run"] * len(legs) if name == "run_id" else [getattr(leg, name) for leg in legs]
        if pa.types.is_dictionary(kind):
            texts = [None if value is None else str(value) for value in values]
            columns.append(pa.array(texts, pa.string()).dictionary_encode())
        else:
            columns.append(pa.array(values, kind))
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def trace(legs: Sequence[Leg], rows: int = 7) -> Legs:
    """A repeatable source of batches of ``rows`` legs, which has only the columns asked for."""
    batches = [batch_of(legs[i : i + rows]) for i in range(0, len(legs), rows)]

    def read(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch.select(list(columns))

    return read


def piece(*legs: Leg) -> Piece:
    return Piece(batch_of(legs))


def stream(
    task: int = 0,
    *,
    at: int = 0,
    chunks: Sequence[int] = (50, 70, 90),
    end: int | None = None,
    tokens: int | None = -1,
    source: ChunkTokens = ChunkTokens.ONE,
    listed: Sequence[int] | None = None,
    **changes: object,
) -> Leg:
    """A successful stream sent at ``T0 + at`` ms; ``chunks`` and ``end`` are ms after that; one token each."""
    sent = T0 + at * MS
    stamps = [offset * MS for offset in chunks]
    leg = Leg(
        task_id=task,
        leg_id=task,
        started=sent,
        sent=sent,
        first_byte=sent + stamps[0] if stamps else None,
        first_token=sent + stamps[0] if stamps else None,
        first_answer_token=sent + stamps[0] if stamps else None,
        last_token=sent + stamps[-1] if stamps else None,
        ended=sent + (end * MS if end is not None else stamps[-1]),
        streamed=True,
        chunk_at=stamps,
        chunk_tokens=list(listed) if listed is not None else [1] * len(stamps),
        chunk_tokens_source=source,
        coalesced=sum(a == b for a, b in pairwise(stamps)),
        read_added=[],
        prompt_tokens=10,
        completion_tokens=len(stamps) if tokens == -1 else tokens,
        token_source=TokenSource.USAGE,
        request_ref=f"prompt-{task}",
        stamp_source="kernel",
    )
    for name, value in changes.items():
        setattr(leg, name, value)
    return leg


def failure(task: int, *, at: int = 0, end: int = 10, outcome: Outcome = Outcome.HTTP_ERROR, **changes: object) -> Leg:
    leg = stream(task, at=at, chunks=(), end=end, tokens=None, source=ChunkTokens.NONE, token_source=TokenSource.NONE)
    leg.outcome = outcome
    for name, value in changes.items():
        setattr(leg, name, value)
    return leg


def run_info(*stages: StageInfo, gates: Gates | None = None, slos: Sequence[Slo] = (), **changes: object) -> RunInfo:
    return RunInfo(
        run_id="run",
        name="test",
        version="0",
        started_at="2026-01-01T00:00:00+00:00",
        url="http://127.0.0.1:1/",
        model="m",
        dialect="openai-chat",
        stages=list(stages) or [closed()],
        gates=gates or Gates(),
        slos=list(slos),
        **changes,  # type: ignore[arg-type] - tests name fields of RunInfo
    )


def closed(index: int = 0, **changes: object) -> StageInfo:
    return StageInfo(**{"index": index, "name": "closed", "load": "concurrency 1", "open_loop": False, **changes})


def poisson(index: int = 0, **changes: object) -> StageInfo:
    return StageInfo(**{"index": index, "name": "open", "load": "poisson 10/s", "open_loop": True, **changes})


def beats(
    seconds: float, *, cpu: float = 0.1, worker: int = 0, begin: int = T0, late: int = 0, **last: int
) -> list[Heartbeat]:
    """Heartbeats ten a second at a steady CPU share; ``last`` changes the final one."""
    found = [
        Heartbeat(
            worker=worker,
            mono_ns=begin + i * 100 * MS,
            wall_offset_ns=1_700_000_000 * S,
            cpu_ns=round(i * 100 * MS * cpu),
            loop_late_ns=late,
            due=0,
            sent=0,
            ended=0,
            failed=0,
            in_flight=0,
            bytes_in=0,
            reads=0,
            backpressure=0,
            reconnects=0,
            stage=0,
        )
        for i in range(round(seconds * 10) + 1)
    ]
    values = {name: getattr(found[-1], name) for name in found[-1].__struct_fields__}
    found[-1] = Heartbeat(**{**values, **last})
    return found
