"""Multi-hop questions about a world: every hop's fact stands on one page, and no two hops share a page."""

from __future__ import annotations

from collections.abc import Callable

from relaymark.data.questions import Hop, Question
from relaymark.data.world.draw import Draws, key_of
from relaymark.data.world.entities import Date, Entity, Fact, World
from relaymark.data.world.relations import DATE, LINK, NUMBER
from relaymark.errors import ConfigError

_PATIENCE = 500  # fruitless draws in a row before the world counts as exhausted


class _Draft:
    """A question while it is being put together."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.path: list[tuple[Entity, Fact]] = []

    def visited(self, entity: Entity) -> bool:
        """True when a hop stands on that page already."""
        return any(entity.number == other.number for other, _ in self.path)

    def add(self, entity: Entity, fact: Fact) -> None:
        """Adds a hop."""
        self.path.append((entity, fact))

    def finish(self, text: str, answer: str, kind: str, label: str) -> Question:
        """The question; its id is given later."""
        hops = [self._hop(entity, fact) for entity, fact in self.path]
        return Question(
            id="",
            text=text,
            answer=answer,
            kind=kind,  # pyright: ignore[reportArgumentType] - one of the three literals, by every caller
            gold_urls=[hop.url for hop in hops],
            hops=hops,
            reasoning=[label, f"{len(hops)} hops"],
        )

    def _hop(self, entity: Entity, fact: Fact) -> Hop:
        return Hop(
            subject=entity.name,
            relation=fact.relation.name,
            value=self.world.value_text(fact),
            url=entity.url,
            page=entity.file,
            query=fact.relation.query.format(s=entity.name),
            statements=self.world.statements(entity, fact),
        )


def questions(world: World, count: int, *, seed: int = 0) -> list[Question]:
    """``count`` different questions about a world, of two to four hops; the same for the same seed.

    Raises:
        ConfigError: The world is too small for so many, or none are asked for.
    """
    if count < 1:
        raise ConfigError(f"at least 1 question must be asked for, not {count}", where="questions")
    draws = Draws(key_of(f"relaymark-questions-1/{world.key}/{seed}"), 0, 1)
    asked: list[Question] = []
    texts: set[str] = set()
    fruitless = 0
    while len(asked) < count:
        fruitless += 1
        if fruitless > _PATIENCE:
            raise ConfigError(
                f"a world of {world.pages} pages gave only {len(asked)} different questions, not {count}",
                where="questions",
                mend="ask for fewer, or make the world larger",
            )
        shape = draws.one(_SHAPES)
        question = shape(world, draws)
        if question is not None and question.text not in texts:
            fruitless = 0
            texts.add(question.text)
            asked.append(_numbered(question, len(asked)))
    return asked


def _numbered(question: Question, number: int) -> Question:
    return Question(
        id=f"q{number:05d}",
        text=question.text,
        answer=question.answer,
        kind=question.kind,
        gold_urls=question.gold_urls,
        hops=question.hops,
        reasoning=question.reasoning,
    )


def _start(world: World, draws: Draws) -> Entity:
    """People and towns are most of the pages, and chains from them are alike: every kind starts as often."""
    kind = draws.one(tuple(world.counts))
    return world.entity(world.first(kind) + draws.below(world.counts[kind]))


def _walk(draft: _Draft, draws: Draws, entity: Entity, phrase: str, links: int) -> tuple[Entity, str] | None:
    """Follows ``links`` links from an entity; returns where it led and how that is called in a question."""
    for _ in range(links):
        ways = [fact for fact in draft.world.facts(entity) if fact.relation.value == LINK]
        if not ways:
            return None
        fact = draws.one(ways)
        draft.add(entity, fact)
        phrase = fact.relation.phrase.format(s=phrase)
        assert isinstance(fact.value, int)  # noqa: S101 - a link's value is a number
        entity = draft.world.entity(fact.value)
        if draft.visited(entity):
            return None
    return entity, phrase


def _chain(world: World, draws: Draws) -> Question | None:
    """One fact after another, the last of which is asked for."""
    draft = _Draft(world)
    start = _start(world, draws)
    reached = _walk(draft, draws, start, start.ref, draws.between(1, 3))
    if reached is None:
        return None
    entity, phrase = reached
    fact = draws.one(world.facts(entity))
    draft.add(entity, fact)
    text = fact.relation.ask.format(s=phrase)
    if isinstance(fact.value, Date):
        if draws.below(2):
            text = f"What was the year of {fact.relation.phrase.format(s=phrase)}?"
            return draft.finish(text, str(fact.value.year), "number", "chain")
        return draft.finish(text, str(fact.value), "date", "chain")
    if fact.relation.value == LINK:
        answer = world.entity(fact.value)
        # "In which region does the capital of Zelony lie?" answers itself.
        return None if draft.visited(answer) else draft.finish(text, answer.name, "name", "chain")
    return draft.finish(text, f"{fact.value:,}", "number", "chain")


def _pair(world: World, draws: Draws, value: str) -> tuple[_Draft, list[tuple[Entity, str, Fact]]] | None:
    """Two entities of one kind with the same relation, each named or reached over the same kind of link."""
    draft = _Draft(world)
    start = _start(world, draws)
    twin = world.entity(world.first(start.kind) + draws.below(world.counts[start.kind]))
    if twin.number == start.number:
        return None
    ways = [fact.relation.name for fact in world.facts(start) if fact.relation.value == LINK]
    way = draws.one([None, *ways])
    ends: list[tuple[Entity, str]] = []
    for entity in (start, twin):
        phrase = entity.ref
        end = entity
        if way is not None:
            fact = next((fact for fact in world.facts(entity) if fact.relation.name == way), None)
            if fact is None or not isinstance(fact.value, int):
                return None
            draft.add(entity, fact)
            phrase = fact.relation.phrase.format(s=phrase)
            end = world.entity(fact.value)
        ends.append((end, phrase))
    wanted = [fact.relation.name for fact in world.facts(ends[0][0]) if fact.relation.value == value]
    if not wanted:
        return None
    relation = draws.one(wanted)
    sides: list[tuple[Entity, str, Fact]] = []
    for end, phrase in ends:
        fact = next((fact for fact in world.facts(end) if fact.relation.name == relation), None)
        if fact is None or draft.visited(end):
            return None
        draft.add(end, fact)
        sides.append((end, phrase, fact))
    return None if sides[0][2].value == sides[1][2].value else (draft, sides)


def _comparison(world: World, draws: Draws) -> Question | None:
    """Which of two has the larger number."""
    pair = _pair(world, draws, NUMBER)
    if pair is None:
        return None
    draft, ((one, phrase, fact), (other, other_phrase, other_fact)) = pair
    larger = one if _number(fact) > _number(other_fact) else other
    return draft.finish(f"Which {fact.relation.more}: {phrase} or {other_phrase}?", larger.name, "name", "comparison")


def _difference(world: World, draws: Draws) -> Question | None:
    """How far two numbers, or the years of two events, lie apart."""
    pair = _pair(world, draws, draws.one((NUMBER, DATE)))
    if pair is None:
        return None
    draft, ((_, phrase, fact), (_, other_phrase, other_fact)) = pair
    if isinstance(fact.value, Date) and isinstance(other_fact.value, Date):
        apart = abs(fact.value.year - other_fact.value.year)
        event = fact.relation.phrase
        text = f"By how many do the years of {event.format(s=phrase)} and of {event.format(s=other_phrase)} differ?"
    else:
        apart = abs(_number(fact) - _number(other_fact))
        text = fact.relation.apart.format(a=phrase, b=other_phrase)
    return draft.finish(text, f"{apart:,}", "number", "difference")


def _number(fact: Fact) -> int:
    return fact.value if isinstance(fact.value, int) else fact.value.year


_SHAPES: tuple[Callable[[World, Draws], Question | None], ...] = (
    _chain, _chain, _chain, _chain, _chain, _comparison, _difference,
)  # fmt: skip
