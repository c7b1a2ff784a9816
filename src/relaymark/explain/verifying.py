"""Predictions checked by doing it: a pipeline on emulated endpoints, run as it is and with stages really made faster.

The one file of this room that runs anything. The pipeline is RAG's over a small generated world; its LLM roles are
played by a scripted endpoint whose pace is known, on so many servers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from relaymark.bench.rag_ask import RagAsk
from relaymark.data.world import write_world
from relaymark.emulate import PacedConfig, ScriptedConfig, start_scripted
from relaymark.emulate.scriptedconfig import Pace
from relaymark.explain.legs import Run, read_run
from relaymark.explain.path import critical_path
from relaymark.explain.replay import model_of, predict
from relaymark.explain.whatif import amdahl, parse_factors
from relaymark.relay import Coordinator, finish, prepare
from relaymark.retrieval.build import BuildSpec, build_index
from relaymark.retrieval.specs import EmbedderSpec

PACES = {
    "queries": Pace(ttft=0.020, itl=0.0004),
    "relevance": Pace(ttft=0.030, itl=0.0004),
    "sufficiency": Pace(ttft=0.015, itl=0.0004),
    "answer": Pace(ttft=0.040, itl=0.0016),
}
"""What each role takes, in seconds: a first token, and each one after."""
TASKS = 24
SINGLE_BOUND, LOADED_BOUND = 0.05, 0.15


@dataclass(frozen=True)
class Combination:
    """One check: a load, what is made faster, and on how many servers it runs."""

    load: str
    faster: tuple[str, ...]
    servers: int = 64


COMBINATIONS = (
    Combination("single", ("answer=3",)),
    Combination("single", ("relevance=2",)),
    Combination("single", ("queries=4",)),
    Combination("single", ("sufficiency=5",)),
    Combination("single", ("llm=3",)),
    Combination("single", ("answer=2", "relevance=3")),
    Combination("concurrency:6", ("answer=3",), 2),
    Combination("concurrency:6", ("relevance=2",), 2),
    Combination("concurrency:6", ("llm=2",), 2),
    Combination("concurrency:4", ("queries=4",), 8),
    Combination("poisson:10/s", ("relevance=3",), 2),
    Combination("poisson:10/s", ("answer=4", "queries=2"), 2),
)


class Check(msgspec.Struct, kw_only=True, frozen=True):
    """One combination: how many times faster tasks became, predicted and measured."""

    load: str
    faster: str
    servers: int
    predicted: float
    low: float
    high: float
    measured: float
    bound: float

    @property
    def error(self) -> float:
        """Predicted / measured − 1."""
        return self.predicted / self.measured - 1

    @property
    def met(self) -> bool:
        """Whether the error is within its bound: 5 % for one task at a time, 15 % under load."""
        return abs(self.error) <= self.bound


def verify(
    combinations: tuple[Combination, ...] = COMBINATIONS, progress: Callable[[int, int], None] | None = None
) -> Iterator[Check]:
    """Runs every combination, and each load once as it is.

    Raises:
        ConfigError: A package that retrieval needs is missing.
    """
    with TemporaryDirectory(prefix="relaymark-verify-") as place:
        folder = Path(place)
        write_world(folder / "world", seed=3, pages=40, questions=TASKS)
        embedder = EmbedderSpec(kind="static", path="wordllama")
        corpus, index = str(folder / "world" / "pages"), str(folder / "index")
        build_index(BuildSpec(corpus=corpus, index_folder=index, embedder=embedder))
        before: dict[tuple[str, int], Run] = {}
        for number, one in enumerate(combinations):
            if progress is not None:
                progress(number, len(combinations))
            key = one.load, one.servers
            if key not in before:
                before[key] = _run(folder, one, {})
            yield _check(folder, one, before[key])


def _check(folder: Path, one: Combination, before: Run) -> Check:
    path = critical_path(before)
    factors = parse_factors(one.faster, path)
    words = ", ".join(one.faster)
    single = one.load == "single"
    if single:
        predicted = amdahl(path, factors, words)
    else:
        kind, _, level = one.load.partition(":")
        predicted = predict(model_of(before, int(level) if kind == "concurrency" else 0), factors, words)
    after = _run(folder, one, factors)
    return Check(
        load=one.load,
        faster=words,
        servers=one.servers,
        predicted=predicted.speedup,
        low=predicted.low,
        high=predicted.high,
        measured=_mean(before) / _mean(after),
        bound=SINGLE_BOUND if single else LOADED_BOUND,
    )


def _mean(run: Run) -> float:
    return float(run.tasks.latency.mean())


def _run(folder: Path, one: Combination, factors: dict[str, float]) -> Run:
    """The pipeline once, with some roles so many times faster."""
    paces = {
        role: Pace(ttft=pace.ttft / factors.get(role, 1.0), itl=pace.itl / factors.get(role, 1.0))
        for role, pace in PACES.items()
    }
    script = ScriptedConfig(
        script=f"world:{folder / 'world'}",
        pace=paces,
        paced=PacedConfig(ttft=0.0, itl=0.0, model="scripted", slots=one.servers),
    )
    with start_scripted(script) as server:
        bench = RagAsk.model_validate(
            {
                "kind": "rag-ask",
                "name": "verify",
                "questions": str(folder / "world" / "questions.jsonl"),
                "index": str(folder / "index"),
                "endpoint": {"url": server.url, "model": "scripted"},
                "load": one.load,
                "requests": TASKS,
                "shuffle": False,
            }
        )
        run = prepare(bench, folder / "runs", folder)
        Coordinator(run, None).run()
    finish(run)
    return read_run(run, 0)
