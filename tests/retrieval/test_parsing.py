"""Documents to text and text to passages, by the rules of MLPerf's end-to-end RAG."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relaymark.data.world import page_html, page_text, world
from relaymark.errors import ConfigError
from relaymark.retrieval.chunking import chunk
from relaymark.retrieval.parsing import Document, find_documents, open_parser
from relaymark.retrieval.parsing.documents import MAX_BYTES
from relaymark.retrieval.parsing.normalising import normalise

PAGE = """<html><head><title>Town</title><script>var x = "no";</script></head><body><header>Top</header>
<nav>menu</nav><div id="mw-content-text"><div class="mw-parser-output"><p>The town<sup class="reference">[1]</sup> lies
by the sea.It is old.</p><div class="navbox">boxes</div><table class="infobox"><tr><th>Area</th><td>12&nbsp;km</td></tr>
</table><div class="hatnote">see also</div></div></div><footer>end</footer></body></html>"""


def document(path: Path, kind: str) -> Document:
    return Document(path.name, kind, str(path), "https://x/" + path.stem)


@pytest.mark.parametrize("mode", ["mlperf", "fast"])
def test_what_is_no_content_goes_and_tables_stay(tmp_path: Path, mode: str) -> None:
    (tmp_path / "town.html").write_text(PAGE)
    parsed = open_parser(mode)(document(tmp_path / "town.html", "html"))
    assert parsed.text == "The town lies by the sea. It is old. Area 12 km"
    assert parsed.title == "Town"


def test_both_parsers_read_a_world_to_the_letter(tmp_path: Path) -> None:
    encyclopedia = world(3, 40)
    for number in range(40):
        entity = encyclopedia.entity(number)
        path = tmp_path / f"{number}.html"
        path.write_text(page_html(encyclopedia, entity), encoding="utf-8")
        texts = {open_parser(mode)(document(path, "html")).text for mode in ("mlperf", "fast")}
        assert len(texts) == 1
        assert normalise(page_text(encyclopedia, entity)) == texts.pop()


def test_a_page_with_only_a_script_has_no_text(tmp_path: Path) -> None:
    (tmp_path / "s.html").write_text("<html><body><script>alert(1)</script></body></html>")
    for mode in ("mlperf", "fast"):
        assert open_parser(mode)(document(tmp_path / "s.html", "html")).text == ""


def test_bytes_that_are_not_utf8_are_an_error_and_not_a_guess(tmp_path: Path) -> None:
    (tmp_path / "l.html").write_bytes("<p>café</p>".encode("latin-1"))
    for mode in ("mlperf", "fast"):
        with pytest.raises(UnicodeDecodeError):
            open_parser(mode)(document(tmp_path / "l.html", "html"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a\u00a0b\u2009c\u2028d", "a b c d"),
        ("One.Two,three", "One. Two, three"),
        ("at 10:30 for 1,000 in the U.S. or example.org", "at 10:30 for 1,000 in the U. S. or example. org"),
        ("well- known", "well-known"),
        ("“curly” ﬁne", "“curly” fine"),
        ("a\r\n\r\n  b  \n\n", "a b"),
    ],
)
def test_normalisation(before: str, after: str) -> None:
    assert normalise(before) == after


def test_markdown_and_json_lines(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("---\nx: 1\n---\n# Head\n\nSome *fine* [link](http://x) and `code`.\n\n- item\n")
    parsed = open_parser("fast")(document(tmp_path / "a.md", "markdown"))
    assert (parsed.text, parsed.title) == ("Head Some fine link and code. item", "Head")
    (tmp_path / "b.jsonl").write_text('{"text": "one", "url": "u1", "title": "t"}\n\n{"text": "two"}\n{"no": 1}\n')
    found = find_documents(tmp_path).documents
    lines = [one for one in found if one.kind == "jsonl"]
    parse = open_parser("fast")
    assert [tuple(parse(one)) for one in lines[:2]] == [("one", "u1", "t"), ("two", "b.jsonl:3", "")]
    with pytest.raises(ValueError, match="no object with a text"):
        parse(lines[2])


def test_documents_come_in_order_each_once_whatever_links_there_are(tmp_path: Path) -> None:
    (tmp_path / "b" / "c").mkdir(parents=True)
    (tmp_path / "b" / "c" / "x.html").write_text("x")
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "picture.png").write_bytes(b"")
    (tmp_path / "b" / "loop").symlink_to(tmp_path)
    (tmp_path / "b" / "again.html").symlink_to(tmp_path / "b" / "c" / "x.html")
    (tmp_path / "gone.html").symlink_to(tmp_path / "nowhere")
    (tmp_path / "url_mapping.json").write_text(json.dumps({"x": "https://there/x"}))
    corpus = find_documents(tmp_path)
    assert [(one.source, one.url) for one in corpus.documents][:1] == [("a.txt", "a.txt")]
    assert sum(one.url == "https://there/x" for one in corpus.documents) == 1
    assert corpus.skipped["a link to a folder that was read already"] == 1
    assert corpus.skipped["a link that leads nowhere"] == 1
    assert corpus.skipped["not a kind of document that is read"] == 1


def test_an_empty_folder_and_none_at_all(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="holds no documents"):
        find_documents(tmp_path)
    with pytest.raises(ConfigError, match="no such folder"):
        find_documents(tmp_path / "x")


@given(st.integers(1, 6000))
def test_the_count_of_passages_is_the_specifications(length: int) -> None:
    passages = chunk("x" * length)
    assert len(passages) == (1 if length <= 768 else math.ceil(length / 736))
    assert all(len(passage) <= 768 for passage in passages)


@given(st.text(alphabet="ab \n", max_size=4000), st.integers(2, 900), st.integers(1, 900))
def test_windows_cover_the_text_and_none_is_empty(text: str, window: int, stride: int) -> None:
    stride = min(stride, window)
    passages = chunk(text, window, stride)
    assert all(passages)
    assert set("".join(text.split())) == set("".join("".join(passages).split()))


def test_what_is_no_document_is_counted_and_waited_for_by_nobody(tmp_path: Path) -> None:
    (tmp_path / "good.txt").write_text("good")
    os.mkfifo(tmp_path / "pipe.html")  # opening it would wait for a writer for ever
    (tmp_path / "away.txt").symlink_to(tmp_path / "good.txt")
    (tmp_path / "a.txt").symlink_to("/dev/zero")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/odd\xff.txt")).write_text("a name that is no text")
    lines = '{"text": "half \\ud800 a pair"}\n{"text": "whole"}\n\n  \n{"text": "last"}'
    (tmp_path / "halves.jsonl").write_text(lines)
    corpus = find_documents(tmp_path)
    assert corpus.skipped == {
        "not a file": 2,
        "a name that is not UTF-8": 1,
        "a link to a file that was read already": 1,
    }
    assert [one.source for one in corpus.documents] == [
        "good.txt",
        "halves.jsonl:1",
        "halves.jsonl:2",
        "halves.jsonl:5",
    ]
    parse = open_parser("fast")
    with pytest.raises(ValueError, match="half a character"):
        parse(corpus.documents[1])
    assert [parse(one).text for one in corpus.documents[2:]] == ["whole", "last"]


def test_a_line_longer_than_a_document_may_be_is_never_read_whole(tmp_path: Path) -> None:
    with (tmp_path / "long.jsonl").open("wb") as file:
        file.truncate(MAX_BYTES + 5)  # zeros: one line, and sparse on the disk
        file.seek(0, os.SEEK_END)
        file.write(b'\n{"text": "after it"}\n')
    long, after = find_documents(tmp_path).documents
    parse = open_parser("fast")
    with pytest.raises(ValueError, match="larger than 64 MiB"):
        parse(long)
    assert parse(after).text == "after it"


def test_both_parsers_join_hyphens_over_line_breaks_alike(tmp_path: Path) -> None:
    path = tmp_path / "x.html"
    path.write_text("<body><p>well-\nknown and\n  <b>so-</b>\ncalled <i>half-</i>done\n\n<p>end-</p><p>less</body>")
    texts = {open_parser(mode)(document(path, "html")).text for mode in ("fast", "mlperf")}
    assert len(texts) == 1, texts
