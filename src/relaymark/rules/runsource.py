"""Where a point's measurement comes from: a stage of a Relaymark run, or a run folder of the reference client."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from relaymark.bench import Benchmark, load_benchmark
from relaymark.bench.agent_replay import AgentReplay
from relaymark.errors import ConfigError, TraceError
from relaymark.measure.steady_samples import stage_samples
from relaymark.rules.bundle import Document, read_json, read_yaml
from relaymark.rules.curve import AGENTIC, CONCURRENCY, THROUGHPUT
from relaymark.rules.fields import whole_number
from relaymark.rules.resultfile import result_summary, steady_block, steady_of
from relaymark.trace import read_run_record
from relaymark.trace.runfolder import CONFIG_FILE, RUN_FILE

_API = {"openai-chat": "openai", "openai-completions": "openai_completions"}
_COPIED = ("report.txt", "sample_idx_map.json")


@dataclass(slots=True)
class RunSource:
    """One measured point as a bundle needs it. ``seeds`` are those the client's random generators were given."""

    folder: Path
    concurrency: int | None
    load_pattern: str
    summary: dict[str, Any]
    config: dict[str, Any]
    seeds: dict[str, int | None] = field(default_factory=dict[str, int | None])
    warmup: dict[str, Any] | None = None
    steady: dict[str, Any] | None = None
    copied: list[tuple[Path, str]] = field(default_factory=list[tuple[Path, str]])


def read_run(folder: Path, *, stage: int = 0, super_pass: int | None = None, agentic: bool = False) -> RunSource:
    """Reads a run folder of either kind.

    Args:
        folder: A run's folder.
        stage: Which stage of a Relaymark run.
        super_pass: Size of the data set, for the steady window; ``None``: no window is looked for.
        agentic: Whether the rules of agentic benchmarks apply.

    Raises:
        TraceError: It is neither kind of run folder, or cannot be read.
    """
    if (folder / RUN_FILE).is_file():
        return _own(folder, stage, super_pass, agentic)
    if _client_summary(folder) is not None:
        return _client(folder)
    raise TraceError(
        "This is neither a Relaymark run nor one of the reference client.",
        where=str(folder),
        mend="Give a folder with run.json, or one with performance/result_summary.json and config.yaml.",
    )


def client_config(
    bench: Benchmark, load_pattern: str, concurrency: int | None, duration_ns: int | None
) -> dict[str, Any]:
    """A benchmark in the words of the reference client's ``config.yaml``. Keys stay out of it."""
    sampling, endpoint = bench.sampling, bench.endpoint
    params = {
        "name": endpoint.model,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "max_new_tokens": sampling.max_tokens,
        "seed": sampling.seed,
        "streaming": "on" if bench.stream else "off",
    }
    source = bench.prompt_source()
    data = bench.trajectories if isinstance(bench, AgentReplay) else source.path or source.kind
    least = bench.gates.min_duration or duration_ns
    warmup = bench.warmup
    return {
        "name": bench.name,
        "version": "1.0",
        "type": "offline" if load_pattern == THROUGHPUT else "online",
        "model_params": {key: value for key, value in params.items() if value is not None},
        "datasets": [{"name": "performance", "type": "performance", "path": data}],
        "settings": {
            "runtime": {
                "min_duration_ms": None if least is None else least // 1_000_000,
                "scheduler_random_seed": bench.seed,
                "dataloader_random_seed": bench.seed_of_data,
            },
            "load_pattern": {"type": load_pattern, "target_concurrency": concurrency},
            "warmup": {"enabled": bool(warmup.requests or warmup.duration), "n_requests": warmup.requests},
        },
        "endpoint_config": {
            "endpoints": [endpoint.url],
            "api_key": "<redacted>",
            "api_type": _API.get(endpoint.dialect, endpoint.dialect),
        },
    }


def _own(folder: Path, index: int, super_pass: int | None, agentic: bool) -> RunSource:
    record = read_run_record(folder)
    stage = next((each for each in record.stages if each.index == index), None)
    if stage is None or stage.warmup or stage.started_ns is None:
        raise TraceError(f"The run has no stage {index} that was run.", where=str(folder / RUN_FILE))
    bench = load_benchmark(folder / CONFIG_FILE)
    closed = stage.slots is not None
    pattern = CONCURRENCY if closed else THROUGHPUT if stage.load.startswith("offline") else stage.load.split()[0]
    pattern = AGENTIC if isinstance(bench, AgentReplay) else pattern
    samples = stage_samples(folder, index)
    steady = None
    if super_pass and closed:
        steady = steady_block(steady_of(samples, stage.slots or 1, super_pass, agentic=agentic))
    warm = next((each for each in record.stages if each.warmup), None)
    return RunSource(
        folder=folder,
        concurrency=stage.slots,
        load_pattern=pattern,
        summary=result_summary(samples, record, stage, pattern),
        config=client_config(bench, pattern, stage.slots, stage.duration_ns),
        seeds={
            "scheduler_rng_seed": bench.seed,
            "sample_index_rng_seed": bench.seed_of_data,
            "model_seed": bench.sampling.seed,
        },
        warmup=_no_warmup() if warm is None else None,
        steady=steady,
    )


def _no_warmup() -> dict[str, Any]:
    """The declaration that there was none, which the rules take (§6.3)."""
    return {
        "duration_s": 0.0,
        "requests_issued": 0,
        "requests_completed": 0,
        "data_source": "none",
        "concurrency": 0,
        "initialization_steps": [],
        "logs_retained": True,
    }


def _client_summary(folder: Path) -> Path | None:
    places = (folder / "performance" / "result_summary.json", folder / "result_summary.json")
    return next((place for place in places if place.is_file()), None)


def _client(folder: Path) -> RunSource:
    path = _client_summary(folder) or folder
    summary, config = _mapping(read_json(path, folder)), _mapping(read_yaml(folder / "config.yaml", folder))
    settings = _inner(config, "settings")
    load, runtime = _inner(settings, "load_pattern"), _inner(settings, "runtime")
    copied = [(folder / name, name) for name in _COPIED if (folder / name).is_file()]
    snapshot = folder / "metrics" / "final_snapshot.json"
    if snapshot.is_file():
        copied.append((snapshot, "metrics/final_snapshot.json"))
    kind = load.get("type")
    return RunSource(
        folder=folder,
        concurrency=whole_number(load.get("target_concurrency")),
        load_pattern=kind if isinstance(kind, str) else CONCURRENCY,
        summary=summary,
        config=config,
        seeds={
            "scheduler_rng_seed": whole_number(runtime.get("scheduler_random_seed")),
            "sample_index_rng_seed": whole_number(runtime.get("dataloader_random_seed")),
            "model_seed": whole_number(_inner(config, "model_params").get("seed")),
        },
        copied=copied,
    )


def _inner(data: dict[str, Any], key: str) -> dict[str, Any]:
    value = data.get(key)
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def _mapping(document: Document) -> dict[str, Any]:
    if document.mapping is None:
        problem = document.problem or "is not a mapping"
        raise ConfigError(f"{document.path.name} {problem}.", where=str(document.path))
    return document.mapping
