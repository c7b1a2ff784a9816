"""What LLM roles may reply, and the one way each wrong reply is taken."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relaymark.bench.jsonpath import look_up, parse_path
from relaymark.relay.rag import replies
from relaymark.relay.rag.blackbox import filled
from relaymark.relay.rag.replies import Said

BROKEN = [
    ("", "empty"),
    ("   \n", "empty"),
    ("Let me think about it.", "not JSON"),
    ("I'm sorry, but I can't help with that.", "refusal"),
    ('{"queries": ["a"', "not JSON"),
    ("}{", "not JSON"),
    ("[1, 2]", "not JSON"),
    ('{"else": 1}', "wrong shape"),
    ("{" * 5000 + "}" * 5000, "not JSON"),
    ("x" * 10_000_000, "too long"),
]


@pytest.mark.parametrize(("text", "why"), BROKEN)
def test_every_broken_reply_has_its_way_and_its_name(text: str, why: str) -> None:
    said = Said(text)
    assert replies.queries(said, "Who?") == replies.Queries(["Who?"], "", (f"queries: {why}",))
    assert replies.relevance(said, 3) == replies.Relevance([True] * 3, (f"relevance: {why}",))
    assert replies.sufficiency(said) == replies.Sufficiency(False, (f"sufficiency: {why}",))


@pytest.mark.parametrize(
    "text",
    ['{"queries": ["a b"]}', '```json\n{"queries": ["a b"]}\n```', 'Sure! {"queries": ["a  b "], "x": {}} Done.'],
)
def test_json_is_found_where_models_put_it(text: str) -> None:
    assert replies.queries(Said(text), "Who?").queries == ["a b"]
    assert replies.queries(Said("", reasoning=text), "Who?").queries == ["a b"]


def test_queries_that_are_no_text_are_left_out_and_counted() -> None:
    got = replies.queries(Said(json.dumps({"queries": ["a", 7, None, {"query": "b"}, {"x": 1}, ""]})), "Who?")
    assert got.queries == ["a", "b"]
    assert got.fallbacks == ("queries: a query is no text",) * 3
    assert replies.queries(Said('{"queries": []}'), "Who?") == replies.Queries(["Who?"], "", ("queries: none",))
    many = replies.queries(Said(json.dumps({"queries": [f"q{n}" for n in range(99)]})), "Who?")
    assert len(many.queries) == 32 and many.fallbacks == ("queries: too many",)


@pytest.mark.parametrize(
    ("grades", "relevant", "problem"),
    [
        ("[1, 0]", [True, False], None),
        ("[true, false]", [True, False], None),
        ("[1.0, 0.0]", [True, False], None),
        ('["1", 0]', [False, False], "a grade is no number"),
        ("[1]", [True, True], "another number of grades than documents"),
        ("[1, 0, 1]", [True, True], "another number of grades than documents"),
        ("[2, 1]", [False, True], None),
    ],
)
def test_grades(grades: str, relevant: list[bool], problem: str | None) -> None:
    got = replies.relevance(Said(f'{{"relevance": {grades}}}'), 2)
    assert got.relevant == relevant
    assert got.fallbacks == ((f"relevance: {problem}",) if problem else ())


@pytest.mark.parametrize(
    ("told", "sufficient", "counted"),
    [
        ("true", True, 0),
        ("false", False, 0),
        ('"false"', False, 1),
        ('"True"', True, 1),
        ("1", False, 1),
        ("null", False, 1),
    ],
)
def test_the_text_false_is_no_true(told: str, sufficient: bool, counted: int) -> None:
    got = replies.sufficiency(Said(f'{{"sufficient": {told}}}'))
    assert (got.sufficient, len(got.fallbacks)) == (sufficient, counted)


def test_answers() -> None:
    assert replies.answer(Said("  Paris \n")) == replies.AnswerText("Paris")
    assert replies.answer(Said(" ")) == replies.AnswerText("Unknown", ("answer: empty",))
    assert len(replies.answer(Said("x" * 10_000_000)).text) == replies.MAX_TEXT


@given(st.text(max_size=300) | st.recursive(st.none() | st.booleans() | st.text(), st.lists).map(json.dumps))
def test_no_reply_is_an_exception(text: str) -> None:
    said = Said(text, reasoning=text[::-1])
    assert replies.queries(said, "Who?").queries
    assert len(replies.relevance(said, 4).relevant) == 4
    replies.sufficiency(said)
    assert replies.answer(said).text


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$.answer", ["yes"]),
        ("$.hits[*].url", ["u1", "u2"]),
        ("$.hits[1].url", ["u2"]),
        ("$['odd key'].x", [1]),
        ("$.hits[9].url", []),
        ("$.answer.more", []),
        ("$.nothing", []),
    ],
)
def test_a_path_leads_to_what_stands_there_or_to_nothing(path: str, found: list[Any]) -> None:
    reply = {"answer": "yes", "hits": [{"url": "u1"}, {"url": "u2"}], "odd key": {"x": 1}}
    assert look_up(reply, parse_path(path)) == found


def test_the_question_goes_wherever_the_template_says() -> None:
    template = {"q": "${question}", "messages": [{"content": "Say: ${question}", "n": 1}], "k": None}
    assert filled(template, 'a "b"') == {"q": 'a "b"', "messages": [{"content": 'Say: a "b"', "n": 1}], "k": None}
