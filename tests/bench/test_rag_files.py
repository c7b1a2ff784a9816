"""Files and presets of pipelines: what they hold, what is refused, and in which words."""

from __future__ import annotations

from pathlib import Path

import pytest

from relaymark.bench import dump_benchmark, list_presets, load_benchmark, load_preset
from relaymark.bench.files import kind_of
from relaymark.bench.rag_ask import RagAsk
from relaymark.bench.rag_build import RagBuild, load_rag_build
from relaymark.errors import ConfigError

ASK = """\
kind: rag-ask
questions: q.jsonl
index: db
endpoint: {url: "http://127.0.0.1:8000"}
load: offline
requests: 8
"""


def ask(tmp_path: Path, text: str = ASK, *overrides: str) -> RagAsk:
    path = tmp_path / "ask.yaml"
    path.write_text(text)
    bench = load_benchmark(path, overrides)
    assert isinstance(bench, RagAsk)
    return bench


def test_files_count_from_their_own_folder_and_a_dump_reads_back_equal(tmp_path: Path) -> None:
    bench = ask(tmp_path, ASK, "loop.rounds=3", "roles.answer.constrained=false", "retrieval.embedder.path=./model")
    assert bench.questions == str(tmp_path / "q.jsonl")
    assert bench.index == str(tmp_path / "db")
    assert bench.retrieval.embedder.path == str(tmp_path / "model")
    assert (bench.loop.rounds, bench.loop.k, bench.loop.once) == (3, 10, "passage")
    again = tmp_path / "again.yaml"
    again.write_text(dump_benchmark(bench))
    assert load_benchmark(again) == bench


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("index: db\n", "needs either an index to search or a service to ask"),
        ("questions: q.jsonl\n", "questions"),
        ("kind: rag-ask", "kind must be one of"),
        ("load: offline", "load"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, change: str, says: str) -> None:
    replaced = {"kind: rag-ask": "kind: rag-query", "load: offline": "load: sideways"}.get(change, "")
    with pytest.raises(ConfigError, match=says) as error:
        ask(tmp_path, ASK.replace(change, replaced))
    assert "ask.yaml" in str(error.value)


def test_an_index_and_a_service_are_one_too_many(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="either an index"):
        ask(tmp_path, ASK + "service: {answer: $.a}\n")
    bench = ask(tmp_path, ASK.replace("index: db\n", "service: {answer: $.a}\n"))
    assert bench.service is not None and bench.service.body == {"question": "${question}"}


def test_the_presets_are_what_the_rules_say() -> None:
    assert {"quick/rag", "mlperf/v6.1/e2e-rag-db", "mlperf/v6.1/e2e-rag-qna"} <= {*list_presets()}
    qna = load_preset("mlperf/v6.1/e2e-rag-qna")
    assert isinstance(qna, RagAsk)
    loop = qna.loop
    assert (loop.rounds, loop.k, loop.max_queries, loop.window, loop.parallel, loop.once) == (
        5,
        10,
        3,
        12,
        False,
        "page",
    )
    assert (qna.requests, qna.stream, qna.constrained, qna.sampling.temperature) == (824, False, False, 1.0)
    assert qna.retries.attempts == 5
    database = load_rag_build("mlperf/v6.1/e2e-rag-db")
    vectors = database.vectors
    assert (vectors.kind, vectors.m, vectors.ef_construction, vectors.ef_search) == ("hnsw", 32, 200, 100)
    assert (database.parser, database.window, database.stride, database.name_empty) == ("mlperf", 768, 736, True)
    embedder = database.embedder
    assert (embedder.query_prefix, embedder.passage_prefix, embedder.max_length) == ("", "", 512)
    assert [kind_of(name) for name in ("quick/rag", "mlperf/v6.1/e2e-rag-db", "quick/chat")] == [
        "rag-ask",
        "rag-build",
        None,
    ]


def test_a_build_refuses_windows_that_leave_text_out(tmp_path: Path) -> None:
    file = tmp_path / "build.yaml"
    file.write_text("corpus: docs\nindex: db\nwindow: 100\nstride: 200\n")
    with pytest.raises(ConfigError, match="text would be left out"):
        load_rag_build(file)
    file.write_text("corpus: docs\nindex: db\nembeder: {}\n")
    with pytest.raises(ConfigError, match="embeder is not a known key"):
        load_rag_build(file)
    file.write_text("corpus: docs\nindex: db\n")
    build = load_rag_build(file, ["vectors.kind=flat"])
    assert isinstance(build, RagBuild)
    assert build.corpus == str(tmp_path / "docs")
    assert build.vectors.kind == "flat"
    file.write_text(ASK)
    with pytest.raises(ConfigError, match="no rag-build"):
        load_rag_build(file)


def test_a_role_says_only_what_it_changes(tmp_path: Path) -> None:
    text = ASK + (
        "sampling: {temperature: 0.5, max_tokens: 512}\n"
        "timeouts: {total: 60s, idle: 9s}\n"
        "roles: {answer: {sampling: {max_tokens: 64}, timeouts: {total: 5s}, retries: {attempts: 3}}}\n"
    )
    bench = ask(tmp_path, text)
    answer, queries = bench.role("answer"), bench.role("queries")
    assert (answer.sampling.temperature, answer.sampling.max_tokens) == (0.5, 64)
    assert (answer.timeouts.total, answer.timeouts.idle, answer.retries.attempts) == (5 * 10**9, 9 * 10**9, 3)
    assert (queries.sampling.max_tokens, queries.timeouts.total, queries.retries.attempts) == (512, 60 * 10**9, 1)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("roles: {answer: {timeouts: {drain: 5s}}}", "a drain"),
        ("roles: {answer: {endpoint: {url: 'http://127.0.0.1:1', dialect: openai-embeddings}}}", r"roles\.answer"),
    ],
)
def test_what_a_role_cannot_be_is_said(tmp_path: Path, more: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        ask(tmp_path, ASK + more)


@pytest.mark.parametrize(
    ("service", "says"),
    [
        ("{body: {q: nothing}}", "question"),
        ("{answer: answer}", "path into the reply"),
        ("{urls: '$..url'}", "path into the reply"),
    ],
)
def test_a_service_that_could_not_answer_is_refused(tmp_path: Path, service: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        ask(tmp_path, ASK.replace("index: db\n", "") + f"service: {service}")
