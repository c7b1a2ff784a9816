"""The trace file: what goes in comes out, absent stays absent, and a bad file is a clear error."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from relaymark.errors import TraceError
from relaymark.trace import ChunkTokens, Kind, Leg, Outcome, TokenSource
from relaymark.trace.table import SCHEMA, Trace, TraceWriter, write_trace

FULL = Leg(
    task_id=(1 << 32) + 7,
    leg_id=(3 << 40) + 1,
    parent_id=5,
    session_id="séance\u2028",
    turn=2,
    attempt=3,
    worker=4,
    stage=-1,
    warmup=True,
    endpoint="http://[::1]:8000",
    kind=Kind.EMBED,
    role="grade",
    model="<script>alert(1)</script>",
    scheduled=10**18,
    started=10**18 + 1,
    connected=10**18 + 2,
    sent=10**18 + 3,
    first_byte=10**18 + 4,
    first_token=10**18 + 5,
    first_answer_token=10**18 + 6,
    last_token=10**18 + 7,
    ended=10**18 + 8,
    streamed=True,
    chunk_at=[1, 2, 2, 2**40],
    chunk_tokens=[1, 0, 5, 2],
    chunk_tokens_source=ChunkTokens.USAGE,
    coalesced=1,
    read_at=[-3, 1, 2, 2**40],
    read_added=[0, 7, 8, 9],
    stamp_source="kernel",
    prompt_tokens=0,
    cached_tokens=0,
    completion_tokens=8,
    reasoning_tokens=3,
    token_source=TokenSource.USAGE,
    bytes_in=2**33,
    bytes_out=5,
    items=0,
    outcome=Outcome.INBAND_ERROR,
    http_status=200,
    finish_reason="stop",
    error_type="server_error",
    error_message="out of memory\n",
    retry_after="Wed, 21 Oct 2015 07:28:00 GMT",
    reconnects=1,
    final=False,
    first_sent=7,
    warnings=["a", ""],
    request_ref="00ff",
    response_ref="ff00",
    server_prefill_ns=0,
    server_decode_ns=12,
    server_prompt_tokens=1,
    server_completion_tokens=2,
    drafted_tokens=3,
    accepted_tokens=0,
)


def test_every_field_comes_back_and_absent_stays_absent(tmp_path: Path) -> None:
    bare = Leg(task_id=0, leg_id=0)
    path = tmp_path / "trace.parquet"
    assert write_trace(path, "run-1", [FULL, bare]) == 2
    trace = Trace(path)
    assert len(trace) == 2
    assert list(trace.legs()) == [FULL, bare]
    assert list(trace.legs()) == [FULL, bare], "a second pass gives the same"


def test_no_field_of_a_leg_is_missing_from_the_file() -> None:
    assert [field.name for field in msgspec.structs.fields(Leg) if field.name not in SCHEMA.names] == []
    assert "run_id" in SCHEMA.names
    assert all(
        msgspec.to_builtins(getattr(FULL, field.name)) != msgspec.to_builtins(field.default)
        for field in msgspec.structs.fields(Leg)
        if field.default is not msgspec.NODEFAULT and field.default is not None
    ), "the full leg above must differ from every default, or a dropped column would pass"


@pytest.mark.parametrize("outcome", list(Outcome))
def test_every_outcome_comes_back(tmp_path: Path, outcome: Outcome) -> None:
    write_trace(tmp_path / "t", "r", [Leg(task_id=1, leg_id=1, outcome=outcome)])
    assert next(Trace(tmp_path / "t").legs()).outcome is outcome


def test_many_groups_with_new_words_in_each(tmp_path: Path) -> None:
    """Dictionary columns differ from group to group; words of one must not leak into another."""
    legs = [Leg(task_id=n, leg_id=n, model=f"m{n // 10}", finish_reason=None if n % 3 else f"f{n}") for n in range(95)]
    path = tmp_path / "trace.parquet"
    writer = TraceWriter(path, "run", group=10)
    for leg in legs:
        writer.add(leg)
    assert not path.exists(), "a half-written trace must not be there to read"
    writer.close()
    assert writer.count == 95
    assert list(Trace(path).legs()) == legs
    assert sum(batch.num_rows for batch in Trace(path).batches(["task_id"])) == 95


def test_an_empty_trace_is_a_trace(tmp_path: Path) -> None:
    write_trace(tmp_path / "t", "r", [])
    assert len(Trace(tmp_path / "t")) == 0
    assert list(Trace(tmp_path / "t").legs()) == []


def test_what_is_no_trace_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(TraceError):
        Trace(tmp_path / "absent")
    (tmp_path / "text").write_text("no parquet")
    with pytest.raises(TraceError, match="cannot be read"):
        Trace(tmp_path / "text")
    write_trace(tmp_path / "cut", "r", [FULL])
    raw = (tmp_path / "cut").read_bytes()
    (tmp_path / "cut").write_bytes(raw[: len(raw) // 2])
    with pytest.raises(TraceError):
        Trace(tmp_path / "cut")
    pq.write_table(pa.table({"task_id": [1]}), tmp_path / "other")
    with pytest.raises(TraceError, match=r"lacks columns: .*leg_id"):
        Trace(tmp_path / "other")
