"""Writes trajectories as the rows that :mod:`relaymark.data.trajectories.reading` reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from relaymark.data.trajectories.model import Trajectory


def rows_of(trajectory: Trajectory) -> Iterator[dict[str, Any]]:
    """A conversation's rows in order; reading them gives the same conversation."""
    number = 0
    for place, turn in enumerate(trajectory.turns):
        number += 1
        row: dict[str, Any] = {"conversation_id": trajectory.id, "turn": number, "role": turn.role}
        if turn.role == "user":
            row["content"] = turn.content
        else:
            row["tool_results"] = [{"tool_call_id": one.call_id, "content": one.content} for one in turn.results]
        if not place and trajectory.system:
            row["system"] = trajectory.system
        if not place and trajectory.tools:
            row["tools"] = list(trajectory.tools)
        if turn.delay is not None:
            row["delay_seconds"] = turn.delay
        row.update(turn.overrides)
        yield row
        if turn.reply is None:
            continue
        number += 1
        said: dict[str, Any] = {"conversation_id": trajectory.id, "turn": number, "role": "assistant"}
        if turn.reply.content is not None:
            said["content"] = turn.reply.content
        if turn.reply.reasoning is not None:
            said["reasoning_content"] = turn.reply.reasoning
        if turn.reply.calls:
            said["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for call in turn.reply.calls
            ]
        if turn.reply.intents:
            said["intent_codes"] = list(turn.reply.intents)
        yield said


def write_trajectories(path: Path, trajectories: Iterable[Trajectory]) -> int:
    """Writes them, whole or not at all; returns how many.

    Raises:
        OSError: The file cannot be written.
    """
    count = 0
    partial = path.with_name(f".{path.name}.partial")
    try:
        with partial.open("wb") as file:
            for trajectory in trajectories:
                count += 1
                for row in rows_of(trajectory):
                    file.write(msgspec.json.encode(row) + b"\n")
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    return count
