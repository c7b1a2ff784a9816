"""The file of an index build: ``kind: rag-build``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError, model_validator

from relaymark.bench._explain import explain
from relaymark.bench._fields import Count, CountOrZero, Section, refuse
from relaymark.bench._source import Source, parse_source, read_source
from relaymark.bench.files import apply_overrides, preset_text
from relaymark.bench.rag_ask import Embedder
from relaymark.errors import ConfigError


class Vectors(Section):
    """The vector index; the defaults are MLPerf Inference v6.1's."""

    kind: Literal["hnsw", "flat", "ivf", "usearch"] = "hnsw"
    m: Annotated[Count, Field(le=1024)] = 32
    ef_construction: Annotated[Count, Field(le=100_000)] = 200
    ef_search: Annotated[Count, Field(le=100_000)] = 100
    lists: CountOrZero = 0
    probes: Count = 16
    threads: CountOrZero = 0


class Probe(Section):
    """Whether the index finds what a reference index finds: the share of documents that their first ten have in common.

    ``questions`` is a question file, ``against`` the folder of a published index of the same corpus.
    """

    questions: str
    against: str
    count: Count = 50
    top: Count = 10
    at_least: Annotated[float, Field(ge=0, le=1)] = 0.95


class RagBuild(Section):
    """A folder of documents, and how it becomes an index."""

    kind: Literal["rag-build"] = "rag-build"
    name: Annotated[str, Field(min_length=1, max_length=100)] = "rag-build"
    corpus: str
    index: str
    url_mapping: str = ""
    parser: Literal["fast", "mlperf"] = "fast"
    window: Annotated[Count, Field(le=1 << 20)] = 768
    stride: Annotated[Count, Field(le=1 << 20)] = 736
    name_empty: bool = False
    embedder: Embedder = Embedder()
    vectors: Vectors = Vectors()
    parse_processes: CountOrZero = 0
    probe: Probe | None = None
    passages: CountOrZero = 0  # that there must be; 0: any number

    @model_validator(mode="after")
    def _windows_meet(self) -> RagBuild:
        if self.stride > self.window:
            raise refuse(
                f"has a stride of {self.stride} above its window of {self.window}: text would be left out",
                "make the stride at most the window",
            )
        return self


def load_rag_build(target: Path | str, overrides: Sequence[str] = ()) -> RagBuild:
    """Reads a build's file, or a preset by name, with ``--set`` overrides laid over it.

    Raises:
        ConfigError: With the key's path and the file and line that it came from.
    """
    source: Source
    if isinstance(target, Path):
        source = read_source(target)
        base = target.parent.absolute()
    else:
        source = parse_source(preset_text(target), f"preset {target}")
        base = Path.cwd()
    apply_overrides(source, overrides)
    if source.data.get("kind", "rag-build") != "rag-build":
        raise ConfigError(
            "this file is no rag-build", where=source.place(("kind",)), mend="run it as `relaymark run FILE`"
        )
    try:
        build = RagBuild.model_validate(source.data)
    except ValidationError as error:
        raise explain(error, source, RagBuild) from None
    return _anchored(build, base)


def _anchored(build: RagBuild, base: Path) -> RagBuild:
    update = {name: str(base / value) for name in ("corpus", "index", "url_mapping") if (value := getattr(build, name))}
    embedder = build.embedder
    if embedder.path and ("/" in embedder.path or (base / embedder.path).exists()):
        embedder = embedder.model_copy(update={"path": str(base / embedder.path)})
    probe = build.probe
    if probe is not None:
        places = {"questions": str(base / probe.questions), "against": str(base / probe.against)}
        probe = probe.model_copy(update=places)
    return build.model_copy(update={**update, "embedder": embedder, "probe": probe})
