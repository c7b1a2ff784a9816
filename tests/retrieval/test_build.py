"""Building an index: exact counts, the same rows every time, taken up after a kill, and honest about bad input."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import signal
import time
from pathlib import Path

import msgspec
import numpy as np
import psutil
import pytest
from small_models import static_folder

from relaymark.data.world import write_world
from relaymark.errors import ConfigError
from relaymark.retrieval.acceptance import document_overlap, success_accuracy
from relaymark.retrieval.build import GROUP, BuildProgress, BuildSpec, build_index
from relaymark.retrieval.embedding import open_embedder
from relaymark.retrieval.index import exchange as exchanging
from relaymark.retrieval.index import new_index, open_published
from relaymark.retrieval.index.manifest import text_set_sha256
from relaymark.retrieval.specs import EmbedderSpec, IndexSpec

WORDLLAMA = EmbedderSpec(kind="static", path="wordllama")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    write_world(folder, seed=1, pages=3 * GROUP + 5, questions=5)
    return folder / "pages"


def spec(corpus: Path, place: Path, **more: object) -> BuildSpec:
    return BuildSpec(corpus=str(corpus), index_folder=str(place), embedder=WORDLLAMA, **more)  # pyright: ignore


def test_counts_hash_and_rows_are_exact(corpus: Path, tmp_path: Path) -> None:
    seen: list[BuildProgress] = []
    built = build_index(spec(corpus, tmp_path / "i"), lambda p: seen.append(msgspec_copy(p)))
    manifest = built.manifest
    assert manifest.documents == 3 * GROUP + 5 == seen[-1].documents == seen[-1].total
    assert (manifest.failed, manifest.empty) == (0, 0)
    published = open_published(tmp_path / "i")
    texts = [published.passages[row].text for row in range(len(published.passages))]
    assert manifest.total_passages == len(texts) == len(published.index) == seen[-1].passages
    # The recipe of the specification, written out: sorted hex digests, each with a zero byte behind it.
    digests = sorted(hashlib.sha256(text.encode()).hexdigest() for text in texts)
    assert manifest.corpus_set_sha256 == hashlib.sha256(b"".join(d.encode() + b"\0" for d in digests)).hexdigest()
    sources = [published.passages[row].source for row in range(len(texts))]
    assert sources == sorted(sources)
    # Every row holds its own text's vector.
    vectors = open_embedder(WORDLLAMA).embed_passages(texts)
    distances, rows = published.index.search(vectors, 1)
    assert (np.abs(distances[:, 0]) < 1e-4).all()
    assert [texts[row] for row in rows[:, 0]] == texts
    assert manifest.index_params["M"] == 32
    assert built.stages.keys() == {"parse", "embed", "index"}
    assert built.peak_bytes > 0


def msgspec_copy(progress: BuildProgress) -> BuildProgress:
    return BuildProgress(progress.documents, progress.total, progress.passages, progress.resumed)


class Stopped(Exception):
    pass


def test_an_interrupted_build_goes_on_where_it_was(corpus: Path, tmp_path: Path) -> None:
    whole = build_index(spec(corpus, tmp_path / "whole"))

    def stop(progress: BuildProgress) -> None:
        if progress.documents >= 2 * GROUP:
            raise Stopped

    with pytest.raises(Stopped):
        build_index(spec(corpus, tmp_path / "i"), stop)
    assert not (tmp_path / "i").exists()  # nothing is published by halves
    again = build_index(spec(corpus, tmp_path / "i"))
    assert again.resumed == 2 * GROUP
    assert again.manifest.corpus_set_sha256 == whole.manifest.corpus_set_sha256
    assert sum(stage.items for stage in again.work if stage.kind == "parse") == GROUP + 5
    assert [path.name for path in tmp_path.iterdir()] and not list(tmp_path.glob(".*.building"))


def _build(corpus: str, place: str) -> None:
    build_index(spec(Path(corpus), Path(place)), lambda _: time.sleep(0.3))


def test_a_killed_build_goes_on_too_and_leaves_the_old_index_in_place(corpus: Path, tmp_path: Path) -> None:
    place = tmp_path / "i"
    first = build_index(spec(corpus, place, window=2000, stride=2000))
    process = multiprocessing.get_context("spawn").Process(target=_build, args=(str(corpus), str(place)))
    process.start()
    work = tmp_path / ".i.building"
    deadline = time.monotonic() + 60
    while not list(work.glob("*.group")) and time.monotonic() < deadline:
        time.sleep(0.02)
    helpers = psutil.Process(process.pid).children(recursive=True)
    assert helpers
    os.kill(process.pid or 0, signal.SIGKILL)
    process.join()
    _, left = psutil.wait_procs(helpers, timeout=30)
    assert not left, "a killed build leaves its processes behind"
    assert open_published(place).manifest.corpus_set_sha256 == first.manifest.corpus_set_sha256
    again = build_index(spec(corpus, place))
    assert again.resumed >= GROUP
    assert open_published(place).manifest.window == 768


def test_what_changed_is_built_anew(tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    for number in range(GROUP + 1):
        (pages / f"{number:03}.txt").write_text(f"page {number} about red fish")

    def stop(progress: BuildProgress) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        build_index(spec(pages, tmp_path / "i"), stop)
    (pages / "000.txt").write_text("something else entirely")
    built = build_index(spec(pages, tmp_path / "i"))
    assert built.resumed == 0
    assert open_published(tmp_path / "i").passages[0].text == "something else entirely"


def test_bad_documents_are_counted_by_reason_and_harm_nobody(tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    (pages / "deep" / "er").mkdir(parents=True)
    (pages / "good.html").write_text("<p>red fish</p>")
    (pages / "deep" / "er" / "same.html").write_text("<p>red fish</p>")  # duplicate pages count twice
    (pages / "nothing.html").write_bytes(b"")
    (pages / "script.html").write_text("<script>1</script>")
    (pages / "latin.html").write_bytes(b"<p>caf\xe9</p>")
    (pages / "huge.txt").write_bytes(b"a" * (65 << 20))
    (pages / "large.html").write_bytes(b"<!--" + b"x" * (50 << 20) + b"--><p>blue fish</p>")  # 50 MB is not wrong
    built = build_index(spec(pages, tmp_path / "i", window=100_000, stride=100_000))
    assert built.manifest.documents == 7
    assert built.failures == {"not UTF-8": 1, "larger than 64 MiB": 1}
    assert {source for source, _ in built.first_failures} == {"latin.html", "huge.txt"}
    assert (built.manifest.failed, built.manifest.empty) == (2, 2)
    assert built.manifest.total_passages == 3
    assert success_accuracy(7, 2) == pytest.approx(100 * 5 / 7)


def test_an_empty_page_is_named_where_the_reference_does(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "empty.html").write_text("")
    with pytest.raises(ConfigError, match="no document gave a passage"):
        build_index(spec(tmp_path / "pages", tmp_path / "i"))
    build_index(spec(tmp_path / "pages", tmp_path / "i", name_empty=True))
    assert open_published(tmp_path / "i").passages[0].text == "Document: empty.html"


@pytest.mark.parametrize("kind", ["hnsw", "flat", "ivf", "usearch"])
def test_every_kind_of_index_finds_what_is_nearest(corpus: Path, tmp_path: Path, kind: str) -> None:
    place = tmp_path / "i"
    build_index(spec(corpus, place, index=IndexSpec(kind=kind, probes=64)))  # pyright: ignore
    published = open_published(place)
    flat = new_index(IndexSpec(kind="flat"), published.index.dimension)
    texts = [published.passages[row].text for row in range(len(published.passages))]
    embedder = open_embedder(WORDLLAMA)
    flat.add(embedder.embed_passages(texts))
    queries = embedder.embed_queries([text[100:200] for text in texts[::7]])
    _, exact = flat.search(queries, 5)
    _, found = published.index.search(queries, 5)
    same = np.mean([len({*a} & {*b}) / 5 for a, b in zip(exact, found, strict=True)])
    assert same > 0.97
    few, rows = published.index.search(queries[:1], len(texts) + 3)
    assert rows.shape == (1, len(texts) + 3)
    assert (rows[0] == -1).sum() >= 3
    assert few.dtype == np.float32
    with pytest.raises(ConfigError, match="dimensions"):
        published.index.search(np.zeros((1, 3), np.float32), 1)
    with pytest.raises(ConfigError, match="dimensions"):
        published.index.add(np.zeros((1, 3), np.float32))
    assert document_overlap(["a river", "a town"], published, embedder, published, embedder) == 1.0


def test_an_index_that_disagrees_with_its_manifest_is_refused(corpus: Path, tmp_path: Path) -> None:
    place = tmp_path / "i"
    build_index(spec(corpus, place))
    told = json.loads((place / "manifest.json").read_text())

    def with_manifest(**changes: object) -> None:
        (place / "manifest.json").write_text(json.dumps({**told, **changes}))

    with_manifest(total_passages=told["total_passages"] + 1)
    with pytest.raises(ConfigError, match="disagrees with its manifest"):
        open_published(place)
    with_manifest(embedding_dim=7)
    with pytest.raises(ConfigError, match="7 dimensions"):
        open_published(place)
    with_manifest()
    with pytest.raises(ConfigError, match="the embedder gives 3 dimensions"):
        open_published(place, dimension=3)
    texts = place / "passages.msgpack"
    texts.write_bytes(texts.read_bytes()[:-5])
    with pytest.raises(ConfigError, match=r"passages\.msgpack should have"):
        open_published(place)
    texts.unlink()
    with pytest.raises(ConfigError, match="it is missing"):
        open_published(place)
    (place / "manifest.json").write_text("{")
    with pytest.raises(ConfigError, match="manifest can't be read"):
        open_published(place)


def test_another_embedder_of_the_same_size_is_another_build(tmp_path: Path) -> None:
    assert msgspec.json.encode(WORDLLAMA) != msgspec.json.encode(
        EmbedderSpec(kind="static", path=str(static_folder(tmp_path / "s")))
    )
    assert text_set_sha256([b"a", b"b"]) == text_set_sha256([b"b", b"a"])
    assert text_set_sha256([b"a", b"a"]) != text_set_sha256([b"a"])


def test_what_is_no_index_is_never_replaced(corpus: Path, tmp_path: Path) -> None:
    """A build took the folder's place together with a thesis that lay there."""
    place = tmp_path / "papers"
    place.mkdir()
    (place / "thesis.tex").write_text("years of work")
    with pytest.raises(ConfigError, match=r"would be lost: thesis\.tex"):
        build_index(spec(corpus, place))
    assert (place / "thesis.tex").read_text() == "years of work"
    (tmp_path / "file").write_text("a file")
    with pytest.raises(ConfigError, match="would be lost"):
        build_index(spec(corpus, tmp_path / "file"))
    work = tmp_path / ".other.building"
    work.mkdir()
    (work / "thesis.tex").write_text("years of work")
    with pytest.raises(ConfigError, match="not one's"):
        build_index(spec(corpus, tmp_path / "other"))
    assert (work / "thesis.tex").exists()
    build_index(spec(corpus, tmp_path / "mine"))
    (tmp_path / "mine" / "notes.md").write_text("put beside the index")
    with pytest.raises(ConfigError, match=r"notes\.md"):
        build_index(spec(corpus, tmp_path / "mine"))
    (tmp_path / "mine" / "notes.md").unlink()
    build_index(spec(corpus, tmp_path / "mine"))
    assert sorted(path.name for path in tmp_path.iterdir()) == [".other.building", "file", "mine", "papers"]


@pytest.mark.parametrize("in_one_step", [True, False])
def test_two_folders_take_each_others_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_one_step: bool) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    if not in_one_step:  # a kernel or file system that has it not
        monkeypatch.setattr(exchanging.ctypes, "CDLL", lambda *_, **__: object())
    exchanging.exchange(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "a" / "b").exists() and (tmp_path / "b" / "a").exists()
    assert len(list(tmp_path.iterdir())) == 2
