"""A user's own logs as trajectories; anonymised with lengths kept; and look-alikes from a profile."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded import PROFILE_FILE, SHARED_FILE, needs_the_profile, needs_the_recording

from relaymark.data.trajectories import load_trajectories
from relaymark.data.trajectories.anonymising import Anonymiser, anonymise
from relaymark.data.trajectories.importing import import_logs
from relaymark.data.trajectories.profiling import profile_of, read_profile
from relaymark.data.trajectories.synthesis import small_profile, synthesise
from relaymark.errors import ConfigError


def call_of(number: int, command: str) -> dict[str, Any]:
    function = {"name": "bash", "arguments": json.dumps({"command": command})}
    return {"id": f"c{number}", "type": "function", "function": function}


CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Look at /home/jane/acme/main.py"},
    {"role": "user", "content": [{"type": "text", "text": "please"}, {"type": "image_url", "image_url": {}}]},
    {"role": "assistant", "content": "", "tool_calls": [call_of(1, "cat x"), call_of(2, "ls")]},
    {"role": "tool", "tool_call_id": "c1", "content": "x", "delay_seconds": 1.5},
    {"role": "tool", "tool_call_id": "c2", "content": "y"},
    {"role": "assistant", "content": "Done."},
    {"role": "user", "content": "Thanks"},
]


def test_a_log_of_requests_becomes_one_conversation_of_the_last(tmp_path: Path) -> None:
    said = {"role": "assistant", "content": "You are welcome."}
    records = [
        {"id": "r1", "messages": CHAT[:3]},
        {"id": "r2", "messages": CHAT[:6], "tools": [{"type": "function"}]},
        {"id": "other", "messages": [{"role": "user", "content": "Hi"}]},
        {"id": "r3", "request": {"messages": CHAT}, "response": {"choices": [{"message": said}]}},
        {"id": "again", "messages": CHAT[:3]},
    ]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, records)))
    found = import_logs([path])
    assert [(one.id, len(one.turns)) for one in found.trajectories] == [("other", 1), ("r1", 3)]
    one = found.trajectories[1]
    assert (one.system, one.tools) == ("Be brief.", ({"type": "function"},))
    assert one.turns[0].content == "Look at /home/jane/acme/main.py\n\nplease"
    assert [result.call_id for result in one.turns[1].results] == ["c1", "c2"]
    assert one.turns[1].delay == 1.5
    assert one.turns[2].reply is not None and one.turns[2].reply.content == "You are welcome."
    assert found.left_out == {"parts of messages that are no text": 1}
    assert (found.lines, found.continued) == (5, 3)


def test_mini_swe_agents_trajectories_have_the_tools_time_between_stamps(tmp_path: Path) -> None:
    at = iter((10.0, 11.0, 15.5, 16.0))
    messages = [{**CHAT[0]}, {**CHAT[1], "extra": {"timestamp": next(at)}}]
    messages.append({"role": "assistant", "content": "```bash\nls\n```", "extra": {"timestamp": next(at)}})
    messages.append({"role": "user", "content": "<output>x</output>", "extra": {"timestamp": next(at)}})
    messages.append({"role": "assistant", "content": "COMPLETE", "extra": {"timestamp": next(at)}})
    messages.append({"role": "exit", "content": "submitted", "extra": {}})
    path = tmp_path / "acme__acme-1.traj.json"
    path.write_text(json.dumps({"messages": messages, "info": {}, "trajectory_format": "mini-swe-agent-1"}))
    (one,) = import_logs([path]).trajectories
    assert (one.id, len(one.turns), one.turns[1].delay) == ("acme__acme-1", 2, 4.5)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no conversation"),
        ("{}", "no messages"),
        ("[1]", "no JSON object"),
        ('{"messages": [{"role": "robot"}]}', "role"),
        ('{"messages": [{"role": "assistant", "content": "x"}]}', "no message of the user"),
        ('{"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "tool_calls": [{}]}]}', "no function"),
    ],
)
def test_what_is_no_log_is_named_by_its_line(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(text)
    with pytest.raises(ConfigError, match=says):
        import_logs([path])


def test_a_call_without_its_result_ends_the_conversation(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps({"messages": [*CHAT[:5], CHAT[7]]}))
    found = import_logs([path])
    assert [len(one.turns) for one in found.trajectories] == [2]
    assert found.left_out["messages after a tool call whose result is missing"] == 1


SECRETS = {
    "jane.doe@acme.example": "e-mail",
    "sk-proj-abcdef1234567890ABCDEF": "key",
    "/home/jane/projects/rocket/engine.py": "path",
    "hunter2hunter2": "password",
    "git.acme.example": "host",
    "203.0.113.77": "address",
    "Jane Doe": "name",
}


def test_what_says_whose_they_are_goes_and_every_length_stays(tmp_path: Path) -> None:
    text = (
        "Author: Jane Doe <jane.doe@acme.example>\nexport KEY=sk-proj-abcdef1234567890ABCDEF\ncd "
        "/home/jane/projects/rocket/engine.py\npassword: hunter2hunter2\ncurl https://git.acme.example/x 203.0.113.77\n"
        "Jane and JANE say: rocket/engine.py and/or tests/engine.py; @janedoe42 too"
    )
    arguments = json.dumps({"command": f"echo '{text}'\nJane"})
    function = {"name": "bash", "arguments": arguments}
    messages = [
        {"role": "user", "content": text},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "c", "content": text},
    ]
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps({"id": "jane-1", "messages": messages}))
    before = import_logs([path]).trajectories
    (after,), counts = anonymise(before, key=b"k")
    whole = msgspec.json.encode(after).decode()
    for secret, kind in SECRETS.items():
        assert secret not in whole, kind
    assert not re.search("jane", whole, re.IGNORECASE)
    assert "and/or" in whole and "tests/" in whole
    assert profile_of([after]).conversations[0].turns == profile_of(before).conversations[0].turns
    assert after.turns[0].content == after.turns[1].results[0].content  # the same thing becomes the same thing
    assert all(counts[kind] for kind in ("keys", "e-mail addresses", "hosts", "addresses", "paths", "names"))
    assert after.turns[0].reply is not None
    assert "Jane" not in json.loads(after.turns[0].reply.calls[0].arguments)["command"]
    assert anonymise(before, key=b"other")[0] != [after]
    # A bare word is no path; whose it is, only its owner knows.
    (tmp_path / "log.jsonl").write_text(json.dumps({"messages": [{"role": "user", "content": "Launch the Rocket!"}]}))
    bare = import_logs([path]).trajectories
    assert anonymise(bare)[0][0].turns[0].content == "Launch the Rocket!"
    assert "rocket" not in anonymise(bare, names=["rocket"])[0][0].turns[0].content.lower()


@given(st.text(alphabet="ab/@.:-_ 01KEYsk=\n", max_size=200))
def test_any_text_keeps_its_length_and_where_its_letters_stand(text: str) -> None:
    made = Anonymiser(key=b"k").text(text)
    assert len(made) == len(text)
    kinds = [(char.isdigit(), char.islower(), char.isupper()) for char in text]
    assert [(char.isdigit(), char.islower(), char.isupper()) for char in made] == kinds


@needs_the_recording
def test_the_recording_anonymised_has_its_profile_to_the_character() -> None:
    before = load_trajectories(SHARED_FILE)[:5]
    after, _ = anonymise(before, key=b"k")
    for one, other in zip(profile_of(before).conversations, profile_of(after).conversations, strict=True):
        assert one.turns == other.turns


@needs_the_profile
def test_a_look_alike_has_the_profiles_lengths() -> None:
    profile = read_profile(PROFILE_FILE)
    made = list(synthesise(profile, seed=7, conversations=len(profile.conversations)))
    summary = profile_of(made).summary
    assert summary["generated_turns"] == 1007
    for key in ("prompt_chars", "new_input_chars", "completion_chars", "reasoning_chars"):
        for place in ("p50", "p95", "mean"):
            assert summary[key][place] == pytest.approx(profile.summary[key][place], rel=0.02), key
    for place in ("p50", "mean", "sum"):  # p95 is by another rule there
        assert summary["tool_delay_s"][place] == pytest.approx(profile.summary["tool_delay_s"][place], rel=0.02)


def test_synthesis_is_repeatable_scales_and_is_valid(tmp_path: Path) -> None:
    one, two = (list(synthesise(small_profile(), seed=3, conversations=4)) for _ in range(2))
    assert one == two != list(synthesise(small_profile(), seed=4, conversations=4))
    half = profile_of(list(synthesise(small_profile(), seed=3, conversations=4, scale=0.5))).summary
    assert half["new_input_chars"]["sum"] == pytest.approx(
        profile_of(one).summary["new_input_chars"]["sum"] / 2, rel=0.02
    )
    assert all(len(each.turns) == 3 for each in synthesise(small_profile(), seed=3, conversations=2, most_turns=3))
    with pytest.raises(ConfigError):
        list(synthesise(small_profile(), seed=1, conversations=0))


def test_the_commands_from_log_to_profile_to_look_alike(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text(json.dumps({"id": "a", "messages": CHAT}))

    def call(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "relaymark", "data", *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "1 conversations with 3 turns" in call(
        "import", "log.jsonl", "--out", "t.jsonl", "--anonymise", "--name", "acme"
    )
    assert "jane" not in (tmp_path / "t.jsonl").read_text() and "acme" not in (tmp_path / "t.jsonl").read_text()
    call("profile", "t.jsonl", "--out", "p.json")
    call("synth", "--profile", "p.json", "--seed", "7", "--conversations", "5", "--out", "s.jsonl")
    made = load_trajectories(tmp_path / "s.jsonl")
    assert (len(made), {len(one.turns) for one in made}) == (5, {3})
