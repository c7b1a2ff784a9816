"""OpenAI Responses: typed events instead of chunks, and an end of its own instead of [DONE]."""

from __future__ import annotations

from relaymark.dialects.answer import Answer
from relaymark.dialects.decoded import Channel
from relaymark.dialects.encoding import Fields, Messages, request_body, wrong_input
from relaymark.dialects.server_errors import ServerError, error_in, error_of
from relaymark.dialects.usage import is_array, is_object

_TEXT = {
    "response.output_text.delta": Channel.ANSWER,
    "response.refusal.delta": Channel.ANSWER,
    "response.reasoning_text.delta": Channel.REASONING,
    "response.reasoning.delta": Channel.REASONING,
    "response.reasoning_summary_text.delta": Channel.REASONING,
    "response.reasoning_summary.delta": Channel.REASONING,
}
_ARGUMENTS = frozenset(
    {
        "response.function_call_arguments.delta",
        "response.custom_tool_call_input.delta",
        "response.mcp_call_arguments.delta",
    }
)
_CALLS = ("function_call", "custom_tool_call", "mcp_call")
_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled"})


class OpenAIResponses:
    """``POST /v1/responses``."""

    name = "openai-responses"
    default_path = "/v1/responses"
    streams = True
    end_mark = "response.completed"

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
        """Path and body. Usage comes with the last event without being asked for."""
        if messages is None and text is None:
            raise wrong_input("the Responses API", "messages or text")
        return self.default_path, request_body(
            {"model": model, "input": text if messages is None else messages},
            limit_key="max_output_tokens",
            max_tokens=max_tokens,
            sampling=sampling,
            extra=extra,
            stream=stream,
            include_usage=False,
        )

    def event(self, answer: Answer, read: int, obj: dict[str, object]) -> int | None:
        """One typed event. Those that end an item repeat its text whole: only deltas count."""
        kind = obj.get("type")
        if not isinstance(kind, str):
            return None
        channel = _TEXT.get(kind)
        if channel is not None:
            answer.choice(0)
            delta = obj.get("delta")
            if is_object(delta):
                delta = delta.get("text")  # response.reasoning.delta of some servers
            if delta and isinstance(delta, str):
                answer.add_text(read, channel, delta)
            told = obj.get("logprobs")
            return len(told) if told and is_array(told) else None
        if kind in _ARGUMENTS:
            answer.choice(0)
            answer.add_call(read, 0, _place(obj), None, None, obj.get("delta"))
        elif kind == "response.output_item.added":
            item = obj.get("item")
            if is_object(item) and item.get("type") in _CALLS:
                # The name is the model's output too: its arrival is the first token of a tool call.
                answer.choice(0)
                answer.add_call(read, 0, _place(obj), item.get("call_id"), item.get("name"), None)
        elif kind in _ENDS:
            answer.choice(0)
            if answer.done_read is None:
                answer.done_read = read
            response = obj.get("response")
            _end(answer, response if is_object(response) else {}, kind.removeprefix("response."))
        elif kind in ("response.created", "response.in_progress"):
            response = obj.get("response")
            if is_object(response):
                answer.add_model(response.get("model"))
        return None

    def whole(self, answer: Answer, obj: dict[str, object]) -> bool:
        """A ``response`` object."""
        output = obj.get("output")
        if not is_array(output):
            return False
        answer.choice(0)
        for place, item in enumerate(output):
            if is_object(item):
                _item(answer, place, item)
        status = obj.get("status")
        _end(answer, obj, status if isinstance(status, str) else "")
        return True


def _place(obj: dict[str, object]) -> int:
    place = obj.get("output_index")
    return place if type(place) is int else 0


def _item(answer: Answer, place: int, item: dict[str, object]) -> None:
    """An output item of a whole response."""
    if item.get("type") in _CALLS:
        answer.add_call(
            None, 0, place, item.get("call_id"), item.get("name"), item.get("arguments") or item.get("input")
        )
        return
    channel = Channel.REASONING if item.get("type") == "reasoning" else Channel.ANSWER
    parts = item.get("content") or item.get("summary")
    for part in parts if is_array(parts) else []:
        if is_object(part):
            text = part.get("text") or part.get("refusal")
            if text and isinstance(text, str):
                answer.add_text(None, channel, text)


def _end(answer: Answer, response: dict[str, object], status: str) -> None:
    answer.add_model(response.get("model"))
    answer.add_usage(response.get("usage"))
    answer.add_timings(response.get("timings"))
    if status == "incomplete":
        details = response.get("incomplete_details")
        reason = details.get("reason") if is_object(details) else None
        answer.add_finish(0, reason or "incomplete")
    elif status in ("failed", "cancelled"):
        told = error_in(response) or error_of(response.get("error"))
        answer.error = answer.error or told or ServerError(status, f"the server says the response {status}")
    elif status in ("completed", ""):
        answer.add_finish(0, status)
