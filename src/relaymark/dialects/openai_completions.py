"""OpenAI's older text completions, which base models and raw prompts still need."""

from __future__ import annotations

from relaymark.dialects.answer import Answer
from relaymark.dialects.decoded import Channel
from relaymark.dialects.encoding import Fields, Messages, request_body, wrong_input
from relaymark.dialects.openai_chat import choices_of
from relaymark.dialects.usage import is_array, is_object


class OpenAICompletions:
    """``POST /v1/completions``."""

    name = "openai-completions"
    default_path = "/v1/completions"
    streams = True
    end_mark = "[DONE]"

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
        """Path and body. Messages would need the model's template, which only the server has: text only."""
        if text is None or messages is not None:
            raise wrong_input("text completion", "text, not messages")
        return self.default_path, request_body(
            {"model": model, "prompt": text},
            limit_key="max_tokens",
            max_tokens=max_tokens,
            sampling=sampling,
            extra=extra,
            stream=stream,
            include_usage=True,
        )

    def event(self, answer: Answer, read: int, obj: dict[str, object]) -> int | None:
        """One chunk: ``text`` per choice."""
        return _choices(answer, read, obj)

    def whole(self, answer: Answer, obj: dict[str, object]) -> bool:
        """A ``text_completion`` object."""
        _choices(answer, None, obj)
        return bool(answer.choices)


def _choices(answer: Answer, read: int | None, obj: dict[str, object]) -> int | None:
    logprobs: int | None = None
    for choice in choices_of(obj):
        index = answer.choice(choice.get("index"))
        thought = choice.get("reasoning_content") or choice.get("reasoning")
        if thought and isinstance(thought, str):
            answer.add_text(read, Channel.REASONING, thought, index)
        text = choice.get("text")
        if text and isinstance(text, str):
            answer.add_text(read, Channel.ANSWER, text, index)
        answer.add_finish(index, choice.get("finish_reason"))
        told = choice.get("logprobs")
        if told and is_object(told):
            # "tokens" is the API's own list; llama.cpp sends the chat API's "content" here too.
            tokens = told.get("tokens") or told.get("content")
            if is_array(tokens):
                logprobs = (logprobs or 0) + len(tokens)
    return logprobs
