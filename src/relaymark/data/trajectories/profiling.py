"""The profile of a trajectory file: every length and every pause, and no text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from relaymark.data.trajectories.model import Trajectory, Turn
from relaymark.errors import ConfigError

_QUANTILES = (0, 1, 5, 10, 25, 50, 75, 90, 95, 99, 100)


class TurnProfile(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Lengths of one turn, in characters; ``delay_s`` is what the tools had taken."""

    role: str
    new_input_chars: int
    prompt_chars: int = 0
    delay_s: float | None = None
    content_chars: int = 0
    reasoning_chars: int = 0
    tool_args_chars: int = 0
    tool_calls: int = 0
    completion_chars: int = 0


class ConversationProfile(msgspec.Struct, kw_only=True):
    """Lengths of one conversation."""

    turns: list[TurnProfile]
    conversation_id: str = ""
    system_chars: int = 0
    tools_chars: int = 0
    n_tools: int = 0


class Profile(msgspec.Struct, kw_only=True):
    """Percentiles of every length under ``summary``, and the conversations that they are from."""

    conversations: list[ConversationProfile]
    summary: dict[str, Any] = {}


def profile_of(trajectories: Sequence[Trajectory]) -> Profile:
    """The profile of conversations; their names are left out with their texts."""
    conversations = [_conversation(one, number) for number, one in enumerate(trajectories, 1)]
    turns = [turn for one in conversations for turn in one.turns]
    summary: dict[str, Any] = {"conversations": len(conversations), "generated_turns": len(turns)}
    for key in ("prompt_chars", "new_input_chars", "completion_chars", "reasoning_chars", "tool_args_chars"):
        summary[key] = _quantiles([float(getattr(turn, key)) for turn in turns])
    summary["tool_delay_s"] = _quantiles([turn.delay_s for turn in turns if turn.delay_s is not None])
    summary["turns_per_conversation"] = _quantiles([float(len(one.turns)) for one in conversations])
    return Profile(conversations=conversations, summary=summary)


def read_profile(path: Path) -> Profile:
    """Reads one.

    Raises:
        ConfigError: It cannot be read or is none.
    """
    try:
        profile = msgspec.json.decode(path.read_bytes(), type=Profile)
    except OSError as error:
        raise ConfigError(f"the profile can't be read: {error.strerror}", where=str(path)) from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"this is no profile of trajectories: {error}", where=str(path)) from None
    if not any(one.turns for one in profile.conversations):
        raise ConfigError("the profile has no turns", where=str(path))
    return profile


def _conversation(one: Trajectory, number: int) -> ConversationProfile:
    tools = msgspec.json.encode(list(one.tools)) if one.tools else b""
    prompt = len(one.system) + len(tools)
    turns: list[TurnProfile] = []
    for turn in one.turns:
        fresh = _incoming(turn)
        prompt += fresh
        reply = turn.reply
        content = len(reply.content or "") if reply else 0
        reasoning = len(reply.reasoning or "") if reply else 0
        arguments = sum(len(call.arguments) for call in reply.calls) if reply else 0
        turns.append(
            TurnProfile(
                role=turn.role,
                new_input_chars=fresh,
                prompt_chars=prompt,
                delay_s=turn.delay,
                content_chars=content,
                reasoning_chars=reasoning,
                tool_args_chars=arguments,
                tool_calls=len(reply.calls) if reply else 0,
                completion_chars=content + reasoning + arguments,
            )
        )
        prompt += content + reasoning + arguments
    return ConversationProfile(
        conversation_id=f"conversation-{number}",
        turns=turns,
        system_chars=len(one.system),
        tools_chars=len(tools),
        n_tools=len(one.tools),
    )


def _incoming(turn: Turn) -> int:
    return len(turn.content) + sum(len(result.content) for result in turn.results)


def _quantiles(values: Sequence[float]) -> dict[str, float]:
    if not values:
        return {"n": 0}
    ordered = sorted(values)
    told = {f"p{q}": ordered[round(q / 100 * (len(ordered) - 1))] for q in _QUANTILES}
    return {**told, "mean": round(sum(ordered) / len(ordered), 4), "n": len(ordered), "sum": round(sum(ordered), 4)}
