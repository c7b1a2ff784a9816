"""The world itself: any entity by its number, computed when it is asked for and never stored."""

from __future__ import annotations

from bisect import bisect_right
from calendar import monthrange
from collections.abc import Callable
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple
from urllib.parse import quote

from relaymark.data.world.draw import Draws, Shuffle, key_of, mix
from relaymark.data.world.names import PATTERNS
from relaymark.data.world.relations import ARTICLE, DATE, LINK, RELATIONS, SHARES, Relation
from relaymark.errors import ConfigError

LEAST, MOST = 30, 100_000
SITE = "https://world.example/wiki/"
_SITE_FILE = SITE.partition("://")[2].replace("/", "_").replace(":", "_")
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
          "November", "December")  # fmt: skip
_FIRST_BIRTH, _BIRTH_YEARS = 1700, 200
_KINDS = tuple(RELATIONS)


class Date(NamedTuple):
    """A day; compares by time."""

    year: int
    month: int
    day: int

    def __str__(self) -> str:
        return f"{self.day} {MONTHS[self.month - 1]} {self.year}"

    @property
    def iso(self) -> str:
        """As ISO 8601 has it."""
        return f"{self.year:04d}-{self.month:02d}-{self.day:02d}"


class Fact(NamedTuple):
    """One fact about an entity: its value is another entity's number, a day, or a whole number."""

    relation: Relation
    value: int | Date


class Entity(NamedTuple):
    """Somebody or something that has a page."""

    number: int  # in the world, from 0
    kind: str
    rank: int  # among those of its kind, from 0
    name: str
    url: str  # where the page says it came from
    file: str  # the page's: the URL without its scheme, ``/`` and ``:`` written ``_``, cut to 200 characters

    @property
    def ref(self) -> str:
        """The name as running text has it."""
        return f"the {self.name}" if self.kind in ARTICLE else self.name


class World:
    """An encyclopedia of ``pages`` pages. The same (seed, pages) is the same world everywhere.

    Raises:
        ConfigError: Fewer than 30 or more than 100,000 pages.
    """

    def __init__(self, seed: int, pages: int) -> None:
        if not LEAST <= pages <= MOST:
            raise ConfigError(f"a world has {LEAST} to {MOST:,} pages, not {pages:,}", where="pages")
        self.seed = seed
        self.pages = pages
        self.key = key_of(f"relaymark-world-1/{seed}/{pages}")
        counts = {kind: max(2, int(pages * share + 1e-9)) for kind, share in SHARES.items()}
        counts["person"] += pages - sum(counts.values())
        self.counts = {kind: counts[kind] for kind in _KINDS}
        self._ends = list(accumulate(self.counts.values()))
        self._starts = {kind: end - self.counts[kind] for kind, end in zip(_KINDS, self._ends, strict=True)}
        self._shuffles = {
            kind: Shuffle(pattern.capacity, mix(self.key, place, 1))
            for place, (kind, pattern) in enumerate(PATTERNS.items())
        }
        self.entity = lru_cache(maxsize=4096)(self._entity)
        """The entity with this number, from 0 to pages − 1. Kept for a while: neighbours name each other."""
        self._makers: dict[str, Callable[[int], dict[str, int | Date]]] = {
            "person": self._person,
            "town": self._town,
            "region": self._region,
            "river": self._river,
            "mountain": self._mountain,
            "school": self._school,
            "company": self._company,
            "bridge": self._bridge,
            "ship": self._ship,
            "novel": self._novel,
        }

    def __len__(self) -> int:
        return self.pages

    def first(self, kind: str) -> int:
        """Number of the first entity of a kind; the others follow it."""
        return self._starts[kind]

    def _entity(self, number: int) -> Entity:
        if not 0 <= number < self.pages:
            raise IndexError(number)
        kind = _KINDS[bisect_right(self._ends, number)]
        rank = number - self._starts[kind]
        name = PATTERNS[kind].name_at(self._shuffles[kind](rank))
        title = quote(name.replace(" ", "_"), safe="")
        url = SITE + title
        file = (_SITE_FILE + title)[:200] + ".html"
        return Entity(number, kind, rank, name, url, file)

    def facts(self, entity: Entity) -> list[Fact]:
        """What is known of an entity, in the order of its kind's relations."""
        known = self._makers[entity.kind](entity.rank)
        facts: list[Fact] = []
        for relation in RELATIONS[entity.kind]:
            value = known.get(relation.name)
            if value is not None:
                if relation.value == LINK and isinstance(value, int):
                    value = self._starts[relation.target] + value
                facts.append(Fact(relation, value))
        return facts

    def value_text(self, fact: Fact) -> str:
        """A fact's value as running text has it."""
        relation, value = fact
        if isinstance(value, Date):
            return str(value)
        if relation.value == LINK:
            return self.entity(value).ref
        return f"{value:,} {relation.unit}".rstrip()

    def statements(self, entity: Entity, fact: Fact) -> list[str]:
        """Every wording in which the entity's page states the fact."""
        value = self.value_text(fact)
        return [capital(pattern.format(s=entity.ref, v=value)) for pattern in fact.relation.statements]

    def draws(self, entity: Entity, salt: int) -> Draws:
        """A stream of draws that belongs to the entity and ``salt`` (from 16 up; those below are the facts')."""
        return Draws(self.key, entity.number, salt)

    # -- the facts by kind: ranks in, ranks out ---------------------------------------------------------------------

    def _draw(self, kind: str, rank: int, salt: int, n: int) -> int:
        return mix(self.key, self._starts[kind] + rank, 100 + salt) % n

    def _day(self, kind: str, rank: int, salt: int, year: int) -> Date:
        month = 1 + self._draw(kind, rank, 40 + salt, 12)
        return Date(year, month, 1 + self._draw(kind, rank, 60 + salt, monthrange(year, month)[1]))

    def _birth_year(self, rank: int) -> int:
        """People are numbered by age, so that a teacher older than the pupil can be computed."""
        return _FIRST_BIRTH + rank * _BIRTH_YEARS // self.counts["person"]

    def _born_about(self, year: int, spread: int) -> int:
        """Rank of a person born about that year."""
        people = self.counts["person"]
        place = (year - _FIRST_BIRTH) * people // _BIRTH_YEARS + spread % max(1, people // _BIRTH_YEARS)
        return min(max(place, 0), people - 1)

    def _person(self, rank: int) -> dict[str, int | Date]:
        year = self._birth_year(rank)
        known: dict[str, int | Date] = {
            "born": self._day("person", rank, 0, year),
            "birthplace": self._draw("person", rank, 0, self.counts["town"]),
            "died": self._day("person", rank, 1, year + 46 + self._draw("person", rank, 1, 45)),
        }
        older = rank - max(1, self.counts["person"] * (15 + self._draw("person", rank, 2, 25)) // _BIRTH_YEARS)
        if older >= 0:
            known["teacher"] = older
        school = self._draw("person", rank, 3, self.counts["school"])
        if self._school_year(school) <= year + 12:
            known["school"] = school
        return known

    def _town(self, rank: int) -> dict[str, int | Date]:
        size = self._draw("town", rank, 0, 5)
        return {
            "region": rank % self.counts["region"],
            "river": self._town_river(rank),
            "population": 900 + self._draw("town", rank, 1, 9_000) * 4**size,
            "charter": self._day("town", rank, 0, 1120 + self._draw("town", rank, 2, 560)),
        }

    def _town_river(self, rank: int) -> int:
        return self._draw("town", rank, 3, self.counts["river"])

    def _region(self, rank: int) -> dict[str, int | Date]:
        # Towns and mountains are dealt to regions in turn: the first round gives the capitals and the highest peaks.
        known: dict[str, int | Date] = {
            "capital": rank,
            "area": 800 + self._draw("region", rank, 0, 60_000),
            "formed": self._day("region", rank, 0, 1780 + self._draw("region", rank, 1, 180)),
        }
        if rank < self.counts["mountain"]:
            known["summit"] = rank
        return known

    def _river(self, rank: int) -> dict[str, int | Date]:
        return {
            "source": self._draw("river", rank, 0, self.counts["mountain"]),
            "length": 21 + self._draw("river", rank, 1, 1_400),
            "surveyed": self._day("river", rank, 0, 1740 + self._draw("river", rank, 2, 170)),
        }

    def _mountain(self, rank: int) -> dict[str, int | Date]:
        year = 1735 + self._draw("mountain", rank, 0, 190)
        highest = 2_000 if rank < self.counts["region"] else 0
        return {
            "climber": self._born_about(year - 31, self._draw("mountain", rank, 1, 1 << 20)),
            "climbed": self._day("mountain", rank, 0, year),
            "height": 640 + highest + self._draw("mountain", rank, 2, 2_000),
        }

    def _school_founder(self, rank: int) -> int:
        # Among the oldest third, so that most people find a school that was there when they were young.
        return self._draw("school", rank, 0, max(1, self.counts["person"] // 3))

    def _school_year(self, rank: int) -> int:
        return self._birth_year(self._school_founder(rank)) + 27 + self._draw("school", rank, 1, 16)

    def _school(self, rank: int) -> dict[str, int | Date]:
        return {
            "founder": self._school_founder(rank),
            "town": self._draw("school", rank, 2, self.counts["town"]),
            "opened": self._day("school", rank, 0, self._school_year(rank)),
            "pupils": 64 + self._draw("school", rank, 3, 2_300),
        }

    def _company_founder(self, rank: int) -> int:
        return self._draw("company", rank, 0, self.counts["person"])

    def _company_year(self, rank: int) -> int:
        return self._birth_year(self._company_founder(rank)) + 22 + self._draw("company", rank, 1, 19)

    def _company(self, rank: int) -> dict[str, int | Date]:
        return {
            "founder": self._company_founder(rank),
            "seat": self._draw("company", rank, 2, self.counts["town"]),
            "founded": self._day("company", rank, 0, self._company_year(rank)),
            "employees": 12 + self._draw("company", rank, 3, 900) * 6 ** self._draw("company", rank, 4, 3),
        }

    def _bridge(self, rank: int) -> dict[str, int | Date]:
        year = 1742 + self._draw("bridge", rank, 0, 190)
        return {
            "river": self._town_river(self._draw("bridge", rank, 1, self.counts["town"])),
            "architect": self._born_about(year - 40, self._draw("bridge", rank, 2, 1 << 20)),
            "opened": self._day("bridge", rank, 0, year),
            "length": 24 + self._draw("bridge", rank, 3, 1_500),
        }

    def _ship(self, rank: int) -> dict[str, int | Date]:
        owner = self._draw("ship", rank, 0, self.counts["company"])
        year = self._company_year(owner) + 2 + self._draw("ship", rank, 1, 24)
        return {
            "owner": owner,
            "captain": self._born_about(year - 38, self._draw("ship", rank, 2, 1 << 20)),
            "launched": self._day("ship", rank, 0, year),
            "tonnage": 180 + self._draw("ship", rank, 3, 11_000),
        }

    def _novel(self, rank: int) -> dict[str, int | Date]:
        author = self._draw("novel", rank, 0, self.counts["person"])
        year = self._birth_year(author) + 23 + self._draw("novel", rank, 1, 23)
        return {
            "author": author,
            "setting": self._draw("novel", rank, 2, self.counts["town"]),
            "published": self._day("novel", rank, 0, year),
            "length": 90 + self._draw("novel", rank, 3, 800),
        }


def capital(text: str) -> str:
    """The text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


__all__ = ["DATE", "Date", "Entity", "Fact", "World", "capital"]
