"""The deterministic judge: what is the same in another dress, and the traps that are not."""

from __future__ import annotations

import datetime
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relaymark.score.dates import Day, parse_day
from relaymark.score.exact import judge_exact, normalise, says_nothing
from relaymark.score.numbers import parse_quantity

SAME = [
    ("Ada Dalhope", "ada  dalhope."),
    ("René Lockshaw", "Rene Lockshaw"),
    ("Łódź", "lodz"),
    ("Straße", "STRASSE"),
    ("Søren", "Soren"),
    ("The Who", "who"),
    ("River Arvelon", "the River Arvelon"),
    ("Swift & Otter Railway Company", "the Swift and Otter Railway Company"),
    ("J. R. R. Tolkien", "JRR Tolkien"),
    ("O'Neill", "O’Neill"),
    ("twenty-first century", "Twenty First Century"),
    ("third", "3rd"),
    ("Paris", "**Paris**"),
    ("Paris", "The final answer is: Paris."),
    ("Paris", "Answer: “Paris”"),
    ("yes", "Yes."),
    ("1,234", "1234"),
    ("1,234", "1 234 metres"),
    ("1,234", "1\u202f234"),
    ("1'234'567", "1,234,567"),
    ("1.5 km", "1,500 m"),
    ("1.5 km", "1500 metres"),
    ("2 hours", "120 min"),
    ("5 km", "5 Kilometers"),
    ("21 Grams", "0.021 kg"),
    ("5 kg", "5,000 grams"),
    ("3 km²", "3 square kilometres"),
    ("-5", "−5"),
    ("7", "seven"),
    ("Seven", "7"),
    ("twenty-one", "21"),
    ("one hundred and five", "105"),
    ("two thousand three hundred", "2,300"),
    ("five hundred thousand and two", "500002"),
    ("1.5 million", "1,500,000"),
    ("$1.5 million", "1500000 dollars"),
    ("12%", "12 percent"),
    ("about 50", "50"),
    ("1.50", "1.5"),
    ("12 March 1874", "1874-03-12"),
    ("12 March 1874", "March 12th, 1874."),
    ("12 March 1874", "Thursday, 12 March 1874"),
    ("12 March 1874", "the 12th of March 1874"),
    ("12 March 1874", "12-Mar-1874"),
    ("12 March 1874", "Mar. 12, 1874"),
    ("31 March 1874", "03/31/1874"),
    ("31 March 1874", "31.03.1874"),
    ("March 1874", "march, 1874"),
    ("A, B and C", "C; A; B"),
    ("red, green and blue", "Blue, red & green"),
    ("1, 2 and 3", "3, 2, 1"),
    ("12 March 1874; 1 May 1880", "1880-05-01 and 1874-03-12"),
    ("None", "none"),
    ("NA", "NA"),
    ("Unknown", "unknown"),
    ("?!", "?!"),
]

DIFFERENT = [
    ("Ada Dalhope", "Ada Dalhope or Bo Dalhope"),
    ("Ada Dalhope", "Dalhope"),
    ("Paris", "Paris, Texas"),
    ("Paris", "not Paris"),
    ("1,234", "1.234"),
    ("1.23", "1,23"),
    ("3.5", "3 5"),
    ("3.5", "35"),
    ("1,234", "12,34"),
    ("1,234", "1,2345"),
    ("007", "7"),
    ("1970s", "1970"),
    ("1970", "1970s"),
    ("3rd", "3"),
    ("5", "-5"),
    ("12%", "0.12"),
    ("5 km", "5 miles"),
    ("5 km", "5 m"),
    ("5 kg", "5 km"),
    ("5 apples", "5 oranges"),
    ("1.5 million", "1.5"),
    ("Seven Samurai", "Seven"),
    ("21 Grams", "21"),
    ("12 March 1874", "12/03/1874"),
    ("12 March 1874", "13 March 1874"),
    ("12 March 1874", "12 March 1875"),
    ("12 March 1874", "March 1874"),
    ("12 March 1874", "1874"),
    ("1874", "12 March 1874"),
    ("1 March 1900", "29 February 1900"),
    ("A, B and C", "A, B"),
    ("A, B", "A, B, C"),
    ("A and A", "A"),
    ("A, A and B", "A, B and B"),
    ("true", "false"),
    ("None", "Unknown"),
    ("Ada", None),
    ("Ada", ""),
    ("Ada", "I don't know."),
    ("?!", "!?"),
    ("C++", "C#"),
    ("C", "C++"),
    ("A+", "A"),
    ("A-", "A"),
    ("Ada", "Ada " * 10_000),
]


@pytest.mark.parametrize(("gold", "given_answer"), SAME)
def test_the_same_in_another_dress(gold: str, given_answer: str) -> None:
    assert judge_exact(gold, given_answer).correct
    assert judge_exact(gold, f"  {given_answer}\n").correct


@pytest.mark.parametrize(("gold", "given_answer"), DIFFERENT)
def test_traps(gold: str, given_answer: str | None) -> None:
    assert not judge_exact(gold, given_answer).correct


def test_a_blank_reference_judges_nothing() -> None:
    with pytest.raises(ValueError, match="blank"):
        judge_exact("  ", "x")


@pytest.mark.parametrize(
    ("answer", "nothing"),
    [(None, True), ("", True), (" \n", True), ("Unknown", True), ("**unknown.**", True), ("Answer: N/A", True),
     ("Unknown Pleasures", False), ("Nonesuch", False), ("0", False)],
)  # fmt: skip
def test_answers_that_are_none(answer: str | None, nothing: bool) -> None:
    assert says_nothing(answer) is nothing


@given(st.text(min_size=1, max_size=60).filter(str.strip))
@settings(deadline=None)
def test_every_reference_is_right_itself(gold: str) -> None:
    assert judge_exact(gold, gold).correct
    assert judge_exact(gold, f" {gold} ").correct


@given(st.text(max_size=80))
@settings(deadline=None)
def test_normalising_twice_changes_nothing(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


@given(st.text(min_size=1, max_size=60).filter(str.strip), st.text(max_size=60))
@settings(deadline=None)
def test_anything_can_be_judged(gold: str, said: str) -> None:
    assert judge_exact(gold, said).why
    parse_day(said)
    parse_quantity(said)


@given(st.integers(-(10**12), 10**12), st.sampled_from([",", "\u202f", "'", " ", ""]), st.integers(0, 999))
@settings(deadline=None)
def test_numbers_in_every_grouping(number: int, mark: str, cents: int) -> None:
    grouped = f"{number:,}".replace(",", mark)
    right = f"{number}.{cents:03d}"
    quantity = parse_quantity(f"{grouped}.{cents:03d}")
    assert quantity is not None
    assert quantity.value == Fraction(right)
    assert judge_exact(right, f"{grouped}.{cents:03d}").correct
    assert not judge_exact(right, f"{grouped}.{(cents + 1) % 1000:03d}").correct


@given(st.dates(datetime.date(1000, 1, 1)))
@settings(deadline=None)
def test_every_way_to_write_a_day(day: datetime.date) -> None:
    month = day.strftime("%B")
    suffix = "th" if 11 <= day.day <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10, "th")
    right = Day(day.year, day.month, day.day)
    for text in (
        f"{day.day} {month} {day.year}",
        f"{day.day}{suffix} of {month[:3]}, {day.year}",
        f"{month} {day.day}, {day.year}",
        f"{day.strftime('%A')}, {month[:3]}. {day.day}{suffix} {day.year}",
        f"{day.year} {month} {day.day}",
        day.isoformat(),
        f"{day.year}/{day.month}/{day.day}",
    ):
        assert parse_day(text) == right, text
    digits = parse_day(f"{day.day:02d}/{day.month:02d}/{day.year}")
    if day.day > 12 or day.day == day.month:
        assert digits == right
    else:
        assert digits is None  # it could be either


@given(st.permutations(["Ada Dalhope", "12 March 1874", "1,234 metres", "Łódź", "Bo"]), st.sampled_from(["; ", "\n"]))
@settings(deadline=None, max_examples=30)
def test_lists_in_any_order(items: list[str], mark: str) -> None:
    gold = "Ada Dalhope; 1874-03-12; 1234 m; Lodz; Bo"
    assert judge_exact(gold, mark.join(items)).correct
    assert not judge_exact(gold, mark.join(items[1:])).correct
    assert not judge_exact(gold, mark.join([*items, "Cy"])).correct
