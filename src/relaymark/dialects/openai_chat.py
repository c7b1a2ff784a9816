"""OpenAI chat completions, and the many servers that speak it with an accent."""

from __future__ import annotations

from relaymark.dialects.answer import Answer, MalformedError
from relaymark.dialects.decoded import Channel, Delta
from relaymark.dialects.encoding import Fields, Messages, request_body, wrong_input
from relaymark.dialects.usage import is_array, is_object


class OpenAIChat:
    """``POST /v1/chat/completions``."""

    name = "openai-chat"
    default_path = "/v1/chat/completions"
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
        """Path and body; plain ``text`` becomes one user message."""
        if messages is None:
            if text is None:
                raise wrong_input("chat", "messages or text")
            messages = [{"role": "user", "content": text}]
        return self.default_path, request_body(
            {"model": model, "messages": messages},
            limit_key="max_tokens",
            max_tokens=max_tokens,
            sampling=sampling,
            extra=extra,
            stream=stream,
            include_usage=True,
        )

    def event(self, answer: Answer, read: int, obj: dict[str, object]) -> int | None:
        """One chunk. Usage chunks and Azure's first have no choices; role-only and empty deltas bear no tokens."""
        choices = obj.get("choices")
        if type(choices) is list and len(choices) == 1:
            # Nearly every event of nearly every server: one choice, one piece of content, nothing else said.
            choice = choices[0]
            if type(choice) is dict and choice.get("index") == 0 and not choice.get("finish_reason"):
                delta = choice.get("delta")
                if type(delta) is dict and len(delta) == 1 and not choice.get("logprobs"):
                    content = delta.get("content")
                    parts = answer.answer.get(0)
                    if content and type(content) is str and parts is not None:
                        parts.append(content)
                        answer.deltas.append(Delta(read, Channel.ANSWER, content))
                        return None
        logprobs: int | None = None
        for choice in choices_of(obj):
            index = answer.choice(choice.get("index"))
            delta = choice.get("delta")
            if delta is None:
                delta = choice.get("message")  # some gateways send the whole message as the only event
            if delta and is_object(delta):
                _message(answer, read, index, delta)
            reason = choice.get("finish_reason")
            if reason:
                answer.add_finish(index, reason)
            told = choice.get("logprobs")
            if told and is_object(told):
                logprobs = (logprobs or 0) + _logprob_tokens(told)
        return logprobs

    def whole(self, answer: Answer, obj: dict[str, object]) -> bool:
        """A ``chat.completion`` object."""
        choices = choices_of(obj)
        for choice in choices:
            index = answer.choice(choice.get("index"))
            message = choice.get("message")
            if message and is_object(message):
                _message(answer, None, index, message)
            answer.add_finish(index, choice.get("finish_reason"))
        return bool(choices)


def choices_of(obj: dict[str, object]) -> list[dict[str, object]]:
    """The choices of a chunk or body; null or missing ones are none.

    Raises:
        MalformedError: ``choices`` is not an array of objects.
    """
    choices = obj.get("choices")
    if not choices:
        return []
    if not is_array(choices):
        raise MalformedError("choices is not an array")
    for choice in choices:
        if not is_object(choice):
            raise MalformedError("a choice is not an object")
    return choices  # pyright: ignore[reportReturnType]  # each was just checked; a copy would cost every event


def _message(answer: Answer, read: int | None, choice: int, message: dict[str, object]) -> None:
    """A delta, or a whole message: same fields. Reasoning goes by three names; servers may send two at once."""
    thought = message.get("reasoning_content") or message.get("reasoning")
    if not thought:
        details = message.get("reasoning_details")
        if details:
            thought = _parts(details, "text", "summary")
    if thought and isinstance(thought, str):
        answer.add_text(read, Channel.REASONING, thought, choice)
    content = message.get("content")
    if content:
        if isinstance(content, str):
            answer.add_text(read, Channel.ANSWER, content, choice)
        else:
            _content_parts(answer, read, choice, content)
    refusal = message.get("refusal")
    if refusal and isinstance(refusal, str):
        answer.add_text(read, Channel.ANSWER, refusal, choice)
    calls = message.get("tool_calls")
    if calls:
        _tool_calls(answer, read, choice, calls)
    function = message.get("function_call")
    if function and is_object(function):
        answer.add_call(read, choice, 0, None, function.get("name"), function.get("arguments"))


def _tool_calls(answer: Answer, read: int | None, choice: int, calls: object) -> None:
    if not is_array(calls):
        raise MalformedError("tool_calls is not an array")
    for place, call in enumerate(calls):
        if not is_object(call):
            continue
        index = call.get("index")
        if type(index) is not int:
            index = place if read is None else answer.next_call(choice, call.get("id"))
        function = call.get("function")
        if not is_object(function):
            function = {}
        answer.add_call(read, choice, index, call.get("id"), function.get("name"), function.get("arguments"))


def _content_parts(answer: Answer, read: int | None, choice: int, content: object) -> None:
    """Content as a list of parts: text, and Mistral's thinking."""
    for part in content if is_array(content) else [content]:
        if is_object(part):
            thought = part.get("thinking") or part.get("reasoning")
            if thought:
                thought = thought if isinstance(thought, str) else _parts(thought, "text")
                if thought:
                    answer.add_text(read, Channel.REASONING, thought, choice)
        text = part if isinstance(part, str) else _parts([part], "text", "refusal")
        if text:
            answer.add_text(read, Channel.ANSWER, text, choice)


def _parts(parts: object, *keys: str) -> str:
    """The text in a list of parts, by the first of ``keys`` that each part has as a string."""
    found: list[str] = []
    for part in parts if is_array(parts) else [parts]:
        if is_object(part):
            texts = (part.get(key) for key in keys)
            found.append(next((text for text in texts if isinstance(text, str)), ""))
    return "".join(found)


def _logprob_tokens(logprobs: dict[str, object]) -> int:
    count = 0
    for key in ("content", "refusal"):
        tokens = logprobs.get(key)
        if is_array(tokens):
            count += len(tokens)
    return count
