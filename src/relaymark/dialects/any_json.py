"""A service of nobody's API: one JSON object a request, one back. What is in it is the asker's to know."""

from __future__ import annotations

from relaymark.dialects.answer import Answer, MalformedError
from relaymark.dialects.encoding import Fields, Messages, wrong_input


class AnyJson:
    """Any path."""

    name = "json"
    default_path = "/"
    streams = False
    end_mark = "one JSON object"

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
        """There are no prompts: whoever asks knows the body."""
        raise wrong_input("a service", "a body of its own")

    def event(self, answer: Answer, read: int, obj: dict[str, object]) -> int | None:
        """There is no stream."""
        raise MalformedError("a stream where one JSON object was expected")

    def whole(self, answer: Answer, obj: dict[str, object]) -> bool:
        """Any object that isn't an error."""
        return True
