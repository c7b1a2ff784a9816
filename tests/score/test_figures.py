"""Retrieval figures, page names, gates, intervals, TEST09: against what comes out by hand."""

from __future__ import annotations

from math import sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relaymark.errors import ConfigError
from relaymark.score import make_gate, map_gold, normalise_url, official_prf, prf, verify_lengths, wilson
from relaymark.score.retrieval import Prf, RetrievalTally
from relaymark.score.test09 import answer_length, response_payload, verification_text
from relaymark.score.urls import page_names, split_urls


def test_the_official_evaluator() -> None:
    gold = ["a", "b", "c", ""]
    assert official_prf(["a", "x"], gold) == Prf(1 / 2, 1 / 3, pytest.approx(0.4))
    assert official_prf(["a", "a", "a"], gold) == Prf(1.0, 1 / 3, pytest.approx(0.5))  # sets
    assert official_prf([], gold) == Prf(0.0, 0.0, 0.0)
    assert official_prf(["a"], []) == Prf(0.0, 0.0, 0.0)  # an empty gold set counts as 0
    assert official_prf(["A"], ["a"]) == Prf(0.0, 0.0, 0.0)  # to the letter
    ten = [f"x{number}" for number in range(10)]
    assert official_prf([*ten, "a"], ["a"]).recall == 0.0  # the eleventh is not looked at
    assert official_prf([*ten[:9], "a", "b"], ["a", "b"]) == Prf(0.1, 0.5, pytest.approx(1 / 6))


def test_means_are_over_all_tasks_and_failures_found_nothing() -> None:
    tally = RetrievalTally()
    tally.add(["u/A#x", "u/B"], ["u/A", "u/B"], ["u/A", "u/B", "u/C", "u/D"])
    tally.add(["u/A"], None, None)  # failed
    tally.add([], ["u/A"], ["u/A"])  # no gold
    tally.add(["u/A"], [], ["u/A"])
    score = tally.result()
    assert score is not None
    assert score.tasks == 4 and score.empty_gold == 1
    assert score.official == Prf(0.5 / 4, 0.5 / 4, 0.5 / 4)
    assert score.normalised == Prf(1 / 4, 1 / 4, 1 / 4)
    assert score.retrieved is not None
    assert score.retrieved.recall == (1 + 0 + 0 + 1) / 4
    assert score.retrieved.precision == (0.5 + 0 + 0 + 1) / 4


def test_a_black_box_has_no_retrieval_figures() -> None:
    tally = RetrievalTally()
    tally.add(["a"], None, None)
    tally.add(["b"], None, None)
    assert tally.result() is None
    without_gold = RetrievalTally()
    without_gold.add([], ["a"], None)
    assert without_gold.result() is None


@given(st.sets(st.integers(0, 20)), st.sets(st.integers(0, 20)))
@settings(deadline=None)
def test_f1_lies_between_precision_and_recall(found: set[int], wanted: set[int]) -> None:
    one = prf({str(each) for each in found}, {str(each) for each in wanted})
    low, high = sorted((one.precision, one.recall))
    assert 0 <= low <= 1 and (one.f1 == 0 or low - 1e-12 <= one.f1 <= high + 1e-12)
    assert (one.f1 == 1) == (found == wanted and bool(found))


SPELLINGS = [
    "https://en.wikipedia.org/wiki/Café_Müller",
    "http://en.wikipedia.org/wiki/Caf%C3%A9_M%C3%BCller",
    "https://en.m.wikipedia.org/wiki/Cafe\u0301_Müller#History",
    "en.wikipedia.org/wiki/Café Müller/",
    "HTTPS://EN.WIKIPEDIA.ORG/wiki/café_müller?action=raw",
    "https://www.en.wikipedia.org/wiki/Café_Müller.html",
]


def test_one_page_has_one_name() -> None:
    assert {normalise_url(url) for url in SPELLINGS} == {"en.wikipedia.org/wiki/café_müller"}
    assert normalise_url("https://a/B") != normalise_url("https://a/C")
    assert normalise_url("https://en.wikipedia.org/wiki/C%2B%2B") == "en.wikipedia.org/wiki/c++"


@given(st.text(max_size=60))
@settings(deadline=None)
def test_naming_never_fails_and_settles(url: str) -> None:
    once = normalise_url(url)
    assert isinstance(once, str)
    page_names([url])


def test_cells_with_several_urls() -> None:
    assert split_urls("https://a/x, https://b/y\nhttp://c/z") == ["https://a/x", "https://b/y", "http://c/z"]
    assert split_urls(" https://a/x ") == ["https://a/x"]
    assert split_urls("x y") == ["x y"]
    assert split_urls(" ") == []


def test_what_of_the_gold_a_corpus_can_give() -> None:
    corpus = ["https://w/A", "https://w/B", "https://w/C"]
    gold = ["https://w/A", "https://w/B#part", "https://w/B, https://w/C", "https://w/D", ""]
    mapped = map_gold(gold, corpus)
    assert (mapped.gold, mapped.verbatim, mapped.normalised) == (4, 1, 3)
    assert mapped.missing == ("https://w/D",)
    assert mapped.ceiling == 0.25
    assert map_gold([], corpus).ceiling is None


def test_wilson_by_hand() -> None:
    # Wilson 1927 for 7 of 10 at z = 1.96.
    z = 1.96
    middle = (0.7 + z * z / 20) / (1 + z * z / 10)
    half = z / (1 + z * z / 10) * sqrt(0.7 * 0.3 / 10 + z * z / 400)
    low, high = wilson(0.7, 10, z)
    assert (low, high) == (pytest.approx(middle - half), pytest.approx(middle + half))
    assert wilson(0.0, 10)[0] == 0.0 and 0.27 < wilson(0.0, 10)[1] < 0.28
    assert wilson(1.0, 10)[1] == 1.0
    with pytest.raises(ValueError, match="no interval"):
        wilson(0.5, 0)


@given(st.integers(0, 500), st.integers(1, 500))
@settings(deadline=None)
def test_the_interval_holds_the_share(correct: int, of: int) -> None:
    share = min(correct, of) / of
    low, high = wilson(share, of)
    assert 0 <= low <= share + 1e-12 and share - 1e-12 <= high <= 1


def test_the_gate_is_exact() -> None:
    gate = make_gate("mlperf/v6.1/e2e-rag-qna")
    assert str(gate.threshold) == "679/2000"  # 33.95 %
    assert not gate.passes(279, 824) and gate.passes(280, 824)  # 33.86 and 33.98 %
    # Floats would make of 0.97 · 0.3 a little more than 0.291.
    assert make_gate("0.3").passes(291, 1000) and not make_gate("30 %").passes(290, 1000)
    assert make_gate("35%", "1").threshold == make_gate("0.35", "100%").threshold
    assert not gate.passes(0, 0)


@pytest.mark.parametrize(
    ("reference", "share", "says"),
    [("35", "0.97", "35%"), ("x", "0.97", "not a share"), ("-0.1", "0.97", "not a share"), ("0.35", "97", "97%"),
     ("mlperf/v9/none", "0.97", "no reference is known")],
)  # fmt: skip
def test_gates_that_are_none(reference: str, share: str, says: str) -> None:
    with pytest.raises(ConfigError) as raised:
        make_gate(reference, share)
    assert says in str(raised.value)


def test_test09() -> None:
    # The five published reference runs: three of them would fail.
    for mean, passes in ((221, False), (211, False), (214, False), (258, True), (273, True)):
        assert verify_lengths([4 * mean] * 824).passed is passes
    assert verify_lengths([4 * 246, 4 * 247]).passed  # 246.5
    result = verify_lengths(len(response_payload(tokens)) for tokens in (1, 600, 240))
    assert result.mean == pytest.approx(841 / 3)
    assert "TEST PASS" in verification_text(result)
    none = verify_lengths([])
    assert none.mean is None and not none.passed and "TEST FAIL" in verification_text(none)
    assert verify_lengths([7]).mean == 1.0  # whole int32 values only


def test_lengths_without_an_answer_call() -> None:
    assert answer_length("one two three", None) == 3
    assert answer_length("", None) == answer_length(None, None) == 1
    assert answer_length("one two three", 250) == 250
    assert set(response_payload(3)) == {0}
