"""Trajectory files: read as the specification says, written back the same, wrong ones refused by line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded import SHARED_FILE, needs_the_recording

from relaymark.data.trajectories import Call, Reply, Result, Trajectory, Turn, load_trajectories, write_trajectories
from relaymark.errors import ConfigError

CALL = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
ROWS: list[dict[str, Any]] = [
    {"conversation_id": "a", "turn": 1, "role": "user", "content": "Mend it.", "system": "S", "tools": [{"type": "f"}]},
    {"conversation_id": "a", "turn": 2, "role": "assistant", "reasoning_content": "hm", "tool_calls": [CALL]},
    {
        "conversation_id": "a",
        "turn": 3,
        "role": "tool",
        "tool_results": [{"tool_call_id": "c1", "content": "x"}],
        "delay_seconds": 0.5,
    },
    {"conversation_id": "a", "turn": 4, "role": "assistant", "content": "Done."},
]


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_conversation_becomes_turns_with_their_whole_history(tmp_path: Path) -> None:
    meta = {"_type": "dataset_metadata", "anything": 1}
    (one,) = load_trajectories(written(tmp_path / "t.jsonl", [meta, *ROWS]))
    assert (one.id, one.system, len(one.turns), one.turns[1].delay) == ("a", "S", 2, 0.5)
    assert one.messages(0) == [{"role": "system", "content": "S"}, {"role": "user", "content": "Mend it."}]
    assert one.messages(1)[2:] == [
        {"role": "assistant", "reasoning_content": "hm", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "x"},
    ]
    assert one.turns[1].reply == Reply("Done.")


@pytest.mark.parametrize(
    ("place", "change", "says"),
    [
        (0, {"conversation_id": "ü"}, "header"),
        (0, {"turn": 2}, "turn should be 1"),
        (0, {"content": ""}, "content must be a text"),
        (0, {"role": "robot"}, "role must be"),
        (1, {"tool_calls": None}, "needs content or tool_calls"),
        (1, {"tool_calls": [{"id": "c"}]}, "function must be an object"),
        (1, {"role": "user", "content": "again"}, "two rows of the user"),
        (2, {"role": "user", "content": "again"}, "result of a tool call"),
        (2, {"tool_results": []}, "needs tool_results"),
        (2, {"delay_seconds": -1}, "delay_seconds"),
        (3, {"role": "tool", "tool_results": [{"tool_call_id": "c1", "content": "x"}]}, "follows no call"),
        (3, {"conversation_id": "b"}, "turn should be 1"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, place: int, change: dict[str, Any], says: str) -> None:
    rows = [dict(row) for row in ROWS]
    rows[place].update(change)
    with pytest.raises(ConfigError, match=says) as error:
        load_trajectories(written(tmp_path / "t.jsonl", rows))
    assert f"t.jsonl:{place + 1}" in str(error.value)


def test_rows_of_a_conversation_stand_together_and_lines_are_json(tmp_path: Path) -> None:
    other = [{**row, "conversation_id": "b"} for row in ROWS]
    with pytest.raises(ConfigError, match="do not stand together"):
        load_trajectories(written(tmp_path / "t.jsonl", [*ROWS, *other, {**ROWS[0]}]))
    for text in ("[1]\n", "{\n", '{"a": "\\ud800"}\n', ""):
        (tmp_path / "bad.jsonl").write_text(text)
        with pytest.raises(ConfigError):
            load_trajectories(tmp_path / "bad.jsonl")
    with pytest.raises(ConfigError, match="can't be read"):
        load_trajectories(tmp_path / "none.jsonl")


TEXT = st.text(alphabet=st.characters(exclude_categories=("Cs",)), min_size=1, max_size=20)
REPLY = st.builds(
    Reply,
    content=TEXT,
    reasoning=st.none() | TEXT,
    calls=st.lists(st.builds(Call, id=TEXT, name=TEXT, arguments=TEXT), max_size=2).map(tuple),
)


@st.composite
def trajectories(draw: st.DrawFn) -> Trajectory:
    turns = [Turn("user", draw(TEXT), reply=draw(REPLY))]
    for _ in range(draw(st.integers(0, 4))):
        calls = turns[-1].reply.calls if turns[-1].reply else ()
        if calls:
            results = tuple(Result(call.id, draw(TEXT)) for call in calls)
            turns.append(Turn("tool", results=results, delay=draw(st.none() | st.floats(0, 99)), reply=draw(REPLY)))
        else:
            turns.append(Turn("user", draw(TEXT), reply=draw(REPLY)))
    return Trajectory("id", tuple(turns), draw(st.just("") | TEXT))


@given(trajectories())
def test_what_is_written_reads_back_equal(tmp_path_factory: pytest.TempPathFactory, one: Trajectory) -> None:
    path = tmp_path_factory.mktemp("t") / "t.jsonl"
    write_trajectories(path, [one])
    assert load_trajectories(path) == [one]


@needs_the_recording
def test_the_recording_has_the_counts_of_the_specification() -> None:
    found = load_trajectories(SHARED_FILE)
    assert (len(found), sum(len(one.turns) for one in found)) == (20, 1007)
    calls = [len(turn.reply.calls) for one in found for turn in one.turns if turn.reply]
    assert (len(calls), sum(calls), calls.count(2)) == (1007, 1012, 5)
    assert {one.system for one in found} == {found[0].system} and len(found[0].system) == 95
    assert sum(turn.delay or 0 for one in found for turn in one.turns) == pytest.approx(636.4, abs=0.1)
