"""The generated world: the same everywhere, true to itself, and every fact where the questions say it stands."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from page_reader import read_page

from relaymark.data import Question, load_questions
from relaymark.data.world import page_html, page_text, questions, read_world, world, write_world
from relaymark.data.world.draw import Draws, Shuffle
from relaymark.data.world.entities import Date
from relaymark.data.world.names import PATTERNS
from relaymark.data.world.relations import DATE, LINK, RELATIONS, SHARES
from relaymark.errors import ConfigError

WINDOW, STRIDE = 768, 736
GOLDEN_NAMES = ["Esme Ambersted", "Tinderburgh Episcopi", "River Luward", "Chapter of the Agate Sparrow"]
GOLDEN_QUESTION = ("Who was the teacher of the first climber of Brokenhill Pike?", "Levin Greynell")


def windows(text: str) -> list[str]:
    """Passages as the MLPerf preset cuts them."""
    return [text[start : start + WINDOW] for start in range(0, len(text), STRIDE)]


def test_a_world_never_changes() -> None:
    # Computed once and written down: a change here breaks every recorded run, and needs a new version in the key.
    encyclopedia = world(7, 300)
    assert [encyclopedia.entity(n).name for n in (0, 100, 150, 299)] == GOLDEN_NAMES
    question = questions(encyclopedia, 3)[2]
    assert (question.text, question.answer) == GOLDEN_QUESTION


def test_another_process_writes_the_same_bytes(tmp_path: Path) -> None:
    here = write_world(tmp_path / "here", seed=3, pages=60, questions=10)
    program = "import sys; from relaymark.cli import main; sys.exit(main(sys.argv[1:]))"
    words = ["data", "world", "--pages", "60", "--seed", "3", "--questions", "10", "--out", str(tmp_path / "there")]
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        capture_output=True,
        text=True,
        env={"PYTHONHASHSEED": "99"},
        check=True,
    )
    assert "60 pages" in done.stdout and "10 questions" in done.stdout
    for name in ("url_mapping.json", "questions.jsonl", "world.json"):
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes()
    assert read_world(tmp_path / "there").sha256 == here.sha256


@pytest.mark.parametrize("pages", [30, 31, 300, 2_000])
def test_every_page_has_its_own_name_and_url(pages: int) -> None:
    encyclopedia = world(1, pages)
    everyone = [encyclopedia.entity(number) for number in range(pages)]
    assert len({entity.name for entity in everyone}) == pages
    assert len({entity.url for entity in everyone}) == pages
    assert len({entity.file for entity in everyone}) == pages
    kinds = Counter(entity.kind for entity in everyone)
    assert set(kinds) == set(RELATIONS) and min(kinds.values()) >= 2
    with pytest.raises(IndexError):
        encyclopedia.entity(pages)


def test_the_largest_world_has_names_for_all() -> None:
    for kind, pattern in PATTERNS.items():
        assert pattern.capacity >= SHARES[kind] * 100_000
        assert len({pattern.name_at(n) for n in range(0, pattern.capacity, 97)}) == len(range(0, pattern.capacity, 97))
    places = set[str]()
    for kind in ("town", "region", "mountain", "river"):
        names = {PATTERNS[kind].name_at(number) for number in range(PATTERNS[kind].capacity)}
        assert len(names) == PATTERNS[kind].capacity
        assert not names & places
        places |= names


@given(st.integers(1, 5_000), st.integers(0, 2**64 - 1))
@settings(deadline=None, max_examples=60)
def test_a_shuffle_is_a_permutation(size: int, key: int) -> None:
    shuffle = Shuffle(size, key)
    assert sorted(map(shuffle, range(size))) == list(range(size))


@given(st.integers(0, 2**64 - 1), st.lists(st.integers(1, 40_000), min_size=1, max_size=50))
@settings(deadline=None, max_examples=60)
def test_draws_stay_in_range_and_repeat(key: int, sizes: list[int]) -> None:
    one, again = Draws(key, 5, 17), Draws(key, 5, 17)
    drawn = [one.below(size) for size in sizes]
    assert all(0 <= value < size for value, size in zip(drawn, sizes, strict=True))
    assert drawn == [again.below(size) for size in sizes]


def test_facts_agree_with_each_other() -> None:
    encyclopedia = world(5, 1_000)
    for number in range(0, 1_000, 3):
        entity = encyclopedia.entity(number)
        facts = {fact.relation.name: fact for fact in encyclopedia.facts(entity)}
        for fact in facts.values():
            if fact.relation.value == LINK:
                assert isinstance(fact.value, int)
                assert encyclopedia.entity(fact.value).kind == fact.relation.target
                assert fact.value != number
            assert (fact.relation.value == DATE) == isinstance(fact.value, Date)
        if entity.kind == "person":
            assert facts["born"].value < facts["died"].value
            if "teacher" in facts:
                teacher = encyclopedia.entity(facts["teacher"].value)
                assert encyclopedia.facts(teacher)[0].value < facts["born"].value
        if entity.kind == "region":
            capital = encyclopedia.entity(facts["capital"].value)
            assert encyclopedia.facts(capital)[0].value == number  # it lies in the region


def test_pages_say_what_they_must_and_nothing_else() -> None:
    encyclopedia = world(2, 200)
    for number in range(200):
        entity = encyclopedia.entity(number)
        html = page_html(encyclopedia, entity)
        text = page_text(encyclopedia, entity)
        assert read_page(html) == text
        assert "Not to be confused" in html and "Not to be confused" not in text
        assert "[edit]" not in text and "See also" not in text
        assert f'<link rel="canonical" href="{entity.url}">' in html
        # Every fact whole within the first passage, so that a page that was found is a fact that was found.
        first = windows(text)[0]
        for fact in encyclopedia.facts(entity):
            assert any(statement in first for statement in encyclopedia.statements(entity, fact))


@pytest.fixture(scope="module")
def asked() -> list[Question]:
    return questions(world(4, 600), 150)


def test_questions_are_of_all_sorts(asked: list[Question]) -> None:
    assert len({question.text for question in asked}) == 150
    hops = Counter(len(question.hops) for question in asked)
    assert set(hops) == {2, 3, 4} and min(hops.values()) >= 20
    kinds = Counter(question.kind for question in asked)
    assert set(kinds) == {"name", "date", "number"} and min(kinds.values()) >= 10
    assert {question.reasoning[0] for question in asked} == {"chain", "comparison", "difference"}
    for question in asked:
        assert len(set(question.gold_urls)) == len(question.hops)  # each hop on a page of its own
        assert question.gold_urls == [hop.url for hop in question.hops]
        assert question.answer
        assert question.answer not in question.text or question.reasoning[0] == "comparison"


def test_facts_stand_on_their_gold_pages_only(asked: list[Question]) -> None:
    encyclopedia = world(4, 600)
    texts = {
        entity.url: page_text(encyclopedia, entity) for entity in map(encyclopedia.entity, range(len(encyclopedia)))
    }
    for question in asked:
        for hop in question.hops:
            holding = {url for url, text in texts.items() if any(each in text for each in hop.statements)}
            assert holding == {hop.url}
            assert hop.subject in hop.query


def test_answers_follow_from_the_hops(asked: list[Question]) -> None:
    for question in asked:
        last = question.hops[-1]
        sort = question.reasoning[0]
        if sort == "chain":
            for hop, following in zip(question.hops, question.hops[1:], strict=False):
                assert hop.value.removeprefix("the ") == following.subject
            # The answer is the last fact, its year, or its name without an article.
            assert question.answer in last.value
        elif sort == "comparison":
            values = {hop.subject: int(hop.value.split()[0].replace(",", "")) for hop in question.hops[-2:]}
            assert question.answer == max(values, key=lambda name: values[name])
        else:
            one, other = (int(hop.value.replace(",", "").split()[-1 if hop.value[-1].isdigit() else 0])
                          for hop in question.hops[-2:])  # fmt: skip
            assert question.answer == f"{abs(one - other):,}"


def test_a_written_world_is_whole(tmp_path: Path) -> None:
    told: list[int] = []
    record = write_world(tmp_path, seed=9, pages=300, questions=20, tsv=True, progress=told.append)
    files = {path.name: path for path in (tmp_path / "pages").iterdir()}
    mapping = json.loads((tmp_path / "url_mapping.json").read_text())
    assert len(files) == len(mapping) == record.pages == 300
    assert record.bytes == sum(path.stat().st_size for path in files.values())
    assert set(mapping) == {name.removesuffix(".html") for name in files}
    for stem, url in mapping.items():
        assert stem == url.partition("://")[2].replace("/", "_").replace(":", "_")[:200]
    asked = load_questions(tmp_path / "questions.jsonl")
    for question in asked:
        for hop in question.hops:
            text = files[hop.page].read_text(encoding="utf-8")
            assert unquote(hop.url.rpartition("/")[2]).replace("_", " ") == hop.subject
            assert f'<h1 id="firstHeading">{hop.subject.replace("&", "&amp;")}</h1>' in text
    assert told and told[0] == 0
    table = load_questions(tmp_path / "questions.tsv")
    assert [(each.text, each.answer, each.gold_urls) for each in table] == [
        (each.text, each.answer, each.gold_urls) for each in asked
    ]


def test_a_world_is_not_written_over_another(tmp_path: Path) -> None:
    first = write_world(tmp_path, pages=30, questions=5)
    page = next((tmp_path / "pages").iterdir())
    page.write_text("touched")
    assert write_world(tmp_path, pages=30, questions=5) == first
    assert page.read_text() == "touched"  # it was there already
    with pytest.raises(ConfigError, match="another world is here"):
        write_world(tmp_path, pages=31, questions=5)
    (tmp_path / "world.json").unlink()
    with pytest.raises(ConfigError, match="not of this world"):
        write_world(tmp_path, pages=30, questions=5)


def test_an_interrupted_write_is_begun_again(tmp_path: Path) -> None:
    def stop(done: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_world(tmp_path, pages=300, questions=5, progress=stop)
    with pytest.raises(ConfigError, match="no generated world"):
        read_world(tmp_path)
    record = write_world(tmp_path, pages=300, questions=5)
    assert record.sha256 == write_world(tmp_path / "fresh", pages=300, questions=5).sha256


@pytest.mark.parametrize(
    ("pages", "count", "says"), [(29, 5, "30 to 100,000"), (100_001, 5, "30 to 100,000"), (30, 0, "at least 1")]
)
def test_worlds_that_cannot_be(pages: int, count: int, says: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=says):
        write_world(tmp_path, pages=pages, questions=count)
    assert not list(tmp_path.iterdir())


def test_a_small_world_runs_out_of_questions() -> None:
    with pytest.raises(ConfigError, match="gave only"):
        questions(world(0, 30), 5_000)
