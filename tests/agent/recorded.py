"""The recorded data set, where this checkout has it beside it, and what to feed a scripted endpoint with it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from relaymark.data.trajectories import Trajectory

SHARED = Path(__file__).parents[3] / "shared" / "data"
SHARED_FILE = SHARED / "agentic_coding_2.5h.jsonl"
PROFILE_FILE = SHARED / "agentic_profile.json"
needs_the_recording = pytest.mark.skipif(not SHARED_FILE.exists(), reason="the recorded trajectories are not here")
needs_the_profile = pytest.mark.skipif(not PROFILE_FILE.exists(), reason="the profile of the recording is not here")


def script_of(path: Path, trajectories: Sequence[Trajectory], laps: int = 1) -> Path:
    """A recording that a scripted endpoint repeats: what was answered, by conversation."""
    with path.open("w") as file:
        for lap in range(laps):
            for one in trajectories:
                key = one.id if not lap else f"{one.id}__repeat_{lap + 1}"
                for turn in one.turns:
                    reply = turn.reply
                    assert reply is not None
                    calls = [{"name": call.name, "arguments": call.arguments, "id": call.id} for call in reply.calls]
                    said = {"content": reply.content or "", "reasoning": reply.reasoning or "", "tool_calls": calls}
                    file.write(json.dumps({"key": key, "reply": said}) + "\n")
    return path
