"""The page as text: what it says, in which order, and that nothing untrusted becomes markup."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from relaymark.errors import RelaymarkError
from relaymark.report.html import render_html, write_html

from . import fake_summary

VOID = {"meta", "br", "img", "link", "input"}
RUNS = ["valid_run", "invalid_run", "failing_run", "embeddings_run", "huge_run", "one_request_run", "hostile_run"]


class Page(HTMLParser):
    """Tags, attributes and text; fails on tags that do not nest."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.said: list[str] = []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.said.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.said).split())


@pytest.mark.parametrize("name", RUNS)
def test_every_page_nests_and_loads_nothing(name: str) -> None:
    html = render_html(getattr(fake_summary, name)())
    page = Page(html)
    tags = [tag for tag, _ in page.tags]
    assert tags.count("script") == 1
    assert tags.count("style") == 1
    assert not set(tags) & {"img", "link", "iframe", "object", "embed", "base", "form", "a"}
    for tag, attributes in page.tags:
        assert not {"src", "href", "style", "srcdoc", "action"} & set(attributes), tag
        assert not [a for a in attributes if a.startswith("on")], tag
    assert "http-equiv" in html.split("<title>")[0]
    assert len(html) < 700_000


def test_the_policy_allows_exactly_our_script_and_style() -> None:
    html = render_html(fake_summary.valid_run())
    policy = next(a["content"] or "" for t, a in Page(html).tags if t == "meta" and "http-equiv" in a)
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        found = re.search(f"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
        assert found
        digest = base64.b64encode(hashlib.sha256(found[1].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_hostile_text_is_shown_not_run() -> None:
    html = render_html(fake_summary.hostile_run())
    page = Page(html)
    assert "<script>window.pwned=1</script>" in page.text
    assert '"><img src=x onerror="window.pwned=1">' in page.text
    assert "{{ 7*7 }}" in page.text
    assert "<script>window" not in html
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", html)
    assert "Z" * 601 not in html.split("Configuration</summary>")[0]


def test_a_valid_run_says_so_first_and_its_error_bar_second() -> None:
    text = Page(render_html(fake_summary.valid_run())).text
    body = text.split("SmolLM2-135M-Instruct", 1)[1]
    marks = ["VALID", "Error bar", "0.031 ms", "123,456 reads with kernel stamps", "Headline", "Distributions"]
    marks += ["Over time", "Outcomes", "Every request", "own timings", "Warnings and notes", "What each number means"]
    marks += ["Configuration", "Environment", "What the server told of itself"]
    places = [body.index(mark) for mark in marks]
    assert places == sorted(places)
    assert "INVALID" not in text.split("Reference")[0]
    assert "1 torn record skipped" in text


def test_headline_figures_are_those_of_the_summary() -> None:
    summary = fake_summary.valid_run()
    text = Page(render_html(summary)).text
    row = text.split("Headline")[1].split("poisson 4/s", 1)[1]
    p50 = summary.stages[4].distributions["ttft"].quantiles[0]
    assert p50.value is not None
    assert f"{p50.value / 1e6:.0f}" in row[:120]
    assert "97.4 %" in row[:40]
    assert "✕ ∞" in row[:400]


def test_an_invalid_run_names_each_reason_and_what_is_withheld() -> None:
    text = Page(render_html(fake_summary.invalid_run())).text
    assert text.index("INVALID") < text.index("The client itself added 38.2 ms at p99")
    assert "a proxy buffered them" in text
    assert "TTFT and ITL withheld: 97 %" in text
    assert "The run was interrupted" in text


def test_a_run_of_failures_has_no_empty_charts() -> None:
    html = render_html(fake_summary.failing_run())
    text = Page(html).text
    assert "No distributions: no request ended ok." in text
    assert "Not measured: no read was stamped." in text
    assert "connection refused 60 75.0 %" in text
    assert "Distributions" not in re.findall("<h2>(.*?)</h2>", html)


def test_one_request_gets_no_curve() -> None:
    text = Page(render_html(fake_summary.one_request_run())).text
    assert "only 1 value, too few for a curve" in text


def test_the_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = write_html(fake_summary.hostile_run(), tmp_path / "report.html")
    assert path.read_text(encoding="utf-8").endswith("</html>")
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(RelaymarkError, match="cannot be written"):
        write_html(fake_summary.one_request_run(), tmp_path / "missing" / "report.html")
