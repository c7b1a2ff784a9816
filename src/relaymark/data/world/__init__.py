"""The generated world: a seeded encyclopedia of any size, with multi-hop questions whose answers are known.

Nothing is stored: an entity, its facts and its page are computed from (seed, pages, number), with integer arithmetic
alone, so that the same world comes out on every machine and a page costs the same whichever was asked for before.
"""

from __future__ import annotations

from relaymark.data.world.asking import questions
from relaymark.data.world.entities import Entity, World
from relaymark.data.world.page import page_html, page_text
from relaymark.data.world.writing import (
    MAPPING_FILE,
    PAGES,
    QUESTIONS_FILE,
    TSV_FILE,
    WorldRecord,
    read_world,
    write_world,
)


def world(seed: int, pages: int) -> World:
    """The world of that seed and size.

    >>> encyclopedia = world(0, 300)
    >>> page_text(encyclopedia, encyclopedia.entity(0)).startswith(encyclopedia.entity(0).name)
    True

    Raises:
        ConfigError: Fewer than 30 or more than 100,000 pages.
    """
    return World(seed, pages)


__all__ = [
    "MAPPING_FILE",
    "PAGES",
    "QUESTIONS_FILE",
    "TSV_FILE",
    "Entity",
    "World",
    "WorldRecord",
    "page_html",
    "page_text",
    "questions",
    "read_world",
    "world",
    "write_world",
]
