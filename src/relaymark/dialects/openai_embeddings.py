"""OpenAI embeddings: vectors are counted and measured, not kept."""

from __future__ import annotations

from relaymark.dialects.answer import Answer, MalformedError
from relaymark.dialects.encoding import Fields, Messages, request_body, wrong_input
from relaymark.dialects.usage import is_array, is_object


class OpenAIEmbeddings:
    """``POST /v1/embeddings``."""

    name = "openai-embeddings"
    default_path = "/v1/embeddings"
    streams = False
    end_mark = ""

    def encode(
        self,
        *,
        messages: Messages | None = None,
        text: str | None = None,
        max_tokens: int | None = None,
        extra: Fields | None = None,
        sampling: Fields | None = None,
        model: str | None = None,
        stream: bool = False,
    ) -> tuple[str, bytes]:
        """Path and body. A batch goes into ``extra`` as ``input``; token limits and streaming don't apply."""
        if messages is not None or (text is None and "input" not in (extra or {})):
            raise wrong_input("embedding", "text, not messages")
        return self.default_path, request_body(
            {"model": model, "input": text},
            limit_key="",
            max_tokens=None,
            sampling=sampling,
            extra=extra,
            stream=False,
            include_usage=False,
        )

    def event(self, answer: Answer, read: int, obj: dict[str, object]) -> int | None:
        """There is no stream of embeddings."""
        raise MalformedError("embeddings don't stream")

    def whole(self, answer: Answer, obj: dict[str, object]) -> bool:
        """A list of vectors, as numbers or as base64 of float32."""
        data = obj.get("data")
        if not is_array(data) or not data:
            return False
        lengths = {_length(item) for item in data}
        answer.vectors = len(data)
        answer.dimensions = min(lengths)
        if len(lengths) > 1:
            answer.warn("vectors differ in length")
        return True


def _length(item: object) -> int:
    vector = item.get("embedding") if is_object(item) else None
    if is_array(vector) and vector:
        return len(vector)
    if isinstance(vector, str) and vector:
        # base64 of little-endian float32: 4 characters hold 3 bytes, = pads.
        size = len(vector) * 3 // 4 - vector[-2:].count("=")
        if size and size % 4 == 0:
            return size // 4
    raise MalformedError("a vector is missing or empty")
