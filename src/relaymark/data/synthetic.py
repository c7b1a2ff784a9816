"""Generated prompts of a chosen length, each made when it is asked for.

Lengths are in *approximate* tokens: a prompt is sentences of common English words, of which a byte-pair tokenizer
makes one token each, and one of the full stop (SmolLM2's has every one of these words). The real number is the
server's to say: read it from ``usage``. A prompt begins with words that spell its number in a scrambled order, so
that no two prompts share more than a few first words and a prefix cache isn't flattered, unless a shared prefix is
asked for.

Only ``random.Random.random`` is used, whose sequence for a seed Python promises to keep.
"""

from __future__ import annotations

import hashlib
import math
from random import Random

import msgspec

from relaymark.bench.spec import LengthSpec, PromptSource
from relaymark.data.prompt import Prompt
from relaymark.data.prompts import PromptSet
from relaymark.errors import ConfigError

SENTENCE = 10
"""Words in a sentence."""

TOKENS_PER_WORD = 1.1
"""Ten words and a full stop."""

ENDLESS = 2**32
"""How many different prompts there are when no number is asked for."""

_TEXT = """
time year people way day man thing woman life child world school state family student group country
problem hand part place case week company system program question work government number night point
home water room mother area money story fact month lot right study book eye job word business issue side
kind head house service friend father power hour game line end member law car city name president team
minute idea body back parent face others level office door health person art war history party result
change morning reason research girl guy moment air teacher force education foot boy age policy music
market sense nation plan college interest death experience effect use class control field development
role effort rate heart drug show leader light voice wife police mind price report decision son view
relationship town road arm difference value building action season society tax director position player
record paper space ground form event matter center couple site project star table court oil cost figure
street image phone data picture practice piece land product doctor wall patient worker news test movie
north love step term south nature bank film choice cause century evidence window culture chance energy
period course summer board plant type source fire future rule series animal ball bird boat bottle box
bread bridge brother camera card chair church clock cloud coat coffee corner dinner dog dream dress
earth egg engine farm fish floor flower forest garden glass gold grass hair hall hill horse hotel island
key kitchen lake letter machine map meal milk mountain
"""
_VOCABULARY = tuple(_TEXT.split())  # 256 different words, so that a word spells eight bits


class SyntheticPrompts(PromptSet):
    """Prompts from a recipe: any of them is made in the same way whichever were made before."""

    def __init__(self, source: PromptSource, seed: int) -> None:
        if source.isl is None:
            raise ConfigError("synthetic prompts need a length", where="prompts.synthetic", mend="add isl: 512")
        self._isl = source.isl
        self._osl = source.osl
        self._count = source.unique or ENDLESS
        recipe = msgspec.json.encode(("relaymark-synthetic-1", seed, source, _VOCABULARY))
        self._digest = hashlib.sha256(recipe)
        # A key that doesn't hang on the number of prompts: asking for more keeps those there were.
        key = hashlib.sha256(msgspec.json.encode((seed, msgspec.structs.replace(source, unique=None))))
        self._key = int.from_bytes(key.digest()[:8], "little")
        self._prefix = _sentences(Random(self._key), [], _words(source.shared_prefix))  # noqa: S311

    def __len__(self) -> int:
        return self._count

    def prompt_at(self, index: int) -> Prompt:
        """Return the prompt at ``index``."""
        scrambled = _scramble(index, self._key)
        random = Random((self._key << 32) | index)  # noqa: S311  (not for secrets)
        count = max(1, _words(_draw(random, self._isl)) - len(self._prefix.split()))
        osl = None if self._osl is None else _draw(random, self._osl)
        first = [_VOCABULARY[(scrambled >> shift) & 0xFF] for shift in (0, 8, 16, 24)]
        text = _sentences(random, first, count)
        return Prompt(text=f"{self._prefix} {text}" if self._prefix else text, max_tokens=osl, id=f"synthetic-{index}")

    @property
    def sha256(self) -> str:
        """SHA-256 (hex) of the recipe and seed, from which every prompt follows."""
        return self._digest.hexdigest()

    @property
    def unique(self) -> int:
        """Number of different prompts (those of fewer than four words may repeat)."""
        return self._count


def _scramble(index: int, key: int) -> int:
    """Return ``index`` (< 2³²) permuted by ``key``: a bijection, so different prompts begin differently.

    Neighbours differ in the low byte already, which gives the first word. Each step is invertible modulo 2³²:
    adding, multiplying by an odd number, and xor with a right shift.
    """
    value = (index + key) & 0xFFFFFFFF
    for factor in (0x9E3779B1, 0x85EBCA77):
        value = (value * factor) & 0xFFFFFFFF
        value ^= value >> 15
    return value


def _draw(random: Random, length: LengthSpec) -> int:
    """Return a length from the normal distribution, at least 1 (Box-Muller)."""
    radius = math.sqrt(-2 * math.log(1 - random.random()))
    normal = radius * math.cos(2 * math.pi * random.random())
    return max(1, round(length.mean + length.deviation * normal))


def _words(tokens: int) -> int:
    """Return how many words come to about ``tokens`` tokens."""
    return round(tokens / TOKENS_PER_WORD)


def _sentences(random: Random, first: list[str], count: int) -> str:
    """Return ``count`` words in sentences, beginning with those of ``first``."""
    words = first[:count] + [_VOCABULARY[int(random.random() * 256)] for _ in range(count - len(first))]
    lines = (words[start : start + SENTENCE] for start in range(0, len(words), SENTENCE))
    return " ".join(" ".join(line).capitalize() + "." for line in lines)
