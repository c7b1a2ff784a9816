"""The answer as it grows event by event, whatever API it came through; turned into a ``Decoded`` at the end."""

from __future__ import annotations

import msgspec

from relaymark.dialects.decoded import Channel, Delta, ToolCall
from relaymark.dialects.llamacpp import Timings
from relaymark.dialects.server_errors import ServerError, one_line
from relaymark.dialects.usage import Usage, count_of, is_object

MAX_CHOICES = 128  # the API's own limit on n; an index beyond it is a broken event, not a list to fill
MAX_CALLS = 1024

LENGTH_REASONS = frozenset({"length", "max_tokens", "max_output_tokens", "model_length", "limit"})
FAILED_REASONS = frozenset({"error", "abort", "aborted", "cancelled", "failed"})


class MalformedError(ValueError):
    """An event or body that is JSON but not what its API allows there."""


class _Call(msgspec.Struct):
    id: str | None
    name: str
    arguments: list[str]


class Answer:
    """Collects what the events of one response say. Dialects call the ``add_…`` methods in order of arrival."""

    def __init__(self) -> None:
        self.deltas: list[Delta] = []
        self.usage = Usage()
        self.timings = Timings()
        self.error: ServerError | None = None
        self.model: str | None = None
        self.done_read: int | None = None  # read of the API's end mark
        self.finish: dict[int, str] = {}
        self.choices: set[int] = set()
        self.vectors: int | None = None
        self.dimensions: int | None = None
        self.lenient = False  # some text may hold half a surrogate pair
        self.warnings: list[str] = []
        self.running: dict[int, int] = {}  # first delta of an event → completion tokens so far, as the event says
        self.logprobs: dict[int, int] = {}  # first delta of an event → tokens in it by its log-probabilities
        self.shared: set[int] = set()  # deltas of the same event as the one before
        self.answer: dict[int, list[str]] = {}  # choice → pieces
        self.reasoning: dict[int, list[str]] = {}
        self._calls: dict[tuple[int, int], _Call] = {}

    def warn(self, text: str) -> None:
        """Note something odd, once."""
        if text not in self.warnings and len(self.warnings) < 50:
            self.warnings.append(text)

    def choice(self, index: object) -> int:
        """Check a choice's index and remember that the choice exists.

        Raises:
            MalformedError: Not a small whole number.
        """
        if index is None:
            index = 0
        if type(index) is not int or not 0 <= index < MAX_CHOICES:
            raise MalformedError("choice index out of range")
        self.choices.add(index)
        return index

    def add_text(self, read: int | None, channel: Channel, text: str, choice: int = 0) -> None:
        """A piece of answer or reasoning; ``read`` is ``None`` for a body that was not streamed."""
        texts = self.answer if channel is Channel.ANSWER else self.reasoning
        parts = texts.get(choice)
        if parts is None:
            texts[choice] = [text]
        else:
            parts.append(text)
        if read is not None:
            self.deltas.append(Delta(read, channel, text, choice))

    def parts(self, delta: Delta) -> list[str] | None:
        """The pieces of text that a delta's is one of; ``None`` for a tool call's."""
        texts = {Channel.ANSWER: self.answer, Channel.REASONING: self.reasoning}.get(delta.channel)
        return None if texts is None else texts.get(delta.choice)

    def add_call(
        self, read: int | None, choice: int, index: int, call_id: object, name: object, arguments: object
    ) -> None:
        """A piece of a tool call, joined with the pieces of the same index. Nulls and empty pieces are no tokens."""
        if not 0 <= index < MAX_CALLS:
            raise MalformedError("tool call index out of range")
        if is_object(arguments) or isinstance(arguments, list):
            # Ollama and some gateways send the arguments as an object; our field is the model's text.
            arguments = msgspec.json.encode(arguments).decode()
        call = self._calls.get((choice, index))
        if call is None:
            call = self._calls[choice, index] = _Call(None, "", [])
        if isinstance(call_id, str) and call_id:
            call.id = call_id
        text = ""
        # Some servers repeat the whole name in every piece, some send it in pieces.
        if isinstance(name, str) and name and name != call.name:
            call.name += name
            text = name
        if isinstance(arguments, str) and arguments:
            call.arguments.append(arguments)
            text += arguments
        if text and read is not None:
            self.deltas.append(Delta(read, Channel.TOOL, text, choice))

    def next_call(self, choice: int, call_id: object) -> int:
        """Index for a piece without one: the last call's, or a new one if its id is a new one."""
        indexes = [index for owner, index in self._calls if owner == choice]
        if not indexes:
            return 0
        last = max(indexes)
        known = self._calls[choice, last].id
        return last + 1 if isinstance(call_id, str) and call_id and call_id != known else last

    def add_finish(self, choice: int, reason: object) -> None:
        """A finish reason; null and empty ones are none. SGLang's native form is an object with a type."""
        if is_object(reason):
            reason = reason.get("type")
        if isinstance(reason, str) and reason:
            self.finish[choice] = one_line(reason, 100)

    def add_usage(self, usage: object) -> None:
        """A ``usage`` object; anything else is ignored."""
        if is_object(usage):
            self.usage.take(usage)

    def add_timings(self, timings: object) -> None:
        """A llama.cpp ``timings`` object; anything else is ignored."""
        if is_object(timings):
            self.timings.take(timings)

    def add_model(self, model: object) -> None:
        """The model the server names; the first one stands."""
        if self.model is None and isinstance(model, str) and model:
            self.model = one_line(model, 200)

    def end_event(self, before: int, usage: object, timings: object, logprobs: int | None) -> None:
        """An event is over that gave the deltas from index ``before`` on: note the token counts it brought."""
        after = len(self.deltas)
        if after - before > 1:
            self.shared.update(range(before + 1, after))
        running: int | None = None
        if usage and is_object(usage):
            running = count_of(usage.get("completion_tokens"))
        elif timings and is_object(timings):
            running = count_of(timings.get("predicted_n"))
        if running is not None:
            self.running[before] = running
        if logprobs is not None:
            self.logprobs[before] = logprobs

    def texts(self, channel: Channel) -> list[str]:
        """Text per choice, for choices 0 to the last one seen; empty if the channel never spoke."""
        source = self.answer if channel is Channel.ANSWER else self.reasoning
        if not source:
            return []
        return [self.clean("".join(source.get(index, ()))) for index in range(max(self.choices | {*source}) + 1)]

    def tool_calls(self) -> list[ToolCall]:
        """Tool calls by choice and index."""
        return [
            ToolCall(
                choice,
                index,
                None if call.id is None else self.clean(call.id),
                self.clean(call.name),
                self.clean("".join(call.arguments)),
            )
            for (choice, index), call in sorted(self._calls.items(), key=lambda item: item[0])
        ]

    def clean(self, text: str) -> str:
        """Join surrogate halves that came in separate pieces, and replace those that stayed alone."""
        if not self.lenient:
            return text
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
