"""Sets of prompts from every source."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from array import array
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, overload

import msgspec

from relaymark.data.builtin import BUILTIN
from relaymark.data.prompt import Prompt
from relaymark.data.records import prompt_from
from relaymark.errors import ConfigError

if TYPE_CHECKING:
    from relaymark.bench.spec import PromptSource


class PromptSet(Sequence[Prompt]):
    """Prompts by position. ``for_task`` starts over after the last one; nothing else does."""

    @abstractmethod
    def prompt_at(self, index: int) -> Prompt:
        """Return the prompt at ``index``, 0 ≤ index < len."""

    @property
    @abstractmethod
    def sha256(self) -> str:
        """SHA-256 (hex) of all prompts in order; of the recipe and seed where prompts are generated."""

    @property
    @abstractmethod
    def unique(self) -> int:
        """Number of different prompts."""

    @overload
    def __getitem__(self, index: int) -> Prompt: ...
    @overload
    def __getitem__(self, index: slice) -> list[Prompt]: ...
    def __getitem__(self, index: int | slice) -> Prompt | list[Prompt]:
        if isinstance(index, slice):
            return [self.prompt_at(position) for position in range(*index.indices(len(self)))]
        position = index + len(self) if index < 0 else index
        if not 0 <= position < len(self):
            raise IndexError(index)
        return self.prompt_at(position)

    def for_task(self, task: int) -> Prompt:
        """Return the prompt of the ``task``-th request of a run (task ≥ 0): the set from the start, over and over."""
        return self.prompt_at(task % len(self))


class Digest:
    """Counts and hashes prompts as they go by; keeps 8 bytes a prompt."""

    def __init__(self) -> None:
        self._whole = hashlib.sha256()
        self._contents = array("Q")

    def add(self, prompt: Prompt) -> None:
        """Take in the next prompt."""
        encoded = msgspec.json.encode(prompt, order="deterministic")
        self._whole.update(len(encoded).to_bytes(8, "little") + encoded)
        # What the model reads, without the id: two with other ids are the same prompt.
        content = msgspec.json.encode((prompt.text, prompt.messages), order="deterministic")
        self._contents.append(int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little"))

    def sha256(self) -> str:
        """Return the SHA-256 (hex) of all prompts so far, in order."""
        return self._whole.hexdigest()

    def unique(self) -> int:
        """Return how many different prompts there were."""
        return len(set(self._contents))


class HeldPrompts(PromptSet):
    """Prompts held in memory."""

    def __init__(self, prompts: Sequence[Prompt]) -> None:
        self._prompts = prompts

    def __len__(self) -> int:
        return len(self._prompts)

    def prompt_at(self, index: int) -> Prompt:
        """Return the prompt at ``index``."""
        return self._prompts[index]

    @cached_property
    def _digest(self) -> Digest:
        digest = Digest()
        for prompt in self._prompts:
            digest.add(prompt)
        return digest

    @property
    def sha256(self) -> str:
        """SHA-256 (hex) of all prompts in order."""
        return self._digest.sha256()

    @property
    def unique(self) -> int:
        """Number of different prompts."""
        return self._digest.unique()


def load_prompts(source: PromptSource, *, seed: int = 0, base_dir: Path | None = None) -> PromptSet:
    """Return the prompts that ``source`` names.

    Args:
        source: where they come from (`Benchmark.prompt_source()`).
        seed: decides generated prompts; other sources don't use it.
        base_dir: what a relative file counts from; the current folder by default.

    Raises:
        ConfigError: a file is missing, empty, not UTF-8 or malformed; names the line. File types:
            ``.jsonl``/``.ndjson``/``.json`` (one object a line), ``.csv``, ``.parquet``, ``.txt`` (one prompt a
            line).
    """
    if source.kind == "builtin":
        return HeldPrompts([Prompt(text=text, id=f"builtin-{number}") for number, text in enumerate(BUILTIN, 1)])
    if source.kind == "inline":
        return HeldPrompts([prompt_from(item, where=f"prompts.{n}") for n, item in enumerate(source.items)])
    if source.kind == "synthetic":
        from relaymark.data.synthetic import SyntheticPrompts  # noqa: PLC0415  (only who generates pays for it)

        return SyntheticPrompts(source, seed)
    from relaymark.data.files import read_prompt_file  # noqa: PLC0415  (as above)

    if source.path is None:
        raise ConfigError("no prompt file is named", where="prompts.file", mend="name a .jsonl file")
    return read_prompt_file((base_dir or Path.cwd()) / source.path)
