"""Question files: JSON lines and FRAMES tables, where every cell is text and nothing is a missing value."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relaymark.data import Question, load_questions
from relaymark.data.frames import read_frames, write_frames
from relaymark.errors import ConfigError


def table(path: Path, *rows: str) -> Path:
    path.write_text("".join(row + "\n" for row in rows), encoding="utf-8")
    return path


def test_words_that_look_like_missing_values_are_answers(tmp_path: Path) -> None:
    answers = ["None", "NA", "N/A", "nan", "null", "", "007", "1e3", "True", "#REF!", " padded "]
    rows = [f"{number}\tQuestion {number}?\t{answer}\thttps://a/{number}\t" for number, answer in enumerate(answers)]
    path = table(tmp_path / "frames.tsv", "\tPrompt\tAnswer\twikipedia_link_1\twikipedia_link_2", *rows)
    read = load_questions(path)
    assert [question.answer for question in read] == answers
    assert [question.id for question in read] == [str(number) for number in range(len(answers))]
    assert read[3].gold_urls == ["https://a/3"]


def test_the_columns_of_frames(tmp_path: Path) -> None:
    path = table(
        tmp_path / "frames.tsv",
        "Unnamed: 0\tPrompt\tAnswer\twikipedia_link_1\twikipedia_link_2\twikipedia_link_11+"
        "\treasoning_types\twiki_links",
        '0\t"Who said ""no""?"\tAda\thttps://x/A#History\t\thttps://x/B, https://x/C'
        "\tNumerical reasoning | Tabular reasoning\t['https://x/A#History', \"https://x/B'\"]",
        '1\t"Two\nlines?"\tBo\t\t\t\t\t',
    )
    one, two = read_frames(path)
    assert one.text == 'Who said "no"?'
    assert one.gold_urls == ["https://x/A#History", "https://x/B, https://x/C"]  # to the letter
    assert one.reasoning == ["Numerical reasoning", "Tabular reasoning"]
    assert one.corpus_urls == ["https://x/A#History", "https://x/B'"]
    assert two.text == "Two\nlines?" and two.gold_urls == [] and two.corpus_urls == []


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("0\tQ?\tA", "3 cells and the header 5"),
        ("0\t \tA\tu\t", "text is empty"),
        ("0\tQ?\tA\tu\t__import__('os').system('x')", "isn't a list of texts"),
        ("0\tQ?\tA\tu\t" + "[" * 5000, "isn't a list of texts"),
        ("0\tQ?\tA\tu\t[1, 2]", "isn't a list of texts"),
        ('0\t"Q?\tA\tu\t', "malformed"),
    ],
)
def test_bad_rows_name_their_line(row: str, says: str, tmp_path: Path) -> None:
    path = table(tmp_path / "f.tsv", "\tPrompt\tAnswer\twikipedia_link_1\twiki_links", row)
    with pytest.raises(ConfigError, match=says) as raised:
        read_frames(path)
    assert "f.tsv:" in raised.value.where


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.tsv", b"Question\tAnswer\nx\ty\n", "no Prompt column"),
        ("a.tsv", b"Prompt\tAnswer\n", "no questions"),
        ("a.tsv", b"Prompt\tAnswer\nx\t\xff\n", "UTF-8"),
        ("a.jsonl", b'{"id": "1"}\n', "text"),
        ("a.jsonl", b'{"id": "1", "text": " "}\n', "empty"),
        ("a.jsonl", b"[1]\n", "isn't a question"),
        ("a.jsonl", b'{"id": "1", "text": "\xff"}\n', "isn't a question"),
        ("a.jsonl", b'{"id": "1", "text": "x"}\n{"id": "1", "text": "y"}\n', "two questions have the id"),
        ("a.jsonl", b"\n", "no questions"),
        ("a.csv", b"x", "end in .jsonl or .tsv"),
    ],
)
def test_files_that_are_none(name: str, content: bytes, says: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ConfigError, match=says):
        load_questions(tmp_path / name)


def test_a_missing_file(tmp_path: Path) -> None:
    for name in ("none.tsv", "none.jsonl"):
        with pytest.raises(ConfigError, match="can't be read"):
            load_questions(tmp_path / name)


_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00\r"), min_size=1).filter(str.strip)
_url = st.text(st.characters(min_codepoint=33, max_codepoint=0x2FF), min_size=1, max_size=20).filter(str.strip)
_question = st.builds(
    Question,
    id=st.just("x"),
    text=_text,
    answer=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00\r")),
    gold_urls=st.lists(_url, max_size=13),
)


@given(st.lists(_question, min_size=1, max_size=5))
@settings(deadline=None, max_examples=80)
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, written: list[Question]) -> None:
    path = tmp_path_factory.mktemp("frames") / "q.tsv"
    write_frames(path, written)
    read = read_frames(path)
    assert [(each.text, each.answer, each.gold_urls) for each in read] == [
        (each.text, each.answer, each.gold_urls) for each in written
    ]
    assert [each.id for each in read] == [str(number) for number in range(len(written))]
