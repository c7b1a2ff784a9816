"""A page's content before it is a page: infobox, lead and sections, drawn for one entity."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from relaymark.data.world.draw import Draws
from relaymark.data.world.entities import Date, Entity, Fact, World, capital
from relaymark.data.world.prose import FACTS_TITLE, IT, SECTIONS, VERB, WHAT
from relaymark.data.world.relations import ARTICLE, LINK

Link = Callable[[Entity], str]
"""Writes a link to an entity's page; the name alone, without "the"."""


class Article(NamedTuple):
    """What a page says. Every text is in the form that ``link`` and ``plain`` gave it."""

    rows: list[tuple[str, str]]  # of the infobox
    lead: list[str]
    sections: list[tuple[str, list[str]]]
    notes: list[str]  # the sources, which a reader of the text never sees
    related: list[str]  # links of the navigation box
    mistaken: str  # a link: what the page is not to be confused with


def compose(world: World, entity: Entity, link: Link, plain: Callable[[str], str]) -> Article:
    """Draws the content of an entity's page.

    Args:
        world: Where the entity is from.
        entity: Whose page.
        link: Writes links.
        plain: Writes names that are no links (escapes them, for HTML).
    """
    draws = world.draws(entity, 16)
    facts = world.facts(entity)
    name = plain(entity.ref)
    it = IT.get(entity.kind, "")

    def state(fact: Fact, pattern: str) -> str:
        return capital(pattern.format(s=name, v=_running(world, fact, link))) + "."

    definition = f"{capital(name)} {VERB.get(entity.kind, 'is')} {draws.one(WHAT[entity.kind])}."
    wordings = [draws.below(len(fact.relation.statements)) for fact in facts]
    lead = [definition]
    again: list[str] = []
    for fact, first in zip(facts, wordings, strict=True):
        patterns = fact.relation.statements
        lead.append(state(fact, patterns[first]))
        again.append(state(fact, patterns[(first + 1) % len(patterns)]))

    def some(*kinds: str) -> str:
        """A link to some entity of one of these kinds, for the company; never to the page itself."""
        kind = draws.one(kinds)
        rank = draws.below(world.counts[kind])
        if kind == entity.kind and rank == entity.rank:
            rank = (rank + 1) % world.counts[kind]
        return link(world.entity(world.first(kind) + rank))

    def fill(sentence: str) -> str:
        if "{" not in sentence:
            return sentence
        town = some("town") if "{town}" in sentence else ""
        house = some("school", "company") if "{house}" in sentence else ""
        year, number = 1761 + draws.below(229), 11 + draws.below(980)
        return capital(sentence.format(it=it, n=number, year=year, town=town, house=house))

    # All facts stand in the lead, which no window of 768 characters cuts, and some again further down, one a section:
    # a passage that names the subject over and over, but lacks a fact, would hide the one that has it.
    sections: list[tuple[str, list[str]]] = []
    for section in draws.some(SECTIONS[entity.kind], draws.one((0, 1, 2, 2, 3, 4))):
        sentences = [fill(sentence) for sentence in draws.some(section.sentences, draws.between(2, 6))]
        sections.append((section.title, sentences))
    if sections:
        sections[0] = (draws.one(FACTS_TITLE[entity.kind]), sections[0][1])
    for (_, sentences), statement in zip(sections, draws.some(again, len(sections)), strict=False):
        # Never at a section's end: the last passage of a page may be a few words long.
        sentences.insert(draws.below(len(sentences)), statement)
    notes = [_note(draws) for _ in range(draws.between(2, 4))]
    related = [link(other) for other in _neighbours(world, entity, 8)]
    return Article(
        rows=[(fact.relation.label, _boxed(world, fact, link)) for fact in facts],
        lead=lead,
        sections=sections,
        notes=notes,
        related=related,
        mistaken=related[draws.below(len(related))],
    )


def _running(world: World, fact: Fact, link: Link) -> str:
    if fact.relation.value == LINK and isinstance(fact.value, int):
        target = world.entity(fact.value)
        return ("the " if target.kind in ARTICLE else "") + link(target)
    return world.value_text(fact)


def _boxed(world: World, fact: Fact, link: Link) -> str:
    """A value as tables have it: ISO days, digits without commas, short units."""
    relation, value = fact
    if isinstance(value, Date):
        return value.iso
    if relation.value == LINK:
        return link(world.entity(value))
    return f"{value} {relation.short_unit}".rstrip()


def _neighbours(world: World, entity: Entity, count: int) -> list[Entity]:
    """Some others of the same kind."""
    size, first = world.counts[entity.kind], world.first(entity.kind)
    return [world.entity(first + (entity.rank + step) % size) for step in range(1, min(count, size - 1) + 1)]


_PRESSES = ("Ferry Lane Press", "The County Printer", "Hollow Oak Books", "Harbour Street Press", "Lamp Library")
_TOPICS = (
    "Notes from the Archive",
    "A Short Chronicle",
    "Lives and Places",
    "The Yearly Almanac",
    "Papers of the Society",
)


def _note(draws: Draws) -> str:
    return f"{draws.one(_TOPICS)}, vol. {draws.between(1, 40)}. {draws.one(_PRESSES)}, {draws.between(1850, 1999)}."
