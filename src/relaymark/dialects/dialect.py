"""What every API module provides."""

from __future__ import annotations

from typing import Protocol

from relaymark.dialects.answer import Answer
from relaymark.dialects.encoding import Fields, Messages


class Dialect(Protocol):
    """One API: how a request is written and how its answer reads. No I/O, no state."""

    @property
    def name(self) -> str:
        """The name in benchmark files and captures, e.g. ``openai-chat``."""
        ...

    @property
    def default_path(self) -> str:
        """Path on a server that follows the vendor's layout."""
        ...

    @property
    def streams(self) -> bool:
        """Whether the API can stream at all."""
        ...

    @property
    def end_mark(self) -> str:
        """What a whole stream ends with, in words for a warning."""
        ...

    def encode(
        self,
        *,
        messages: Messages | None = None,
        text: str | None = None,
        max_tokens: int | None = None,
        extra: Fields | None = None,
        sampling: Fields | None = None,
        model: str | None = None,
        stream: bool = True,
    ) -> tuple[str, bytes]:
        """Path and JSON body of a request. Keys nobody set are not sent.

        Raises:
            ConfigError: The prompt is of a kind this API does not take, or cannot be written as JSON.
        """
        ...

    def event(self, answer: Answer, read: int, obj: dict[str, object]) -> int | None:
        """Take in the object of one event of a stream; returns its tokens by log-probabilities, if told.

        Raises:
            MalformedError: Something in it cannot be what the API says.
        """
        ...

    def whole(self, answer: Answer, obj: dict[str, object]) -> bool:
        """Take in a body that came in one piece; False if it is not an answer of this API.

        Raises:
            MalformedError: Something in it cannot be what the API says.
        """
        ...
