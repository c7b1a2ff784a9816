"""Building an index: parse in processes, embed in batches across documents, add in a fixed order.

Documents are taken in groups. Parsers run ahead by a bounded number of groups; the embedder takes a group's passages in
batches of like length; the index gets them in the order of (document, passage), so that rows are the same every time.
A group that is done is written down with its vectors: a build that was killed goes on after the last of them. Never is
more than a few groups in memory.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from relaymark.errors import ConfigError
from relaymark.retrieval.ahead import ParsedGroup, ParseSpec, decode_group, parse_ahead
from relaymark.retrieval.chunking import STRIDE, WINDOW
from relaymark.retrieval.embedding import open_embedder
from relaymark.retrieval.index import Manifest, PassageWriter, check_place, new_index, publish
from relaymark.retrieval.index.manifest import text_digest, text_set_sha256
from relaymark.retrieval.index.published import INDEX_FILE
from relaymark.retrieval.parsing import Corpus, find_documents, open_parser
from relaymark.retrieval.peak import Peak
from relaymark.retrieval.protocols import Embedder
from relaymark.retrieval.specs import EmbedderSpec, IndexSpec

GROUP = 64
"""Documents that are parsed, embedded and written down together."""
_MARK = "fingerprint"


class BuildSpec(msgspec.Struct, kw_only=True, frozen=True):
    """What is to be built, from what, and how."""

    corpus: str
    index_folder: str
    url_mapping: str = ""
    parser: str = "fast"
    window: int = WINDOW
    stride: int = STRIDE
    name_empty: bool = False  # a document without text gives one passage with its name, as MLPerf's reference does
    embedder: EmbedderSpec
    index: IndexSpec = IndexSpec()
    parse_processes: int = 0  # 0: one less than there are cores, at least 1


class Stage(NamedTuple):
    """One piece of work that was timed: CLOCK_MONOTONIC ns, and how many documents or passages it did."""

    kind: str  # parse | embed | index
    begun: int
    ended: int
    items: int


@dataclass(slots=True)
class BuildProgress:
    """How far a build has come."""

    documents: int = 0
    total: int = 0
    passages: int = 0
    resumed: int = 0  # documents that an earlier build had done


@dataclass(slots=True)
class Built:
    """What came of a build. Times are seconds."""

    manifest: Manifest
    seconds: float
    stages: dict[str, float]  # busy time of each stage, over all its processes
    peak_bytes: int  # largest sum of the memory of all processes that was seen
    resumed: int
    skipped: dict[str, int]
    failures: dict[str, int]
    first_failures: list[tuple[str, str]]
    work: list[Stage]
    index_bytes: int
    parse_processes: int


@dataclass(slots=True)
class _Counts:
    documents: int = 0
    failed: int = 0
    empty: int = 0
    failures: Counter[str] = field(default_factory=Counter[str])
    first_failures: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


def build_index(spec: BuildSpec, on_progress: Callable[[BuildProgress], None] | None = None) -> Built:
    """Builds the index and publishes it; an interrupted build of the same specification is taken up again.

    Raises:
        ConfigError: The corpus, the embedder or a package is missing, or no document gave a passage.
    """
    begin = time.monotonic()
    place = Path(spec.index_folder)
    work = place.with_name(f".{place.name}.building")
    check_place(place)
    _check_work(work)
    corpus = find_documents(Path(spec.corpus), Path(spec.url_mapping) if spec.url_mapping else None)
    parser_name = open_parser(spec.parser).name
    embedder = open_embedder(msgspec.structs.replace(spec.embedder, streams=os.cpu_count() or 1))
    done = _resume(work, _fingerprint(spec, corpus, parser_name, embedder))
    progress = BuildProgress(total=len(corpus.documents))
    counts = _Counts()
    stages: list[Stage] = []
    peak = Peak()
    processes = spec.parse_processes or max(1, (os.cpu_count() or 2) - 1)
    adding = _Adding(spec, work, embedder)
    try:
        for group in _groups(spec, corpus, done, processes):
            if group.number >= done:
                stages.append(Stage("parse", group.begun, group.ended, group.documents))
                stages.append(_embed(work, group, embedder))
            adding.add(group)
            _count(counts, progress, group, resumed=group.number < done)
            peak.look()
            if on_progress is not None:
                on_progress(progress)
        if not progress.passages:
            raise ConfigError(
                "no document gave a passage",
                where=spec.corpus,
                mend="look at the failures; the folder may hold no text",
            )
        manifest = adding.finish(place, counts, parser_name)
    finally:
        adding.close()
    stages += adding.stages
    peak.look()
    busy: Counter[str] = Counter()
    for stage in stages:
        busy[stage.kind] += stage.ended - stage.begun
    return Built(
        manifest=manifest,
        seconds=time.monotonic() - begin,
        stages={kind: ns / 1e9 for kind, ns in busy.items()},
        peak_bytes=peak.bytes,
        resumed=progress.resumed,
        skipped=dict(corpus.skipped),
        failures=dict(counts.failures),
        first_failures=counts.first_failures,
        work=stages,
        index_bytes=sum(manifest.files.values()),
        parse_processes=processes,
    )


# -- parsing -------------------------------------------------------------------------------------------------


def _groups(spec: BuildSpec, corpus: Corpus, done: int, processes: int) -> Iterator[ParsedGroup]:
    """Every group in order: those that are done from the disk, the others from parser processes that run ahead."""
    work = Path(spec.index_folder).with_name(f".{Path(spec.index_folder).name}.building")
    numbers = range((len(corpus.documents) + GROUP - 1) // GROUP)
    for number in numbers[:done]:
        yield _read_group(work, number)
    parse = ParseSpec(spec.parser, spec.window, spec.stride, spec.name_empty)
    rest = ((number, corpus.documents[number * GROUP : (number + 1) * GROUP]) for number in numbers[done:])
    yield from parse_ahead(parse, rest, processes)


# -- embedding -----------------------------------------------------------------------------------------------


def _embed(work: Path, group: ParsedGroup, embedder: Embedder) -> Stage:
    """Embeds a group and writes it down with its vectors; the rename makes it done."""
    begun = time.monotonic_ns()
    vectors = embedder.embed_passages([passage.text for passage in group.passages])
    if len(vectors) != len(group.passages):
        raise ConfigError(f"{len(group.passages)} passages were embedded and {len(vectors)} vectors came back")
    ended = time.monotonic_ns()
    (work / f"{group.number:07d}.vectors").write_bytes(np.ascontiguousarray(vectors, np.float32).tobytes())
    part = work / f"{group.number:07d}.part"
    part.write_bytes(msgspec.msgpack.encode(group))
    part.rename(work / f"{group.number:07d}.group")
    return Stage("embed", begun, ended, len(group.passages))


def _read_group(work: Path, number: int) -> ParsedGroup:
    return decode_group((work / f"{number:07d}.group").read_bytes())


def _count(counts: _Counts, progress: BuildProgress, group: ParsedGroup, *, resumed: bool) -> None:
    counts.documents += group.documents
    counts.failed += len(group.failures)
    counts.empty += group.empty
    counts.failures.update(why for _, why in group.failures)
    counts.first_failures += group.failures[: 20 - len(counts.first_failures)]
    progress.documents += group.documents
    progress.passages += len(group.passages)
    progress.resumed += group.documents if resumed else 0


# -- the index -----------------------------------------------------------------------------------------------


class _Adding:
    """Adds groups in order in a thread of its own, while the next is embedded; then publishes."""

    def __init__(self, spec: BuildSpec, work: Path, embedder: Embedder) -> None:
        self._spec = spec
        self._work = work
        self._embedder = embedder
        self._fresh = work / "index"
        shutil.rmtree(self._fresh, ignore_errors=True)
        self._fresh.mkdir()
        self._index = new_index(spec.index, embedder.dimension)
        self._writer = PassageWriter(self._fresh)
        self._digests: list[bytes] = []
        self._thread = ThreadPoolExecutor(1)
        self._pending: deque[Future[None]] = deque()
        self.stages: list[Stage] = []

    def add(self, group: ParsedGroup) -> None:
        """Takes a group that is embedded; waits where two are waiting already."""
        self._pending.append(self._thread.submit(self._add, group))
        while len(self._pending) > 2:
            self._pending.popleft().result()

    def _add(self, group: ParsedGroup) -> None:
        begun = time.monotonic_ns()
        path = self._work / f"{group.number:07d}.vectors"
        self._index.add(np.fromfile(path, np.float32).reshape(-1, self._embedder.dimension))
        self._writer.add(group.passages)
        self._digests += [text_digest(passage.text) for passage in group.passages]
        self.stages.append(Stage("index", begun, time.monotonic_ns(), len(group.passages)))

    def finish(self, place: Path, counts: _Counts, parser: str) -> Manifest:
        """Saves and publishes; what was written down on the way goes with its folder."""
        while self._pending:
            self._pending.popleft().result()
        begun = time.monotonic_ns()
        self._writer.close()
        self._index.save(self._fresh / INDEX_FILE)
        manifest = Manifest(
            documents=counts.documents,
            failed=counts.failed,
            empty=counts.empty,
            total_passages=self._writer.count,
            embedding_dim=self._embedder.dimension,
            embedding_model=self._embedder.name,
            embedding_precision=self._embedder.precision,
            index_params=self._index.parameters(),
            index=self._spec.index,
            parser=parser,
            window=self._spec.window,
            stride=self._spec.stride,
            corpus_set_sha256=text_set_sha256(self._digests),
        )
        manifest = publish(self._fresh, place, manifest)
        _clear(self._work)
        self._work.rmdir()
        self.stages.append(Stage("index", begun, time.monotonic_ns(), 0))
        return manifest

    def close(self) -> None:
        """Ends the thread."""
        self._thread.shutdown(cancel_futures=True)
        self._writer.abandon()


# -- taking up what was interrupted --------------------------------------------------------------------------


def _fingerprint(spec: BuildSpec, corpus: Corpus, parser: str, embedder: Embedder) -> str:
    """What must be the same for groups that are done to count: the documents, and all that decides their vectors."""
    whole = hashlib.sha256(msgspec.json.encode([spec, parser, embedder.name, embedder.precision, GROUP]))
    for document in corpus.documents:
        status = Path(document.path).stat()
        whole.update(f"{document.source}\0{document.url}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return whole.hexdigest()


def _check_work(work: Path) -> None:
    """Whether the folder that is worked in is ours: it may be emptied.

    Raises:
        ConfigError: It is not.
    """
    if work.is_symlink() or (work.exists() and not (work.is_dir() and ((work / _MARK).is_file() or _empty(work)))):
        raise ConfigError(
            "a build works here, and what stands here is not one's",
            where=str(work),
            mend="move it away, or name the index otherwise",
        )


def _clear(work: Path) -> None:
    """Empties the folder; the mark goes last, so that it stays known as ours if this is cut short."""
    for path in sorted(work.iterdir(), key=lambda path: path.name == _MARK):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _empty(folder: Path) -> bool:
    return next(folder.iterdir(), None) is None


def _resume(work: Path, fingerprint: str) -> int:
    """How many groups of an interrupted build of the same thing are done; a folder of another build is emptied."""
    mark = work / _MARK
    if not mark.is_file() or mark.read_text() != fingerprint:
        work.mkdir(parents=True, exist_ok=True)
        _clear(work)
        mark.write_text(fingerprint)
        return 0
    done = 0
    while (work / f"{done:07d}.group").is_file() and (work / f"{done:07d}.vectors").is_file():
        done += 1
    return done
