"""A prompt, whatever it was read from. Imports nothing heavy: workers load this."""

from __future__ import annotations

from typing import Any

import msgspec


class Prompt(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """One request's input: ``text`` or ``messages`` (OpenAI style, role and content), never both.

    ``max_tokens`` overrides the benchmark's; ``extra`` holds request fields of this prompt alone (temperature,
    tools, …), which go into the body as they are. ``id`` is the data set's own, where it has one.
    """

    text: str | None = None
    messages: list[dict[str, Any]] | None = None
    max_tokens: int | None = None
    id: str | None = None
    extra: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])

    def as_messages(self) -> list[dict[str, Any]]:
        """Return the prompt for a chat API: its messages, or its text as one user message."""
        if self.messages is not None:
            return self.messages
        return [{"role": "user", "content": self.text or ""}]

    def as_text(self) -> str:
        """Return the prompt for an API that takes plain text: its text, or its messages' text parts in order.

        Parts are separated by a blank line; roles and parts that aren't text are left out.
        """
        if self.messages is None:
            return self.text or ""
        parts: list[str] = []
        for message in self.messages:
            content: Any = message.get("content")
            if isinstance(content, str):
                parts.append(content)
            elif isinstance(content, list):
                items: list[Any] = content
                parts += [
                    item["text"] for item in items if isinstance(item, dict) and isinstance(item.get("text"), str)
                ]
        return "\n\n".join(parts)
