"""Secrets that a server echoes are taken out of what it said before anything of it is written down or shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec

from relaymark.bench.secrets import Endpoint
from relaymark.relay.records import Content
from relaymark.trace import Capture, Leg

SHORTEST = 6  # shorter values are no secrets, and blanking them would spoil ordinary words
_ENV_USE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}", re.ASCII)
_SHOWN = "[redacted]"


class Redactor:
    """Knows the secret values of a run; without any, every method costs one comparison."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        # The longest first: one value may contain another.
        self._texts = sorted({text for text in secrets if len(text) >= SHORTEST}, key=len, reverse=True)
        # As they stand in a body: plain, or with the escapes of a JSON string.
        forms = {form for text in self._texts for form in (text.encode(), msgspec.json.encode(text)[1:-1])}
        self._forms = sorted(forms, key=len, reverse=True)

    @classmethod
    def of(cls, endpoint: Endpoint, environ: Mapping[str, str], *more: Endpoint) -> Redactor:
        """Their keys' values and those of all variables that headers use. Never raises; an unset one is no secret."""
        names: list[str] = []
        for one in (endpoint, *more):
            names.append(one.api_key_env)
            names += [name for text in one.headers.values() for name in _ENV_USE.findall(text)]
        return cls(environ.get(name, "").strip() for name in names)

    def bytes(self, data: bytes) -> bytes:
        """Blanks secrets in captured bytes; the length stays, so that the framing does too."""
        for form in self._forms:
            if form in data:
                data = data.replace(form, b"*" * len(form))
        return data

    def text(self, text: str) -> str:
        """Replaces secrets in decoded text."""
        for secret in self._texts:
            if secret in text:
                text = text.replace(secret, _SHOWN)
        return text

    def capture(self, capture: Capture) -> None:
        """Blanks secrets in a capture, before it is journaled."""
        if self._forms:
            capture.raw = self.bytes(capture.raw)
            capture.error = self.text(capture.error)

    def leg(self, leg: Leg) -> None:
        """Replaces secrets in all that a leg quotes: a body may carry one in pieces that only decoding joins."""
        if not self._texts:
            return
        leg.model = self.text(leg.model)
        leg.warnings = [self.text(warning) for warning in leg.warnings]
        for name in ("error_message", "error_type", "finish_reason", "retry_after"):
            value = getattr(leg, name)
            if value is not None:
                setattr(leg, name, self.text(value))

    def content(self, content: Content) -> Content:
        """The same for a stored answer, a tool call's arguments included."""
        if not self._texts:
            return content
        return Content(
            ref=content.ref,
            texts=[self.text(text) for text in content.texts],
            reasonings=[self.text(text) for text in content.reasonings],
            tool_calls=[
                {key: self.text(value) if isinstance(value, str) else value for key, value in call.items()}
                for call in content.tool_calls
            ],
        )
