"""``relaymark run rag-build``: documents in, an index out, and what it took."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relaymark.errors import ConfigError, ExitCode

if TYPE_CHECKING:
    from relaymark.bench.rag_build import RagBuild
    from relaymark.retrieval.build import BuildSpec, Built

BUILD_FILE = "build.json"


def call_build(target: str, overrides: list[str], out: Path, *, as_json: bool, name: str | None) -> int:
    """Builds the index that a file or preset describes; 0, or 1 where a check failed."""
    from relaymark.bench.rag_build import load_rag_build  # noqa: PLC0415 - lazy: start-up

    path = Path(target)
    given: Path | str = path if path.suffix.lower() in (".yaml", ".yml") or path.is_file() else target
    laid = [*overrides, *([f"name={name}"] if name else [])]
    return build_and_report(load_rag_build(given, laid), out, as_json=as_json)


def build_and_report(build: RagBuild, out: Path, *, as_json: bool = False) -> int:
    """Builds, checks, writes the run's folder and prints what came of it."""
    import msgspec  # noqa: PLC0415 - lazy: start-up
    from rich.console import Console  # noqa: PLC0415 - lazy: start-up

    from relaymark.report.build import print_build  # noqa: PLC0415 - lazy: start-up
    from relaymark.trace import create_run_folder  # noqa: PLC0415 - lazy: start-up

    try:
        built = _build(spec_of(build))
    except ImportError as error:
        raise ConfigError(
            f"building an index needs a package that isn't installed: {error.name}",
            where="relaymark run rag-build",
            mend="pip install 'relaymark[rag]'",
        ) from None
    checks = _checks(build, built)
    folder = create_run_folder(out, build.name)
    summary = _summary(build, built, checks)
    (folder / BUILD_FILE).write_bytes(msgspec.json.format(msgspec.json.encode(summary), indent=1) + b"\n")
    _write_trace(folder, built)
    if as_json:
        sys.stdout.buffer.write(msgspec.json.encode(summary) + b"\n")
    else:
        print_build(summary, Console(), folder / BUILD_FILE)
    return int(ExitCode.GOOD if all(check["met"] for check in checks) else ExitCode.GATE_FAILED)


def spec_of(build: RagBuild) -> BuildSpec:
    """The build's settings as the retrieval room takes them."""
    from relaymark.retrieval.build import BuildSpec  # noqa: PLC0415 - lazy: numpy
    from relaymark.retrieval.specs import EmbedderSpec, IndexSpec  # noqa: PLC0415 - lazy: start-up

    return BuildSpec(
        corpus=build.corpus,
        index_folder=build.index,
        url_mapping=build.url_mapping,
        parser=build.parser,
        window=build.window,
        stride=build.stride,
        name_empty=build.name_empty,
        embedder=EmbedderSpec(**build.embedder.model_dump()),
        index=IndexSpec(**build.vectors.model_dump()),
        parse_processes=build.parse_processes,
    )


def _build(spec: BuildSpec) -> Built:
    from rich.console import Console  # noqa: PLC0415 - lazy: start-up
    from rich.progress import (  # noqa: PLC0415 - lazy: start-up
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    from relaymark.retrieval.build import BuildProgress, build_index  # noqa: PLC0415 - lazy: numpy

    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()]
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        bar = shown.add_task("documents", total=None)

        def show(progress: BuildProgress) -> None:
            shown.update(bar, total=progress.total, completed=progress.documents)

        return build_index(spec, show)


def _checks(build: RagBuild, built: Built) -> list[dict[str, Any]]:
    """What the file asks of the index; each with its figure and its bound."""
    from relaymark.retrieval.acceptance import success_accuracy  # noqa: PLC0415 - lazy: numpy

    manifest = built.manifest
    taken = success_accuracy(manifest.documents, manifest.failed)
    checks: list[dict[str, Any]] = [
        {"what": "documents taken in", "measured": taken, "bound": 98.0, "unit": "%", "met": taken >= 98.0}
    ]
    if build.passages:
        count = manifest.total_passages
        checks.append(
            {"what": "passages", "measured": count, "bound": build.passages, "unit": "", "met": count == build.passages}
        )
    if build.probe is not None:
        overlap = 100 * _overlap(build, built)
        bound = 100 * build.probe.at_least
        checks.append(
            {"what": "probe overlap", "measured": overlap, "bound": bound, "unit": "%", "met": overlap >= bound}
        )
    return checks


def _overlap(build: RagBuild, built: Built) -> float:
    from relaymark.data.questions import load_questions  # noqa: PLC0415 - lazy: start-up
    from relaymark.retrieval.acceptance import document_overlap  # noqa: PLC0415 - lazy: numpy
    from relaymark.retrieval.embedding import open_embedder  # noqa: PLC0415 - lazy: start-up
    from relaymark.retrieval.index import open_published  # noqa: PLC0415 - lazy: start-up

    probe = build.probe
    if probe is None:
        return 0.0
    del built
    embedder = open_embedder(spec_of(build).embedder)
    queries = [question.text for question in load_questions(Path(probe.questions))[: probe.count]]
    mine = open_published(Path(build.index), dimension=embedder.dimension)
    reference = open_published(Path(probe.against), dimension=embedder.dimension)
    return document_overlap(queries, mine, embedder, reference, embedder, probe.top)


def _summary(build: RagBuild, built: Built, checks: list[dict[str, Any]]) -> dict[str, Any]:
    import msgspec  # noqa: PLC0415 - lazy: start-up

    manifest = built.manifest
    fresh = manifest.documents - built.resumed
    return {
        "name": build.name,
        "index": build.index,
        "documents": manifest.documents,
        "documents_per_second": fresh / built.seconds,
        "passages": manifest.total_passages,
        "passages_per_second": manifest.total_passages * fresh / max(1, manifest.documents) / built.seconds,
        "seconds": built.seconds,
        "resumed": built.resumed,
        "stages": [
            {
                "name": kind,
                "busy_seconds": seconds,
                "utilisation": seconds / built.seconds / (built.parse_processes if kind == "parse" else 1),
                "processes": built.parse_processes if kind == "parse" else 1,
            }
            for kind, seconds in built.stages.items()
        ],
        "index_bytes": built.index_bytes,
        "peak_bytes": built.peak_bytes,
        "skipped": built.skipped,
        "failures": built.failures,
        "first_failures": built.first_failures,
        "checks": checks,
        "manifest": msgspec.to_builtins(manifest),
    }


def _write_trace(folder: Path, built: Built) -> None:
    """One leg for every piece of work, so that a build's time can be looked at like any run's."""
    from relaymark.trace import Kind, Leg  # noqa: PLC0415 - lazy: start-up
    from relaymark.trace.runfolder import TRACE_FILE  # noqa: PLC0415 - lazy: start-up
    from relaymark.trace.table import write_trace  # noqa: PLC0415 - lazy: pyarrow

    legs = (
        Leg(
            task_id=0,
            leg_id=number,
            kind=Kind(stage.kind),
            started=stage.begun,
            sent=stage.begun,
            ended=stage.ended,
            items=stage.items,
            service_ns=stage.ended - stage.begun,
        )
        for number, stage in enumerate(built.work)
    )
    write_trace(folder / TRACE_FILE, folder.name, legs)
