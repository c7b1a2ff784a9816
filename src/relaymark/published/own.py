"""A run of one's own in the words of a published row: which benchmark, scenario, result and scale, and what holds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from relaymark.bench import Benchmark, load_benchmark
from relaymark.bench.rag_ask import RagAsk
from relaymark.errors import ConfigError, TraceError
from relaymark.measure.run import summarise_run
from relaymark.measure.steady_samples import stage_samples
from relaymark.measure.summary import Stage, Summary
from relaymark.published.names import benchmark_name, precision_of, scenario_name
from relaymark.rules.limits import inference
from relaymark.rules.scenario import Judgement, judge_scenario
from relaymark.trace.runfolder import CONFIG_FILE

# Weights → benchmarks that run them. llama2-70b has two, told apart by the accuracy they ask for.
_MODELS: dict[str, tuple[str, ...]] = {
    "deepseek-r1": ("deepseek-r1",),
    "gpt-oss-120b": ("gpt-oss-120b",),
    "llama-2-70b": ("llama2-70b-99", "llama2-70b-99.9"),
    "llama2-70b": ("llama2-70b-99", "llama2-70b-99.9"),
    "llama-3.1-8b": ("llama3.1-8b",),
    "llama-3.1-405b": ("llama3.1-405b",),
    "meta-llama-3.1-8b": ("llama3.1-8b",),
    "meta-llama-3.1-405b": ("llama3.1-405b",),
    "mixtral-8x7b": ("mixtral-8x7b",),
    "qwen3-vl-235b-a22b": ("qwen3-vl-235b-a22b",),
    "qwen3.6-27b": ("qwen3.6-27b",),
    "whisper-large-v3": ("whisper",),
}
# How weights are packed or tuned for chat; what is left is the model. "distill" and sizes are no such words.
_ENDINGS = frozenset(
    "instruct chat hf it v0.1 v0 fp8 fp4 nvfp4 mxfp4 bf16 fp16 int8 int4 w4a16 w8a8 w8a16 awq gptq gguf dynamic".split()  # noqa: SIM905
)
_SCENARIO_OF = {"offline": "Offline", "poisson": "Server", "single": "SingleStream"}


@dataclass(frozen=True, slots=True)
class OwnRun:
    """What is known of a run. ``results``: unit → result; a unit that the run cannot tell is missing.

    ``unmet`` is what the scenario's rules ask for and the run does not meet; ``unchecked`` what nobody looked at.
    """

    run_id: str
    name: str
    started_at: str
    model: str
    benchmarks: tuple[str, ...]
    told: bool  # the benchmark was named by the user, not by the model
    scenario: str
    results: dict[str, float]
    rules: str  # the round whose limits it was held to
    valid: bool
    reasons: list[str] = field(default_factory=list[str])
    unmet: list[str] = field(default_factory=list[str])
    unchecked: list[str] = field(default_factory=list[str])
    tokens_per_sample: float | None = None
    accelerators: int | None = None
    accelerator: str = ""
    nodes: int | None = None
    precision: str = ""
    framework: str = ""


def read_own(
    folder: Path,
    *,
    stage: int = 0,
    benchmark: str = "",
    scenario: str = "",
    rounds: Sequence[str] = ("v6.1",),
    accelerators: int | None = None,
    accelerator: str = "",
    nodes: int | None = None,
    precision: str = "",
) -> OwnRun:
    """Reads a run's folder; what the run itself cannot know is what the user says.

    Args:
        folder: Of a finished run.
        stage: Which of its stages.
        benchmark: Instead of the one that the model's name stands for.
        scenario: Instead of the one that the load stands for; only Interactive for Server is another name of one load.
        rounds: Whose limits the run may be held to: the last of them that has rules for the benchmark here.
        accelerators: How many the endpoint ran on.
        accelerator: Their name.
        nodes: How many nodes.
        precision: The number formats of the weights.

    Raises:
        TraceError: The run cannot be read, or has no such stage.
        ConfigError: The benchmark or scenario is unknown, or the load is not what the scenario asks for.
    """
    summary = summarise_run(folder)
    bench = load_benchmark(folder / CONFIG_FILE)
    found = next((each for each in summary.stages if each.index == stage), None)
    if found is None:
        known = ", ".join(str(each.index) for each in summary.stages) or "none"
        raise TraceError(f"The run has no stage {stage}.", where=str(folder), mend=f"It has {known}.")
    benchmarks, told = _benchmarks(summary.model, benchmark, bench, folder)
    named = _scenario(bench, stage, scenario, folder)
    name = benchmarks[-1] if benchmarks else ""
    held_to = next((each for each in reversed(rounds) if inference().benchmark(name, each) is not None), "")
    judged, unchecked = _judge(folder, stage, name, named, held_to, bench)
    results = _results(found, named, judged)
    counted = (found.completion_tokens or 0) if found.token_source == "usage" else 0  # noqa: S105 - a source of counts
    good = sum(found.outcomes.get(each, 0) for each in ("ok", "ok_length"))
    return OwnRun(
        run_id=summary.run_id,
        name=summary.name,
        started_at=summary.started_at,
        model=summary.model,
        benchmarks=benchmarks,
        told=told,
        scenario=named,
        results=results,
        rules=held_to,
        valid=summary.verdict.valid and summary.status == "complete",
        reasons=_reasons(summary),
        unmet=[f"{each.what}: {each.told}" for each in judged.conditions if not each.met] if judged else [],
        unchecked=[*unchecked, *_inputs(bench)],
        tokens_per_sample=counted / good if counted and good else None,
        accelerators=accelerators,
        accelerator=accelerator,
        nodes=nodes,
        precision=precision_of(precision) or precision,
        framework=", ".join(f"{key} {value}" for key, value in summary.server.items() if key in ("engine", "version")),
    )


def benchmarks_of(model: str) -> tuple[str, ...]:
    """The benchmarks that run a model, by the name it is served under: ``meta-llama/Llama-3.1-8B-Instruct-FP8``.

    Exact after packing words are taken off: a distilled or finetuned model is another one. ``()``: none is known.
    """
    name = model.strip().lower().replace("\\", "/").rstrip("/").rpartition("/")[2].replace("_", "-")
    words = re.split(r"-", name)
    while len(words) > 1 and words[-1] in _ENDINGS:
        words.pop()
    base = "-".join(words)
    known = benchmark_name(base)
    return _MODELS.get(base) or ((known,) if known in {each for found in _MODELS.values() for each in found} else ())


def _benchmarks(model: str, asked: str, bench: Benchmark, folder: Path) -> tuple[tuple[str, ...], bool]:
    if asked:
        name = benchmark_name(asked)
        if name is None:
            raise ConfigError(
                f"There is no benchmark {asked!r}.", where="--benchmark", mend="See relaymark published table."
            )
        return (name,), True
    if isinstance(bench, RagAsk):
        raise ConfigError(
            "A pipeline's run does not say whether it was the benchmark's pipeline.",
            where=str(folder),
            mend="If it was: --benchmark e2e-rag-qna",
        )
    return benchmarks_of(model), False


def _scenario(bench: Benchmark, stage: int, asked: str, folder: Path) -> str:
    load = next(each.load for each in bench.resolved_stages() if each.index == stage)
    kind = "single" if load.kind == "concurrency" and load.concurrency == 1 else load.kind
    own = _SCENARIO_OF.get(kind, "")
    wanted = own if not asked else scenario_name(asked)
    if wanted is None:
        raise ConfigError(f"There is no scenario {asked!r}.", where="--scenario", mend="Such as Server or Offline.")
    if not own:
        raise ConfigError(
            f"The load {load.text()!r} is that of no published scenario.",
            where=str(folder),
            mend="Offline is --load offline, Server and Interactive --load poisson:RATE/s, SingleStream --load single.",
        )
    if wanted != own and not (own == "Server" and wanted == "Interactive"):
        raise ConfigError(
            f"The load {load.text()!r} is that of {own}, not of {wanted}.", where="--scenario", mend=f"Leave it: {own}."
        )
    return wanted


def _judge(
    folder: Path, stage: int, benchmark: str, scenario: str, round_name: str, bench: Benchmark
) -> tuple[Judgement | None, list[str]]:
    """(the run held against the scenario's rules, what could not be checked)."""
    entry = inference().benchmark(benchmark, round_name)
    if entry is None:
        return None, [f"the rules: none are known here for {benchmark or 'this model'} in these rounds"]
    offered = {name for kinds in entry.scenarios.values() for name in (*kinds.required, *kinds.optional)}
    if scenario not in offered:
        return None, [f"the rules: {benchmark} has no {scenario} in {round_name}"]
    samples = stage_samples(folder, stage)
    return judge_scenario(samples, benchmark, scenario, round_name, {"schedule_rng_seed": bench.seed}), []


def _results(stage: Stage, scenario: str, judged: Judgement | None) -> dict[str, float]:
    if scenario == "SingleStream":
        return {} if judged is None or judged.result is None else {"ms": judged.result}
    results: dict[str, float] = {}
    if stage.tasks is not None:
        return {"tasks/s": stage.tasks.rate}
    if stage.output_token_rate is not None and stage.token_source == "usage":  # noqa: S105 - as above
        results["tokens/s"] = stage.output_token_rate
    return {**results, "samples/s": stage.request_rate, "queries/s": stage.request_rate}


def _inputs(bench: Benchmark) -> list[str]:
    if isinstance(bench, RagAsk):
        return ["the inputs: whether corpus, questions and models are the benchmark's"]
    source = bench.prompt_source()
    told = source.path if source.kind == "file" else f"{source.kind} prompts"
    return [f"the inputs: {told}; published rows use the benchmark's own data set"]


def _reasons(summary: Summary) -> list[str]:
    unfinished = [] if summary.status == "complete" else [f"the run is {summary.status}"]
    return [*unfinished, *(reason.text for reason in summary.verdict.reasons)]
