"""One conversation with a model about a simulated world, from step to step."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from relaymark.score.bfcl.extracting import calls_of
from relaymark.score.bfcl.multi_turn.entries import Entry
from relaymark.score.bfcl.multi_turn.world import Worlds
from relaymark.score.bfcl.tools import tools_of
from relaymark.trace.turns import SaidCall

MOST_STEPS = 25
"""Answers to one turn; a model that calls functions in all of them is lost (MLPerf's reference: at most 25)."""


class Step(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One answer as it came; ``asked`` names the model. Turns and steps count from 0."""

    id: str
    turn: int
    step: int
    asked: str
    outcome: str
    why: str = ""
    content: str | None = None
    calls: list[SaidCall] = []


class Conversation:
    """What has been said, what is to be asked next, and, once it has ended, whether it went right."""

    def __init__(self, entry: Entry, worlds: Worlds) -> None:
        self.entry = entry
        self.turn = 0
        self.step = 0
        self.right: bool | None = None  # None: it has not ended
        self.failed = False
        self.why = ""
        self.unheard = 0
        self.messages: list[dict[str, Any]] = []
        self._worlds = worlds
        self._functions = list(entry.functions)
        self._called = False
        worlds.open(entry)
        self._begin_turn()

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The functions that the model may call now."""
        # What a function gives back is no part of a tool; some servers refuse what they don't know.
        bare = [{key: value for key, value in one.items() if key != "response"} for one in self._functions]
        return tools_of(bare, "python")

    def take(self, step: Step) -> None:
        """Goes on by one answer: makes its calls, or ends the turn."""
        if step.outcome not in ("ok", "ok_length"):
            self.failed = True
            return self._end(step.why or step.outcome)
        calls = [(call.name, _arguments(call.arguments)) for call in step.calls]
        # A text is not looked through for calls to make: what a model says of its work would be done a second time.
        self.unheard += not calls and bool(calls_of([], step.content))
        self.messages.append(self._said(step.content or "", calls))
        if not calls:
            return self._end_turn()
        self._called = True
        for place, (name, arguments) in enumerate(calls):
            said = self._worlds.call(self.entry.id, name, arguments)
            self.messages.append({"role": "tool", "tool_call_id": self._call_id(place), "content": said})
        self.step += 1
        if self.step == MOST_STEPS:
            self._end(f"a turn had no end after {MOST_STEPS} answers")
        return None

    def _said(self, text: str, calls: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if calls:
            message["tool_calls"] = [
                {
                    "id": self._call_id(place),
                    "type": "function",
                    "function": {"name": name, "arguments": msgspec.json.encode(arguments).decode()},
                }
                for place, (name, arguments) in enumerate(calls)
            ]
        return message

    def _call_id(self, place: int) -> str:
        """Nine letters and digits: some servers take no other."""
        return f"c{self.turn % 100:02}{self.step:03}{place % 1000:03}"

    def _begin_turn(self) -> None:
        self._functions += self.entry.held_back.get(self.turn, [])
        self.messages += self.entry.turns[self.turn]

    def _end_turn(self) -> None:
        """A wrong turn ends the conversation: what came after it could not mend it."""
        why = self._worlds.check(self.entry.id, self.entry.truth[self.turn], called=self._called)
        if why is not None:
            return self._end(why)
        self.turn, self.step, self._called = self.turn + 1, 0, False
        if self.turn == len(self.entry.turns):
            return self._end("")
        return self._begin_turn()

    def _end(self, why: str) -> None:
        self.right, self.why = not why, why
        self.messages = []
        self._worlds.forget(self.entry.id)


def _arguments(text: str) -> dict[str, Any]:
    """Arguments that are no object are an empty one, as in single turn: the function then says what it misses."""
    try:
        found: Any = msgspec.json.decode(text)
        msgspec.json.encode(found)
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
