"""A run of MLCommons' reference client read in: its events become a trace, or its result summary becomes a summary.

The client's ``events.jsonl`` has one object a line, stamped with ``time.monotonic_ns()``: ``session.*``,
``sample.issued``, ``sample.recv_first``, ``sample.recv_non_first``, ``sample.complete`` and ``error.*``. It carries no
token counts, so a trace from it has none; the counts in ``result_summary.json`` are of the whole run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import msgspec

from relaymark import __version__
from relaymark.bench import build_benchmark, dump_benchmark
from relaymark.errors import RelaymarkError, TraceError
from relaymark.measure.summary import Distribution, ErrorBar, Quantile, Reason, Stage, Summary, Verdict
from relaymark.rules.fields import plain_number, whole_number
from relaymark.rules.runsource import RunSource, read_run
from relaymark.trace import Kind, Leg, Outcome, RunRecord, StageRecord, create_run_folder, write_run_record
from relaymark.trace.runfolder import CONFIG_FILE, TRACE_FILE

EVENTS_FILE = "events.jsonl"
_MOST_IN_FLIGHT = 1_000_000
_QUANTILES = (0.5, 0.9, 0.95, 0.99, 0.999)
_NOTE = (
    "Measured by MLCommons' reference client, not by Relaymark: what that client added to its times is not known, and "
    "this report's verdict is about the import alone."
)


class _Event(msgspec.Struct):
    event_type: str
    timestamp_ns: int
    sample_uuid: str | None = None
    conversation_id: str | None = None
    turn: int | None = None
    finish_reason: str | None = None
    data: msgspec.Raw = msgspec.Raw(b"")


@dataclass(slots=True)
class _Sample:
    leg: Leg
    failed: str = ""
    chunks: list[int] = field(default_factory=list[int])


def import_run(folder: Path, out: Path) -> tuple[Path, Summary | None]:
    """Makes a Relaymark run folder from one of the reference client.

    Returns the folder, and the summary where there were no events to make a trace from (then it is all there is).

    Raises:
        TraceError: The folder is no run of that client, or its events cannot be read.
    """
    source = read_run(folder)
    target = create_run_folder(out, f"import-{folder.name}")
    record = _record(source)
    (target / CONFIG_FILE).write_text(_config(source), encoding="utf-8")
    events = folder / EVENTS_FILE
    if not events.is_file():
        record.notes.append("There is no events.jsonl: the figures are those of result_summary.json.")
        write_run_record(target, record)
        return target, _summary(source, record)
    from relaymark.trace.table import write_trace  # noqa: PLC0415 - it alone loads pyarrow here

    started = [0]
    write_trace(target / TRACE_FILE, record.run_id, _legs(events, started))
    record.stages[0].started_ns = started[0]
    lengths = source.summary.get("output_sequence_lengths")
    total = plain_number(cast(dict[str, Any], lengths).get("total")) if isinstance(lengths, dict) else None
    if total is not None:
        record.notes.append(f"The client counted {total:,.0f} output tokens in all; its events do not say whose.")
    write_run_record(target, record)
    return target, None


def _legs(path: Path, started: list[int]) -> Iterator[Leg]:
    """The samples as legs, in the order they ended. Samples issued while tracking was off count as warm-up."""
    tracking, seen_tracking = False, False
    flying: dict[str, _Sample] = {}
    number = 0
    for event in _events(path):
        kind = event.event_type
        if kind.endswith("start_performance_tracking"):
            tracking = seen_tracking = True
            started[0] = started[0] or event.timestamp_ns
        elif kind.endswith("stop_performance_tracking"):
            tracking = False
        elif kind == "sample.issued" and event.sample_uuid is not None:
            if len(flying) >= _MOST_IN_FLIGHT:
                raise TraceError("More than a million samples were issued and never completed.", where=str(path))
            flying[event.sample_uuid] = _Sample(_issued(event, number, warmup=not tracking))
            number += 1
        elif event.sample_uuid in flying:
            sample = flying[event.sample_uuid]
            if _take(sample, event):
                del flying[event.sample_uuid]
                yield _ended(sample)
    if not seen_tracking:
        raise TraceError("The events never start performance tracking.", where=str(path))
    for sample in flying.values():
        yield sample.leg  # issued and never completed: in flight at the end


def _issued(event: _Event, number: int, *, warmup: bool) -> Leg:
    return Leg(
        task_id=number,
        leg_id=number,
        session_id=event.conversation_id or None,
        turn=event.turn or 0,
        stage=-1 if warmup else 0,
        warmup=warmup,
        kind=Kind.LLM,
        started=event.timestamp_ns,
        sent=event.timestamp_ns,
        streamed=False,
    )


def _take(sample: _Sample, event: _Event) -> bool:
    """Takes an event of a sample in; true when it was its last."""
    leg, at = sample.leg, event.timestamp_ns
    if event.event_type == "sample.recv_first":
        leg.first_byte = leg.first_token = at
        sample.chunks.append(at - (leg.sent or at))
    elif event.event_type == "sample.recv_non_first":
        sample.chunks.append(at - (leg.sent or at))
    elif event.event_type.startswith("error."):
        sample.failed = event.event_type
        leg.error_message = bytes(event.data)[:400].decode(errors="replace") or None
    elif event.event_type == "sample.complete":
        leg.ended, leg.finish_reason = at, event.finish_reason
        return True
    return False


def _ended(sample: _Sample) -> Leg:
    leg = sample.leg
    leg.streamed = len(sample.chunks) > 1
    leg.chunk_at, leg.chunk_tokens = sample.chunks, [1] * len(sample.chunks)
    if sample.chunks:
        leg.last_token = (leg.sent or 0) + sample.chunks[-1]
    if sample.failed:
        leg.error_type = sample.failed
        leg.outcome = Outcome.TIMEOUT_TOTAL if "timeout" in sample.failed else Outcome.PROTOCOL_ERROR
    elif leg.finish_reason == "length":
        leg.outcome = Outcome.OK_LENGTH
    return leg


def _events(path: Path) -> Iterator[_Event]:
    decoder = msgspec.json.Decoder(_Event)
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                yield decoder.decode(line)
            except (msgspec.DecodeError, RecursionError) as error:
                where = f"{path}:{number}"
                raise TraceError(f"This line is no event: {error}.", where=where) from None


def _record(source: RunSource) -> RunRecord:
    config, summary = source.config, source.summary
    endpoints = _inner(config, "endpoint_config").get("endpoints")
    urls = cast(list[Any], endpoints) if isinstance(endpoints, list) else []
    began = whole_number(summary.get("test_started_at")) or 0
    when = datetime.fromtimestamp(began, UTC) if 1_577_836_800 <= began < 4_102_444_800 else None
    stage = StageRecord(
        index=0,
        name=f"{source.load_pattern} {source.concurrency or ''}".strip(),
        load=f"{source.load_pattern} {source.concurrency or ''}".strip(),
        open_loop=False,
        slots=source.concurrency,
        planned=whole_number(summary.get("n_samples_issued")),
        started_ns=0,
    )
    return RunRecord(
        run_id=f"import-{source.folder.name}",
        name=str(config.get("name") or source.folder.name),
        version=__version__,
        started_at=when.isoformat(timespec="seconds") if when is not None else "",
        url=str(urls[0]) if urls else "",
        model=str(_inner(config, "model_params").get("name") or ""),
        dialect="openai-chat",
        status="complete" if summary.get("complete") in (True, None) else "interrupted",
        stages=[stage],
        server={"client": "mlcommons/endpoints", "client commit": str(summary.get("git_sha") or "unknown")},
        notes=[_NOTE],
    )


def _config(source: RunSource) -> str:
    """A benchmark file that says as much of the run as it can."""
    params = _inner(source.config, "model_params")
    endpoints = _inner(source.config, "endpoint_config").get("endpoints")
    urls = cast(list[Any], endpoints) if isinstance(endpoints, list) else []
    load = f"concurrency:{source.concurrency}" if source.concurrency else "single"
    options = {
        "name": str(source.config.get("name") or "import")[:100],
        "endpoint.url": str(urls[0]) if urls else "http://unknown.invalid",
        "endpoint.model": str(params.get("name") or "unknown"),
        "load": load,
        "requests": whole_number(source.summary.get("n_samples_issued")) or 1,
        "stream": params.get("streaming") not in (False, "off"),
    }
    try:
        return dump_benchmark(build_benchmark(options))
    except RelaymarkError as error:
        raise TraceError(f"The client's config.yaml cannot be used: {error.what}.", where=str(source.folder)) from None


def _summary(source: RunSource, record: RunRecord) -> Summary:
    """A summary from ``result_summary.json`` alone: percentiles as the client gave them, no intervals, no series."""
    data = source.summary
    issued, failed = whole_number(data.get("n_samples_issued")) or 0, whole_number(data.get("n_samples_failed")) or 0
    good = min(whole_number(data.get("n_samples_completed")) or 0, issued or 10**18)
    duration = plain_number(data.get("duration_ns")) or 0.0
    seconds = duration / 1e9
    tokens = plain_number(_inner(data, "output_sequence_lengths").get("total"))
    named = {
        "ttft": ("ttft", "ns"),
        "tpot": ("tpot", "ns"),
        "latency": ("latency", "ns"),
        "completion_tokens": ("output_sequence_lengths", "tokens"),
        "prompt_tokens": ("input_sequence_lengths", "tokens"),
    }
    blocks = {key: _distribution(key, _inner(data, name), unit, good) for key, (name, unit) in named.items()}
    p90 = next((q.value for q in blocks["tpot"].quantiles if q.q == 0.9), None) if blocks["tpot"] else None
    prompt = plain_number(_inner(data, "input_sequence_lengths").get("total"))
    stage = Stage(
        index=0,
        name=record.stages[0].name,
        load=record.stages[0].load,
        duration=duration,
        requests=max(issued, good + failed),
        outcomes={"ok": good, **({"protocol_error": failed} if failed else {})},
        in_flight_at_end=max(0, issued - good - failed),
        distributions={key: block for key, block in blocks.items() if block is not None},
        offered_rate=None,
        request_rate=good / seconds if seconds else 0.0,
        output_token_rate=tokens / seconds if tokens is not None and seconds else None,
        input_token_rate=prompt / seconds if prompt is not None and seconds else None,
        prompt_tokens=None if prompt is None else int(prompt),
        completion_tokens=None if tokens is None else int(tokens),
        reasoning_tokens=None,
        cached_tokens=None,
        partial_tokens=0,
        goodput=None,
        slos=[],
        unique_prompts=None,
        coalesced_share=None,
        one_piece_share=None,
        token_source="tokenizer",  # noqa: S106 - the client counts with the reference tokenizer
        itl_weights="none",
        tps_per_user=1e9 / p90 if p90 else None,
    )
    nothing = ErrorBar(
        source="none", read_p50=None, read_p99=None, read_max=None, reads=0, send_p50=None, send_p99=None,
        send_max=None, worker_cpu=None, clock_drift=None,
    )  # fmt: skip
    return Summary(
        schema=1,
        run_id=record.run_id,
        name=record.name,
        version=record.version,
        started_at=record.started_at,
        url=record.url,
        model=record.model,
        dialect=record.dialect,
        status=record.status,
        verdict=Verdict(valid=True, reasons=[], warnings=[Reason(code="imported", text=_NOTE)]),
        error_bar=nothing,
        stages=[stage],
        schedule_sha256="",
        config="",
        environment={},
        server=record.server,
        notes=record.notes[1:],
    )


def _distribution(key: str, block: dict[str, Any], unit: str, good: int) -> Distribution | None:
    percentiles = {float(p): plain_number(value) for p, value in _inner(block, "percentiles").items() if _rank(p)}
    mean, low, high = (plain_number(block.get(name)) for name in ("avg", "min", "max"))
    if mean is None or low is None or high is None or not percentiles:
        return None
    quantiles = [Quantile(q=q, value=percentiles.get(round(100 * q, 6))) for q in _QUANTILES]
    curve = [(p / 100, value) for p, value in sorted(percentiles.items()) if value is not None]
    return Distribution(
        metric=key, unit=unit, count=good, mean=mean, minimum=low, maximum=high,
        quantiles=[quantile for quantile in quantiles if quantile.value is not None], curve=curve,
    )  # fmt: skip


def _rank(text: str) -> bool:
    try:
        return 0 <= float(text) <= 100
    except ValueError:
        return False


def _inner(data: dict[str, Any], key: str) -> dict[str, Any]:
    value = data.get(key)
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}
