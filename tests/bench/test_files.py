"""Benchmark files: where an error stands, what is laid over them, and that what is written reads back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relaymark.bench import (
    Benchmark,
    benchmark_hash,
    build_benchmark,
    dump_benchmark,
    list_presets,
    load_benchmark,
    load_preset,
)
from relaymark.bench.files import kind_of
from relaymark.bench.rag_build import load_rag_build
from relaymark.errors import ConfigError

GOOD = """\
name: first
endpoint:
  url: http://127.0.0.1:8000
prompts: p.jsonl
load: poisson:4/s
duration: 60s
"""


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "bench.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refused(folder: Path, text: str | bytes, *overrides: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load_benchmark(write(folder, text), overrides)
    return caught.value


def test_a_file_is_read_and_its_prompts_are_beside_it(tmp_path: Path) -> None:
    benchmark = load_benchmark(write(tmp_path, GOOD))
    assert benchmark.name == "first"
    assert benchmark.prompts.file == str(tmp_path / "p.jsonl")
    laid_over = load_benchmark(write(tmp_path, GOOD), ["prompts.file=q.jsonl"])
    assert laid_over.prompts.file == str(Path.cwd() / "q.jsonl")


@pytest.mark.parametrize(
    ("old", "new", "what", "line", "mend"),
    [
        ("load: poisson:4/s", "load: {kind: poisson, rate: fast}", "load.rate must be a number above 0", 5, ""),
        ("load: poisson:4/s", "load:\n  kind: poisson\n  rate: -1", "load.rate must be a number above 0", 7, ""),
        ("load: poisson:4/s", "load:\n  kind: poison\n  rate: 1", "load.kind must be a kind", 5, "mean poisson"),
        ("load: poisson:4/s", "load: {rate: 1}", "load.kind is missing", 5, "poisson"),
        ("load: poisson:4/s", "load: {kind: poisson}", "load.rate is missing", 5, "add rate"),
        ("load: poisson:4/s", "load: {kind: poisson, rte: 4}", "load.rte is not a known key", 5, "mean rate"),
        ("load: poisson:4/s", "load: 5", "load must be", 5, "poisson"),
        ("duration", "duraton", "duraton is not a known key", 6, "did you mean duration?"),
        ("  url", "  ulr", "endpoint.ulr is not a known key", 3, "did you mean url?"),
        ("60s", "60", "duration must be a duration", 6, "60s"),
        ("60s", "soon", "duration must be a duration", 6, ""),
        ("first", "[1, 2]", "name must be text", 1, ""),
        ("name: first\n", "", "endpoint.url must be", 2, ""),
        ("duration: 60s", "stages:\n- {load: single}\n- {lod: single}", "stages.1.lod is not", 8, "mean load"),
        ("duration: 60s", "prompts: x", "prompts is given twice", 6, ""),
        ("duration: 60s", "sampling: {stop: [a, 5]}", "sampling.stop.1 must be text", 6, ""),
    ],
)
def test_an_error_names_the_key_the_line_and_the_mend(
    tmp_path: Path, old: str, new: str, what: str, line: int, mend: str
) -> None:
    text = GOOD.replace(old, new)
    if "endpoint.url must" in what:
        text = text.replace("http://127.0.0.1:8000", "nowhere")
    error = refused(tmp_path, text)
    assert what in error.what
    assert error.where == f"{tmp_path / 'bench.yaml'}:{line}"
    assert mend in error.mend


@pytest.mark.parametrize(
    ("text", "what", "line"),
    [
        (b"", "empty", None),
        (b"# nothing\n", "empty", None),
        (b"---\n...\n", "empty", None),
        (b"name: caf\xe9\n", "0xe9 at offset 9", 1),
        (b"a: 1\nb: [1, 2\nc: 3\n", "isn't YAML", None),
        (b"a: 1\n\tb: 2\n", "isn't YAML", None),
        (b"- a\n- b\n", "a mapping", 1),
        (b"just text\n", "a mapping", 1),
        (b"a: !!python/object/apply:os.system [ls]\n", "tags are not allowed", 1),
        (b"a: 1\nb: !custom x\n", "tags are not allowed", 2),
        (b"a: &x {b: *x}\n", "no anchor", 1),
        (b"a: 1\n---\nb: 2\n", "more than one document", 2),
        (b"a: {<<: {b: 1}}\n", "merge keys", 1),
        (b"? [1, 2]\n: x\n", "plain word", 1),
        (b"a: " + b"[" * 60 + b"]" * 60, "nested", 1),
        (b"a: [" + b"1," * 30_000 + b"1]", "more than 20000", 1),
        (b"# " + b"x" * 2**20, "larger than 1 MiB", None),
        (b"a: \x00\n", "isn't YAML", None),
        (b"%YAML 9.9.9\n---\na: 1\n", "isn't YAML", None),
    ],
)
def test_what_is_no_benchmark_file_is_refused_with_its_line(
    tmp_path: Path, text: bytes, what: str, line: int | None
) -> None:
    error = refused(tmp_path, text)
    assert what in error.what
    where = str(tmp_path / "bench.yaml")
    assert error.where == f"{where}:{line}" if line else error.where.startswith(where)


def test_an_alias_bomb_is_refused(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    assert "expands to more than" in refused(tmp_path, "\n".join(lines)).what


def test_an_alias_repeats_its_anchor(tmp_path: Path) -> None:
    text = GOOD.replace("load: poisson:4/s", "stages:\n- load: &p {kind: poisson, rate: 4}\n- {name: two, load: *p}")
    stages = load_benchmark(write(tmp_path, text)).resolved_stages()
    assert stages[0].load == stages[1].load


def test_missing_files_and_directories(tmp_path: Path) -> None:
    for path, what in ((tmp_path / "none.yaml", "doesn't exist"), (tmp_path, "directory")):
        with pytest.raises(ConfigError, match=what) as caught:
            load_benchmark(path)
        assert caught.value.where == str(path)


def test_overrides_reach_everywhere(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD.replace("load: poisson:4/s", "stages: [{load: single}, {load: 'poisson:4/s'}]"))
    overrides = [
        "stages.1.load.rate=8",
        "stages.0.name=alone",
        "sampling.extra.top_k=5",
        "sampling.stop=[a, 'b']",
        "slo.ttft_p99.9=1s",
        "endpoint.headers.X-Team=blue",
        "keep_content=true",
        "duration=null",
        "name=4",
    ]
    with pytest.raises(ConfigError, match="name must be text"):
        load_benchmark(path, overrides)
    benchmark = load_benchmark(path, [*overrides[:-1], 'name="4"'])
    stages = benchmark.resolved_stages()
    assert stages[1].load.rate == 8.0
    assert stages[0].name == "alone"
    assert benchmark.sampling.extra == {"top_k": 5}
    assert benchmark.sampling.stop == ["a", "b"]
    assert benchmark.slo == {"ttft_p99.9": 10**9}
    assert benchmark.endpoint.headers == {"X-Team": "blue"}
    assert benchmark.keep_content is True
    assert benchmark.duration is None
    assert benchmark.name == "4"


def test_a_short_form_in_the_file_can_be_set_into(tmp_path: Path) -> None:
    assert load_benchmark(write(tmp_path, GOOD), ["load.rate=8"]).resolved_stages()[0].load.rate == 8.0
    changed = load_benchmark(write(tmp_path, GOOD), ["load=concurrency:2"])
    assert changed.resolved_stages()[0].load.concurrency == 2


@pytest.mark.parametrize(
    ("override", "what"),
    [
        ("load.rate", "not key=value"),
        ("=8", "not key=value"),
        ("load.rate=fast", "load.rate must be a number above 0"),
        ("load.speed=8", "load.speed is not a known key"),
        ("name.first=8", "name is a single value"),
        ("stages.0.load=single", "stages has no entry 0"),
        ("sampling.stop=[a", "isn't YAML"),
        ("sampling.extra={a: !x 1}", "tags are not allowed"),
    ],
)
def test_a_bad_override_names_itself(tmp_path: Path, override: str, what: str) -> None:
    error = refused(tmp_path, GOOD, override)
    assert what in error.what
    assert error.where == f"--set {override}"


def test_a_position_out_of_range_says_the_range(tmp_path: Path) -> None:
    text = GOOD.replace("load: poisson:4/s", "stages: [{load: single}]")
    for position in ("1", "first", "-1"):
        error = refused(tmp_path, text, f"stages.{position}.name=x")
        assert "no entry" in error.what
        assert "0 to 0" in error.mend


def test_several_problems_are_counted(tmp_path: Path) -> None:
    assert "(and 1 more problem)" in refused(tmp_path, GOOD, "seed=x", "workers=x").what


FULL: dict[str, Any] = {
    "endpoint.url": "https://example.org/v1?x=1",
    "endpoint.model": "yes",
    "endpoint.headers": {"Authorization": "Token ${TOK}"},
    "load": "gamma:120/min,burstiness=0.3",
    "duration": "1h0.123456789s",
    "requests": 77,
    "prompts": ["null", "1.0", "ünï: [x]\n- y", {"prompt": "a", "max_tokens": 3}],
    "slo": ["ttft_p99.9=500ms"],
    "sampling.extra": {"deep": [1, {"a": None, "b": 1e-20, "c": "true"}], "big": 10**40},
    "sampling.stop": [
        "\n\n",
        "~",
        "0x10",
        "0o7",
        "1_000",
        "2024-01-01",
        "1e5",
        ".5",
        "+1",
        "yes",
        "12:30:45",
        "=",
        "<<",
        "*a",
        "\x85",
        "\u2028",
        "1e999",
        "9" * 500,
    ],
}


@pytest.mark.parametrize(
    "options", [FULL, FULL | {"load": None, "stages": [{"load": "step:1,2/s"}, {"load": "offline"}]}]
)
def test_what_is_written_reads_back_equal(tmp_path: Path, options: dict[str, Any]) -> None:
    benchmark = build_benchmark(options)
    again = load_benchmark(write(tmp_path, dump_benchmark(benchmark)))
    assert again == benchmark
    assert dump_benchmark(again) == dump_benchmark(benchmark)
    assert benchmark_hash(again) == benchmark_hash(benchmark)
    assert again.resolved_stages() == benchmark.resolved_stages()


TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)


@settings(deadline=None, max_examples=40)
@given(name=TEXTS.filter(bool), stop=st.lists(TEXTS, max_size=3), extra=st.dictionaries(TEXTS, st.one_of(
    TEXTS, st.integers(-(2**60), 2**60), st.floats(allow_nan=False, allow_infinity=False), st.booleans(), st.none()
), max_size=4))  # fmt: skip
def test_any_text_survives_writing_and_reading(
    tmp_path_factory: pytest.TempPathFactory, name: str, stop: list[str], extra: dict[str, Any]
) -> None:
    options = {
        "endpoint.url": "http://h",
        "load": "single",
        "name": name,
        "sampling.stop": stop,
        "sampling.extra": extra,
    }
    benchmark = build_benchmark(options)
    assert load_benchmark(write(tmp_path_factory.mktemp("any"), dump_benchmark(benchmark))) == benchmark


@settings(deadline=None, max_examples=100)
@given(content=st.one_of(st.binary(max_size=80), st.text(st.sampled_from("ab:-[]{}&*!%#'\"|> \n\t,?0."), max_size=60)))
def test_no_bytes_bring_the_reader_down(tmp_path_factory: pytest.TempPathFactory, content: bytes | str) -> None:
    path = write(tmp_path_factory.mktemp("any"), content)
    with pytest.raises(ConfigError):
        load_benchmark(path)


@settings(deadline=None, max_examples=100)
@given(override=st.text(st.sampled_from("abload.rate0123=[]{}:'\"!&*-,% "), max_size=30))
def test_no_override_brings_it_down(override: str) -> None:
    try:
        found = build_benchmark({"endpoint.url": "http://h", "load": "poisson:4/s"}, [override])
    except ConfigError as error:
        assert error.where
    else:
        assert isinstance(found, Benchmark)


def test_presets_are_found_by_name_and_need_a_url() -> None:
    assert "quick/chat" in list_presets()
    with pytest.raises(ConfigError) as caught:
        load_preset("quick/chat")
    assert "--url" in caught.value.mend
    benchmark = load_preset("quick/chat", ["seed=3"], {"endpoint.url": "http://127.0.0.1:1", "endpoint.model": None})
    assert benchmark.seed == 3
    assert [stage.load.kind for stage in benchmark.resolved_stages()] == ["single", *["concurrency"] * 3, "poisson"]
    assert sum(stage.duration or 0 for stage in benchmark.resolved_stages()) <= 60 * 10**9
    with pytest.raises(ConfigError) as caught:
        load_preset("quick/chta")
    assert caught.value.mend == "did you mean quick/chat?"
    with pytest.raises(ConfigError):
        load_preset("../secrets")


def test_every_preset_loads() -> None:
    for name in list_presets():
        if kind_of(name) == "rag-build":
            assert load_rag_build(name).corpus
        else:
            assert load_preset(name, options={"endpoint.url": "http://h"}).resolved_stages()
