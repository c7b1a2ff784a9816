from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet as pq

from relaymark.bench import PromptSource
from relaymark.data import Prompt, PromptSet, load_prompts
from relaymark.errors import ConfigError


def read(path: Path) -> PromptSet:
    return load_prompts(PromptSource(kind="file", path=path.name), base_dir=path.parent)


def refused(path: Path) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        read(path)
    return caught.value


def test_every_field_of_a_jsonl_line_is_understood(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    image = [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": "data:,"}}]
    lines = [
        {"prompt": "One"},
        {"text": "Two", "id": 7, "max_tokens": 12, "category": "ignored"},
        {"messages": [{"role": "user", "content": image}], "temperature": 0.5, "extra": {"min_p": 0.1}},
        {"prompt": "Four", "system": "Be brief."},
        "Five",
    ]
    path.write_text("\n\n".join(json.dumps(line) for line in lines) + "\n")
    assert list(read(path)) == [
        Prompt(text="One"),
        Prompt(text="Two", id="7", max_tokens=12),
        Prompt(messages=[{"role": "user", "content": image}], extra={"temperature": 0.5, "min_p": 0.1}),
        Prompt(messages=[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Four"}]),
        Prompt(text="Five"),
    ]


def test_prompts_read_as_messages_or_as_text(tmp_path: Path) -> None:
    image = [{"type": "text", "text": "What?"}, {"type": "image_url", "image_url": {"url": "data:,"}}]
    mixed = Prompt(messages=[{"role": "system", "content": "Be brief."}, {"role": "user", "content": image}])
    assert mixed.as_text() == "Be brief.\n\nWhat?"
    assert Prompt(text="Hi").as_messages() == [{"role": "user", "content": "Hi"}]
    assert Prompt(text="Hi").as_text() == "Hi"
    assert Prompt(messages=[{"role": "assistant", "content": None}]).as_text() == ""


def test_a_set_counts_starts_over_and_hashes(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text('{"prompt": "a", "id": 1}\n{"prompt": "b"}\n{"prompt": "a", "id": 2}\n')
    prompts = read(path)
    assert (len(prompts), prompts.unique) == (3, 2)
    assert prompts.for_task(4).text == "b"
    assert prompts[-1].id == "2"
    assert [prompt.text for prompt in prompts[:2]] == ["a", "b"]
    with pytest.raises(IndexError):
        prompts[3]
    spaced = tmp_path / "q.jsonl"
    spaced.write_text('\n{"id": 1,   "prompt": "a"}\r\n{"prompt": "b"}\n\n{"prompt": "a", "id": 2}')
    assert read(spaced).sha256 == prompts.sha256
    spaced.write_text('{"prompt": "b"}\n{"prompt": "a", "id": 1}\n{"prompt": "a", "id": 2}\n')
    assert read(spaced).sha256 != prompts.sha256


def test_csv_and_parquet_and_jsonl_say_the_same(tmp_path: Path) -> None:
    records = [{"prompt": 'He said "no",\nthen left.', "max_tokens": 5}, {"prompt": "größer", "max_tokens": 6}]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    pq.write_table(pa.Table.from_pylist([record | {"vector": [0.5]} for record in records]), tmp_path / "p.parquet")
    (tmp_path / "p.csv").write_text('max_tokens,prompt\n5,"He said ""no"",\nthen left."\n6,größer\n')
    jsonl, table, rows = (read(tmp_path / name) for name in ("p.jsonl", "p.parquet", "p.csv"))
    assert list(jsonl) == list(table) == list(rows)
    assert jsonl.sha256 == table.sha256 == rows.sha256
    assert jsonl.unique == table.unique == rows.unique == 2


def test_tables_may_hold_messages_as_json_text(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text('messages\n"[{""role"": ""user"", ""content"": ""Hi""}]"\n')
    assert read(tmp_path / "p.csv")[0].messages == [{"role": "user", "content": "Hi"}]


def test_text_files_hold_one_prompt_a_line(tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_bytes("\ufeffFirst\r\n\n  Second \n".encode())
    assert [prompt.text for prompt in read(tmp_path / "p.txt")] == ["First", "Second"]


@pytest.mark.parametrize("name", ["p.jsonl", "p.txt", "p.csv"])
@pytest.mark.parametrize("content", ["", "\n\n \n"])
def test_an_empty_file_says_so(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    error = refused(tmp_path / name)
    assert "no prompts" in error.what
    assert error.where == str(tmp_path / name)


def test_an_empty_table_says_so(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("prompt,id\n")
    assert "no prompts" in refused(tmp_path / "p.csv").what
    pq.write_table(pa.table({"prompt": pa.array([], pa.string())}), tmp_path / "p.parquet")
    assert "no prompts" in refused(tmp_path / "p.parquet").what


@pytest.mark.parametrize("name", ["p.jsonl", "p.txt", "p.csv"])
def test_bytes_that_arent_utf8_are_named_with_line_and_offset(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b'"prompt"\n"caf\xe9"\n')
    error = refused(tmp_path / name)
    assert "0xe9 at offset 13" in error.what
    assert error.where == f"{tmp_path / name}:2"


def test_a_line_that_isnt_json_is_named(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text('{"prompt": "a"}\n\n{"prompt": \n')
    error = refused(path)
    assert error.what.startswith("this line isn't JSON")
    assert error.where == f"{path}:3"
    path.write_text('[\n {"prompt": "a"}\n]\n')
    assert "over many lines" in refused(path).mend
    path.write_text("[" * 100_000 + "\n")
    assert "isn't JSON" in refused(path).what


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('{"question": "why", "answer": "so"}', "question, answer"),
        ('{"prompt": ""}', "no prompt here"),
        ('{"prompt": "  "}', "isn't empty"),
        ('{"prompt": 5}', "must be text"),
        ('{"messages": []}', "must be a list"),
        ('{"messages": [{"content": "x"}]}', "a role"),
        ('{"prompt": "a", "max_tokens": 0}', "max_tokens"),
        ('{"prompt": "a", "max_tokens": true}', "max_tokens"),
        ('{"prompt": "a", "extra": [1]}', "extra"),
        ('{"prompt": "a", "system": 1}', "system"),
        ("17", "must be an object"),
        ("[1, 2]", "must be an object"),
    ],
)
def test_a_record_that_is_no_prompt_says_why_and_where(tmp_path: Path, line: str, what: str) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text('{"prompt": "good"}\n' + line + "\n")
    error = refused(path)
    assert what in error.what
    assert error.where == f"{path}:2"


def test_tables_without_a_prompt_name_their_columns(tmp_path: Path) -> None:
    pq.write_table(pa.table({"question": ["a"], "answer": ["b"]}), tmp_path / "p.parquet")
    assert "question, answer" in refused(tmp_path / "p.parquet").what
    (tmp_path / "p.csv").write_text("question,answer\na,b\n")
    error = refused(tmp_path / "p.csv")
    assert "question, answer" in error.what
    assert error.where == f"{tmp_path / 'p.csv'}:2"


def test_what_isnt_a_table_says_so(tmp_path: Path) -> None:
    (tmp_path / "p.parquet").write_bytes(b"not a table")
    assert "Parquet" in refused(tmp_path / "p.parquet").what
    (tmp_path / "p.csv").write_text('prompt\n"open\n')
    assert "CSV" in refused(tmp_path / "p.csv").what


def test_missing_files_directories_and_unknown_endings(tmp_path: Path) -> None:
    assert "doesn't exist" in refused(tmp_path / "none.jsonl").what
    (tmp_path / "dir.jsonl").mkdir()
    assert "directory" in refused(tmp_path / "dir.jsonl").what
    (tmp_path / "p.docx").write_text("x")
    assert ".jsonl" in refused(tmp_path / "p.docx").what


def test_inline_prompts_are_texts_or_records() -> None:
    prompts = load_prompts(PromptSource(kind="inline", items=("Hi", {"prompt": "Ho", "max_tokens": 3})))
    assert list(prompts) == [Prompt(text="Hi"), Prompt(text="Ho", max_tokens=3)]
    with pytest.raises(ConfigError) as caught:
        load_prompts(PromptSource(kind="inline", items=("Hi", {"q": "Ho"})))
    assert caught.value.where == "prompts.1"


def test_the_builtin_prompts_are_sixty_four_different_ones() -> None:
    prompts = load_prompts(PromptSource(kind="builtin"))
    assert (len(prompts), prompts.unique) == (64, 64)


@settings(deadline=None, max_examples=60)
@given(content=st.binary(max_size=200), name=st.sampled_from(["p.jsonl", "p.txt", "p.csv", "p.parquet"]))
def test_no_bytes_bring_a_reader_down(tmp_path_factory: pytest.TempPathFactory, content: bytes, name: str) -> None:
    path = tmp_path_factory.mktemp("any") / name
    path.write_bytes(content)
    try:
        prompts = read(path)
    except ConfigError as error:
        assert str(path) in error.where
    else:
        assert all(prompt.text or prompt.messages for prompt in prompts)
