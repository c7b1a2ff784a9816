"""The world can be searched: a plain static embedding finds the passage that holds a hop's fact among the first."""

from __future__ import annotations

import hashlib
import re

import numpy as np
import pytest
from numpy.typing import NDArray

from relaymark.data.world import page_text, questions, world

DIMENSIONS = 512
_vectors: dict[str, NDArray[np.float32]] = {}


def vector_of(word: str) -> NDArray[np.float32]:
    """A word's vector: random, but always the same."""
    if word not in _vectors:
        seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "little")
        _vectors[word] = np.random.default_rng(seed).standard_normal(DIMENSIONS).astype(np.float32)
    return _vectors[word]


def embed(text: str) -> NDArray[np.float32]:
    """The mean of the words' vectors, of length one: what a static embedder does, without having learned anything."""
    mean = np.mean([vector_of(word) for word in re.findall(r"\w+", text.lower())], axis=0)
    return mean / np.linalg.norm(mean)


@pytest.mark.parametrize("seed", [0, 1])
def test_sub_queries_find_their_facts(seed: int) -> None:
    encyclopedia = world(seed, 300)
    passages: list[str] = []
    sources: list[str] = []
    for number in range(300):
        entity = encyclopedia.entity(number)
        text = page_text(encyclopedia, entity)
        for start in range(0, len(text), 736):
            if re.search(r"\w", text[start : start + 768]):
                passages.append(text[start : start + 768])
                sources.append(entity.url)
    rows = np.stack([embed(passage) for passage in passages])
    ranks: list[int] = []
    for question in questions(encyclopedia, 60, seed=seed):
        for hop in question.hops:
            order = np.argsort(-(rows @ embed(hop.query)))
            place = next(place for place, row in enumerate(order) if sources[row] == hop.url)
            # The first passage of the gold page that is met is the one that counts: it must hold the fact.
            assert any(statement in passages[order[place]] for statement in hop.statements)
            ranks.append(place)
    assert np.mean(np.array(ranks) == 0) >= 0.95
    assert np.mean(np.array(ranks) < 3) >= 0.97
    assert max(ranks) < 10
