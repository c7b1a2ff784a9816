"""What can be said of what: the kinds of entities and the relations between them, with their wordings.

In every wording ``{s}`` is the subject and ``{v}`` the value. Statements hold no punctuation of their own, so that they
survive whatever a parser does around it, and stand on the subject's page only.
"""

from __future__ import annotations

from typing import NamedTuple

LINK, DATE, NUMBER = "link", "date", "number"


class Relation(NamedTuple):
    """One functional relation: a subject has at most one value."""

    name: str
    value: str  # link, date or number
    label: str  # of the row in the infobox
    statements: tuple[str, ...]
    phrase: str  # the value as a noun phrase, for the middle of a question
    ask: str  # the value asked for
    query: str  # the right sub-query
    target: str = ""  # kind that a link leads to
    unit: str = ""  # of a number, in words
    short_unit: str = ""
    more: str = ""  # "is longer": which of two, by this number
    apart: str = ""  # how far two numbers lie apart, asked for {a} and {b}


def _link(
    name: str, target: str, label: str, statements: tuple[str, ...], phrase: str, ask: str, query: str
) -> Relation:
    return Relation(name, LINK, label, statements, phrase, ask, query, target)


def _date(name: str, label: str, statements: tuple[str, ...], event: str, ask: str, query: str) -> Relation:
    """``event`` is a noun phrase: "the launch of {s}"."""
    return Relation(name, DATE, label, statements, event, ask, query)


def _number(
    name: str,
    label: str,
    statements: tuple[str, ...],
    phrase: str,
    ask: str,
    query: str,
    unit: str = "",
    short_unit: str = "",
    more: str = "",
    apart: str = "",
) -> Relation:
    return Relation(name, NUMBER, label, statements, phrase, ask, query, "", unit, short_unit, more, apart)


RELATIONS: dict[str, tuple[Relation, ...]] = {
    "person": (
        _date(
            "born", "Born",
            ("{s} was born on {v}", "{s} came into the world on {v}"),
            "the birth of {s}", "On what date was {s} born?", "birth date of {s}",
        ),
        _link(
            "birthplace", "town", "Birthplace",
            ("{s} was born in {v}", "{s} came from a family of {v}", "The childhood home of {s} was in {v}"),
            "the birthplace of {s}", "In which town was {s} born?", "birthplace of {s}",
        ),
        _link(
            "teacher", "person", "Teacher",
            ("{s} was a pupil of {v}", "{v} was the teacher of {s}"),
            "the teacher of {s}", "Who was the teacher of {s}?", "teacher of {s}",
        ),
        _link(
            "school", "school", "Educated at",
            ("{s} studied at {v}", "{s} was educated at {v}"),
            "the school that {s} attended", "Which school did {s} attend?", "school attended by {s}",
        ),
        _date(
            "died", "Died",
            ("{s} died on {v}", "The death of {s} on {v} was widely noted"),
            "the death of {s}", "On what date did {s} die?", "death date of {s}",
        ),
    ),
    "town": (
        _link(
            "region", "region", "Region",
            ("{s} lies in the region of {v}", "{s} belongs to the region of {v}"),
            "the region in which {s} lies", "In which region does {s} lie?", "region of {s}",
        ),
        _link(
            "river", "river", "River",
            ("{v} flows through {s}", "{s} grew up on the banks of {v}"),
            "the river that flows through {s}", "Which river flows through {s}?", "river flowing through {s}",
        ),
        _number(
            "population", "Population",
            ("{s} has a population of {v}", "The last census of {s} counted {v} inhabitants"),
            "the population of {s}", "What is the population of {s}?", "population of {s}",
            more="has more inhabitants", apart="How many more inhabitants does the larger of {a} and {b} have?",
        ),
        _date(
            "charter", "Chartered",
            ("{s} received its charter on {v}", "The charter of {s} was sealed on {v}"),
            "the charter of {s}", "On what date did {s} receive its charter?", "charter of {s} date",
        ),
    ),
    "region": (
        _link(
            "capital", "town", "Capital",
            ("The capital of {s} is {v}", "{v} is the seat of government of {s}"),
            "the capital of {s}", "What is the capital of {s}?", "capital of {s}",
        ),
        _link(
            "summit", "mountain", "Highest point",
            ("The highest mountain of {s} is {v}", "{v} is the highest point of {s}"),
            "the highest mountain of {s}", "What is the highest mountain of {s}?", "highest mountain of {s}",
        ),
        _number(
            "area", "Area",
            ("{s} covers {v}", "{s} has an area of {v}"),
            "the area of {s}", "How many square kilometres does {s} cover?", "area of {s}",
            "square kilometres", "km²", "is larger", "How many square kilometres larger is the larger of {a} and {b}?",
        ),
        _date(
            "formed", "Formed",
            ("{s} was formed on {v}", "{s} became a region of its own on {v}"),
            "the formation of {s}", "On what date was {s} formed?", "formation of {s} date",
        ),
    ),
    "river": (
        _link(
            "source", "mountain", "Source",
            ("{s} rises on {v}", "The springs of {s} lie on the slopes of {v}"),
            "the mountain on which {s} rises", "On which mountain does {s} rise?", "source of {s}",
        ),
        _number(
            "length", "Length",
            ("{s} is {v} long", "{s} runs for {v} from source to mouth"),
            "the length of {s}", "How many kilometres long is {s}?", "length of {s}",
            "kilometres", "km", "is longer", "How many kilometres longer is the longer of {a} and {b}?",
        ),
        _date(
            "surveyed", "Surveyed",
            ("{s} was first surveyed on {v}", "The survey of {s} was completed on {v}"),
            "the first survey of {s}", "On what date was {s} first surveyed?", "first survey of {s}",
        ),
    ),
    "mountain": (
        _link(
            "climber", "person", "First climbed by",
            ("{v} was the first to climb {s}", "The first person on the summit of {s} was {v}"),
            "the first climber of {s}", "Who was the first to climb {s}?", "first climber of {s}",
        ),
        _date(
            "climbed", "First climbed",
            ("{s} was first climbed on {v}", "The first ascent of {s} took place on {v}"),
            "the first ascent of {s}", "On what date was {s} first climbed?", "first ascent of {s}",
        ),
        _number(
            "height", "Height",
            ("{s} is {v} high", "{s} rises to {v} above the sea"),
            "the height of {s}", "How many metres high is {s}?", "height of {s}",
            "metres", "m", "is higher", "How many metres higher is the higher of {a} and {b}?",
        ),
    ),
    "school": (
        _link(
            "founder", "person", "Founder",
            ("{s} was founded by {v}", "{v} was the founder of {s}"),
            "the founder of {s}", "Who founded {s}?", "founder of {s}",
        ),
        _link(
            "town", "town", "Town",
            ("{s} stands in {v}", "{s} has its buildings in {v}"),
            "the town in which {s} stands", "In which town does {s} stand?", "town of {s}",
        ),
        _date(
            "opened", "Opened",
            ("{s} opened on {v}", "{s} took in its first pupils on {v}"),
            "the opening of {s}", "On what date did {s} open?", "opening date of {s}",
        ),
        _number(
            "pupils", "Pupils",
            ("{s} has {v}", "{s} teaches {v}"),
            "the number of pupils of {s}", "How many pupils does {s} have?", "number of pupils of {s}",
            "pupils", "", "has more pupils", "How many more pupils does the larger of {a} and {b} have?",
        ),
    ),
    "company": (
        _link(
            "founder", "person", "Founder",
            ("{s} was founded by {v}", "{v} was the founder of {s}"),
            "the founder of {s}", "Who founded {s}?", "founder of {s}",
        ),
        _link(
            "seat", "town", "Headquarters",
            ("{s} has its seat in {v}", "The head office of {s} is in {v}"),
            "the town in which {s} has its seat", "In which town does {s} have its seat?", "seat of {s}",
        ),
        _date(
            "founded", "Founded",
            ("{s} was founded on {v}", "{s} was entered in the register of firms on {v}"),
            "the foundation of {s}", "On what date was {s} founded?", "foundation date of {s}",
        ),
        _number(
            "employees", "Employees",
            ("{s} employs {v}", "{s} has a staff of {v}"),
            "the number of people whom {s} employs", "How many people does {s} employ?", "employees of {s}",
            "people", "", "employs more people", "How many more people does the larger of {a} and {b} employ?",
        ),
    ),
    "bridge": (
        _link(
            "river", "river", "Crosses",
            ("{s} crosses {v}", "{s} spans {v}"),
            "the river that {s} crosses", "Which river does {s} cross?", "river crossed by {s}",
        ),
        _link(
            "architect", "person", "Architect",
            ("{s} was designed by {v}", "{v} drew the plans of {s}"),
            "the architect of {s}", "Who designed {s}?", "architect of {s}",
        ),
        _date(
            "opened", "Opened",
            ("{s} was opened on {v}", "{s} carried its first traffic on {v}"),
            "the opening of {s}", "On what date was {s} opened?", "opening date of {s}",
        ),
        _number(
            "length", "Length",
            ("{s} is {v} long", "{s} measures {v} from end to end"),
            "the length of {s}", "How many metres long is {s}?", "length of {s}",
            "metres", "m", "is longer", "How many metres longer is the longer of {a} and {b}?",
        ),
    ),
    "ship": (
        _link(
            "owner", "company", "Owner",
            ("{s} belonged to {v}", "The owner of {s} was {v}"),
            "the owner of {s}", "Which firm owned {s}?", "owner of {s}",
        ),
        _link(
            "captain", "person", "First captain",
            ("{v} was the first captain of {s}", "The first captain of {s} was {v}"),
            "the first captain of {s}", "Who was the first captain of {s}?", "first captain of {s}",
        ),
        _date(
            "launched", "Launched",
            ("{s} was launched on {v}", "{s} first touched the water on {v}"),
            "the launch of {s}", "On what date was {s} launched?", "launch date of {s}",
        ),
        _number(
            "tonnage", "Tonnage",
            ("{s} measured {v}", "{s} was registered at {v}"),
            "the tonnage of {s}", "How many tons did {s} measure?", "tonnage of {s}",
            "tons", "t", "was larger by tonnage", "How many tons larger was the larger of {a} and {b}?",
        ),
    ),
    "novel": (
        _link(
            "author", "person", "Author",
            ("{s} was written by {v}", "{s} is the work of {v}", "{v} is the author of {s}"),
            "the author of {s}", "Who wrote {s}?", "author of {s}",
        ),
        _link(
            "setting", "town", "Set in",
            ("{s} is set in {v}", "The story of {s} takes place in {v}"),
            "the town in which {s} is set", "In which town is {s} set?", "setting of {s}",
        ),
        _date(
            "published", "Published",
            ("{s} was published on {v}", "{s} first appeared on {v}"),
            "the publication of {s}", "On what date was {s} published?", "publication date of {s}",
        ),
        _number(
            "length", "Pages",
            ("{s} runs to {v} in its first edition", "The first edition of {s} has {v}"),
            "the number of pages of {s}", "How many pages does the first edition of {s} have?", "pages of {s}",
            "pages", "", "has more pages", "How many more pages does the longer of {a} and {b} have?",
        ),
    ),
}  # fmt: skip

SHARES: dict[str, float] = {
    "person": 0.30, "town": 0.18, "company": 0.13, "river": 0.07, "novel": 0.07, "mountain": 0.06, "school": 0.06,
    "bridge": 0.06, "ship": 0.06, "region": 0.01,
}  # fmt: skip
"""What part of a world's pages each kind has."""

ARTICLE = frozenset({"river", "ship", "bridge"})
"""Kinds whose names take "the" in running text."""
