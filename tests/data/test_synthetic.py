from __future__ import annotations

import numpy as np
import pytest

from relaymark.bench import LengthSpec, PromptSource
from relaymark.data import PromptSet, load_prompts
from relaymark.data.synthetic import TOKENS_PER_WORD


def synthetic(
    isl: float, deviation: float = 0, *, seed: int = 1, osl: LengthSpec | None = None, prefix: int = 0,
    unique: int | None = None,
) -> PromptSet:  # fmt: skip
    source = PromptSource(
        kind="synthetic",
        isl=LengthSpec(mean=isl, deviation=deviation),
        osl=osl,
        shared_prefix=prefix,
        unique=unique,
    )
    return load_prompts(source, seed=seed)


def words(prompts: PromptSet, index: int) -> list[str]:
    return (prompts[index].text or "").split()


def tokens(prompts: PromptSet, index: int) -> int:
    """Words and full stops: what the length is counted in."""
    text = prompts[index].text or ""
    return len(text.split()) + text.count(".")


@pytest.mark.parametrize("isl", [20, 128, 512, 4096])
def test_a_prompt_has_about_the_length_asked_for(isl: int) -> None:
    prompts = synthetic(isl)
    for index in (0, 1, 999):
        assert abs(tokens(prompts, index) - isl) <= 2


def test_lengths_are_normal_around_the_mean() -> None:
    prompts = synthetic(200, 20, osl=LengthSpec(mean=50, deviation=5))
    lengths = np.array([len(words(prompts, index)) * TOKENS_PER_WORD for index in range(1500)])
    assert lengths.mean() == pytest.approx(200, abs=4)
    assert lengths.std() == pytest.approx(20, rel=0.15)
    asked = np.array([prompts[index].max_tokens for index in range(1500)])
    assert asked.mean() == pytest.approx(50, abs=1)
    assert asked.std() == pytest.approx(5, rel=0.15)


def test_lengths_are_cut_at_one() -> None:
    prompts = synthetic(5, 50, osl=LengthSpec(mean=2, deviation=50))
    assert min(len(words(prompts, index)) for index in range(200)) == 1
    assert min(prompts[index].max_tokens or 0 for index in range(200)) == 1


def test_output_length_is_left_alone_unless_asked_for() -> None:
    assert synthetic(20)[0].max_tokens is None
    assert synthetic(20, osl=LengthSpec(mean=128))[17].max_tokens == 128


def test_every_prompt_differs_from_its_first_words() -> None:
    prompts = synthetic(40)
    starts = {tuple(words(prompts, index)[:4]) for index in range(5000)}
    assert len(starts) == 5000
    shared_firsts = [words(prompts, index)[0] == words(prompts, index + 1)[0] for index in range(1000)]
    assert sum(shared_firsts) < 30
    assert prompts[2**32 - 1].text != prompts[0].text


def test_a_shared_prefix_is_shared_and_counts_towards_the_length() -> None:
    prompts = synthetic(200, prefix=100)
    texts = [words(prompts, index) for index in range(50)]
    shared = round(100 / TOKENS_PER_WORD)
    assert len({tuple(text[:shared]) for text in texts}) == 1
    assert len({text[shared] for text in texts}) > 30
    assert all(abs(len(text) * TOKENS_PER_WORD - 200) <= 2 for text in texts)


def test_a_seed_decides_every_prompt_whatever_the_order() -> None:
    one, again, other = synthetic(64, 8), synthetic(64, 8), synthetic(64, 8, seed=2)
    forward = [one[index] for index in range(20)]
    assert [again[index] for index in reversed(range(20))] == forward[::-1]
    assert one.sha256 == again.sha256 != other.sha256
    assert [other[index] for index in range(20)] != forward


def test_a_number_of_unique_prompts_repeats_after_them() -> None:
    few = synthetic(30, unique=10)
    assert (len(few), few.unique) == (10, 10)
    assert few.for_task(23) == few[3]
    many = synthetic(30, unique=20)
    assert [many[index] for index in range(10)] == list(few)
    assert few.sha256 != many.sha256
    endless = synthetic(30)
    assert endless.for_task(10**9) != endless.for_task(0)


def test_a_known_prompt_never_changes() -> None:
    """A change here changes what old benchmark files send."""
    assert synthetic(12, seed=0)[0].text == "Plant kitchen forest way meal value child year fact difference. Fire."
