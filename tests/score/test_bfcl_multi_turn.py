"""Multi-turn BFCL: verdicts against the data set's own checker, the sealed world, a score that is known beforehand."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from bfcl_data import importable

from relaymark.data.fetching import mpmath_folder
from relaymark.emulate import ScriptedConfig, start_scripted
from relaymark.errors import ConfigError
from relaymark.score.bfcl.multi_turn import SUBSETS, Entry, load_entries
from relaymark.score.bfcl.multi_turn.conversation import MOST_STEPS, Conversation, Step
from relaymark.score.bfcl.multi_turn.entries import CLASSES, PACKAGE
from relaymark.score.bfcl.multi_turn.world import Worlds
from relaymark.trace.turns import SaidCall

Call = tuple[str, dict[str, Any]]
Turns = list[list[list[Call]]]  # turn → step → calls


@pytest.fixture(scope="module")
def wheel() -> Path:
    return importable()


@pytest.fixture(scope="module")
def entries(wheel: Path) -> list[Entry]:
    return load_entries(wheel)


@pytest.fixture(scope="module")
def worlds(wheel: Path) -> Iterator[Worlds]:
    with Worlds([wheel, mpmath_folder()]) as opened:
        yield opened


def right_turns(entry: Entry) -> Turns:
    """The right calls with named values, as a model sends them; all calls of a turn at once."""
    described = {
        one["name"]: one for one in [*entry.functions, *(f for held in entry.held_back.values() for f in held)]
    }

    def call(text: str) -> Call:
        tree = ast.parse(text.strip(), mode="eval").body
        assert isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name)
        names = list(described[tree.func.id]["parameters"]["properties"]) if tree.args else []
        values = {name: ast.literal_eval(value) for name, value in zip(names, tree.args, strict=False)}
        return tree.func.id, values | {str(one.arg): ast.literal_eval(one.value) for one in tree.keywords}

    return [[[call(text) for text in turn]] if turn else [] for turn in entry.truth]


def variants(entry: Entry, draw: Random) -> Iterator[Turns]:
    """The right way, and the ways in which models stray from it."""
    right = right_turns(entry)
    yield right
    yield [[[call] for step in turn for call in step] for turn in right]  # one call at a time
    full = [place for place, turn in enumerate(right) if turn]
    place = draw.choice(full)
    calls = right[place][0]
    spot = draw.randrange(len(calls))

    def with_calls(*made: Call) -> Turns:
        return [*right[:place], [list(made)] if made else [], *right[place + 1 :]]

    yield with_calls()  # it only talks
    yield with_calls(*calls[:spot], *calls[spot + 1 :])
    yield with_calls(*calls, calls[spot])
    yield with_calls(*reversed(calls))
    name, values = calls[spot]
    yield with_calls(*calls[:spot], (f"{name}x", values), *calls)
    if values:
        key = draw.choice(sorted(values))
        odd = draw.choice(["other", 0, -1, 1.5, None, [], {}, True, ["x"]])
        yield with_calls(*calls[:spot], (name, {**values, key: odd}), *calls[spot + 1 :])
    other = draw.choice(entry.functions)
    yield with_calls(*calls, (other["name"], {}))  # something that was not asked for
    if full[0] != place:  # what should have been done later is done at once
        first = right[full[0]][0]
        yield [*right[: full[0]], [[*first, *calls]], *right[full[0] + 1 :]]
    for empty in set(range(len(right))) - set(full):  # a call where nothing can be done
        yield [*right[:empty], [[calls[spot]]], *right[empty + 1 :]]


def written(name: str, values: dict[str, Any]) -> str:
    """A call as the data set's checker takes it."""
    return f"{name}({','.join(f'{key}={value!r}' for key, value in values.items())})"


def verdict(entry: Entry, worlds: Worlds, turns: Turns) -> bool:
    """Ours: a conversation with a model that does so, and then says that it is done."""
    conversation = Conversation(entry, worlds)
    for turn in turns:
        for calls in [*turn, []]:
            if conversation.right is None:
                said = [SaidCall(name, json.dumps(values)) for name, values in calls]
                conversation.take(
                    Step(
                        id=entry.id,
                        turn=conversation.turn,
                        step=conversation.step,
                        asked="m",
                        outcome="ok",
                        content="Done.",
                        calls=said,
                    )
                )
    assert conversation.right is not None
    return conversation.right


def test_every_conversation_goes_right_with_the_right_calls(entries: list[Entry], worlds: Worlds) -> None:
    assert Counter(entry.subset for entry in entries) == dict.fromkeys(SUBSETS, 200)
    assert [entry.id for entry in entries if not verdict(entry, worlds, right_turns(entry))] == []


def test_verdicts_are_the_data_sets_own(entries: list[Entry], worlds: Worlds) -> None:
    from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker import (  # pyright: ignore
        multi_turn_checker,  # pyright: ignore
    )

    draw = Random(7)
    seen: Counter[bool] = Counter()
    for number, entry in enumerate(draw.sample(entries, 150)):
        for which, turns in enumerate(variants(entry, draw)):
            decoded = [
                [
                    [f"{name}({','.join(f'{k}={v!r}' for k, v in values.items())})" for name, values in step]
                    for step in turn
                ]
                for turn in turns
            ]
            raw = {"id": entry.id, "initial_config": entry.config, "involved_classes": entry.classes}
            theirs = multi_turn_checker(decoded, entry.truth, raw, entry.subset, f"m{number}_{which}")["valid"]
            assert verdict(entry, worlds, turns) == theirs, (entry.id, which, decoded)
            seen[theirs] += 1
    assert min(seen.values()) > 300


def test_held_back_functions_come_when_they_are_promised(entries: list[Entry], worlds: Worlds) -> None:
    entry = next(entry for entry in entries if entry.held_back)
    turn, held = next(iter(entry.held_back.items()))
    names = {one["name"] for one in held}
    conversation = Conversation(entry, worlds)
    for place, calls in enumerate(right_turns(entry)):
        offered = {tool["function"]["name"] for tool in conversation.tools}
        assert names <= offered if place >= turn else not names & offered
        assert all("response" not in tool["function"] for tool in conversation.tools)
        for step in [*calls, []]:
            said = [SaidCall(name, json.dumps(values)) for name, values in step]
            conversation.take(
                Step(id=entry.id, turn=place, step=conversation.step, asked="m", outcome="ok", calls=said)
            )
    assert conversation.right


def test_what_a_model_sends_is_what_it_is_shown_again(entries: list[Entry], worlds: Worlds) -> None:
    conversation = Conversation(entries[0], worlds)
    calls = [SaidCall("cd", '{"folder": "document"}'), SaidCall("ls", "{not json"), SaidCall("rm", "[1]")]
    conversation.take(Step(id=entries[0].id, turn=0, step=0, asked="m", outcome="ok", content="I look.", calls=calls))
    said, *results = conversation.messages[-4:]
    assert said["content"] == "I look."
    assert [json.loads(one["function"]["arguments"]) for one in said["tool_calls"]] == [{"folder": "document"}, {}, {}]
    assert [one["tool_call_id"] for one in results] == [one["id"] for one in said["tool_calls"]]
    assert len({one["tool_call_id"] for one in results}) == 3
    assert "document" in results[0]["content"] and "missing 1 required" in results[2]["content"]


def test_a_model_without_an_end_is_wrong(entries: list[Entry], worlds: Worlds) -> None:
    conversation = Conversation(entries[0], worlds)
    for number in range(MOST_STEPS):
        assert conversation.right is None
        call = [SaidCall("ls", "{}")]
        conversation.take(Step(id=entries[0].id, turn=0, step=number, asked="m", outcome="ok", calls=call))
    assert conversation.right is False and "no end" in conversation.why


# -- the world's process -------------------------------------------------------------------------------------

EVIL = """
import os, socket, subprocess, time, pathlib, shutil, sys

class GorillaFileSystem:
    def __init__(self): self.files = []
    def _load_scenario(self, state, long_context=False): self.files = list(state.get("files", []))
    def add(self, name): self.files.append(name); print("added"); return self.files
    def names(self): return {"names": self.files}
    def secret(self): return os.environ.get("OPENAI_API_KEY", "none")
    def read(self): return open("/etc/hostname").read()
    def read_bytes(self): return os.read(os.open("/etc/hostname", os.O_RDONLY), 9)
    def write(self): return pathlib.Path(sys.prefix, "x").write_text("x")
    def connect(self): return socket.create_connection(("127.0.0.1", 1))
    def start(self): return subprocess.run(["true"])
    def shell(self): return os.system("true")
    def fork(self): return os.fork()
    def erase(self): return shutil.rmtree("/nowhere")
    def unlinked(self): return os.unlink("/nowhere")
    def sleep(self): time.sleep(60)
    def leave(self): os._exit(3)
    def swell(self): return len(bytearray(8 << 30))
    def odd(self): return "half \\ud800 pair"
    def kill(self): return "killed"
    def _hidden(self): return "hidden"
"""


@pytest.fixture
def evil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Worlds]:
    """A world whose classes try what no simulated class should."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    home = tmp_path / PACKAGE / "eval_checker" / "multi_turn_eval" / "func_source_code"
    home.mkdir(parents=True)
    for name, (module, _) in CLASSES.items():
        (home / f"{module}.py").write_text(EVIL if name == "GorillaFileSystem" else f"class {name}: pass\n")
    with Worlds([tmp_path], seconds=2) as worlds:
        worlds.open(Entry("a", "base", [[]], [[]], ["GorillaFileSystem"], {"GorillaFileSystem": {}}, [], {}))
        yield worlds


@pytest.mark.parametrize(
    "name", ["read", "read_bytes", "write", "connect", "start", "shell", "fork", "erase", "unlinked", "swell"]
)
def test_the_world_is_sealed(evil: Worlds, name: str) -> None:
    said = evil.call("a", name, {})
    assert said.startswith("Error during execution") and "no such file" not in said.lower(), said
    assert "refused" not in said  # a socket's own words: it would have tried


def test_the_world_has_no_keys_and_hides_what_is_private(evil: Worlds) -> None:
    assert evil.call("a", "secret", {}) == "none"
    for name in ("_hidden", "__init__", "_load_scenario", "__class__", "files", "nothing"):
        assert "is not defined" in evil.call("a", name, {})
    assert "not allowed" in evil.call("a", "kill", {})
    assert evil.call("a", "odd", {}) == "half ? pair"


@pytest.mark.parametrize(("name", "why"), [("sleep", "took longer than 2 s"), ("leave", "broke the simulated world")])
def test_a_call_that_ends_the_process_costs_nothing_but_itself(evil: Worlds, name: str, why: str) -> None:
    assert evil.call("a", "add", {"name": "x"}) == "['x']"
    assert why in evil.call("a", name, {})
    assert evil.call("a", "add", {"name": 10**30}) == f"['x', {10**30}]"
    assert evil.check("a", [], called=True) is None
    assert evil.check("a", ["add('x')"], called=False) == "it called nothing"


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="bfcl_eval is not here"):
        load_entries(tmp_path)
    with pytest.raises(ConfigError, match="can't start"):
        Worlds([tmp_path])


# -- from the command line -----------------------------------------------------------------------------------


def script_of(path: Path, entries: list[Entry], wrong: Callable[[Entry], bool]) -> Path:
    """A script that makes a turn's right calls when it is asked, and says that it is done when they were made."""
    lines: list[dict[str, Any]] = []
    for entry in entries:
        for messages, steps in zip(entry.turns, right_turns(entry), strict=True):
            calls = [{"name": name, "arguments": json.dumps(values)} for step in steps for name, values in step]
            reply = {"content": "There is nothing to do."} if wrong(entry) or not calls else {"tool_calls": calls}
            lines.append({"match": {"last": messages[-1]["content"]}, "reply": reply})
    lines.append({"match": {}, "reply": {"content": "Done."}})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_known_score_comes_out_and_asking_goes_on_where_it_was(
    tmp_path: Path, wheel: Path, entries: list[Entry]
) -> None:
    chosen = [entry for entry in entries if entry.subset == "base"][:40]
    texts = Counter(messages[-1]["content"] for entry in chosen for messages in entry.turns)
    assert max(texts.values()) == 1  # or the script could not tell them apart
    wrong = {entry.id for entry in chosen[::4]}
    script = script_of(tmp_path / "script.jsonl", chosen, lambda entry: entry.id in wrong)
    folder = tmp_path / "run"
    folder.mkdir()
    command = [sys.executable, "-m", "relaymark", "score", str(folder), "--with", "bfcl-multi-turn", "--json"]
    command += ["--subset", "base", "--limit", "40", "--bfcl-data", str(wheel)]

    def ask(url: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*command, "--url", url], capture_output=True, text=True, check=False)

    with start_scripted(ScriptedConfig(script=f"table:{script}", down_after=100)) as server:
        first = ask(server.url)
    assert first.returncode == 4 and "went away" in first.stderr, first.stderr
    kept = (folder / "bfcl_multi_turn.jsonl").read_text().splitlines()
    assert 50 < len(kept) <= 100
    with start_scripted(ScriptedConfig(script=f"table:{script}")) as server:
        done = ask(server.url)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["entries"], told["right"], told["failed"]) == (40, 30, 0)
    assert told["subsets"]["base"]["right"] == 30 and told["overall"] == 0.75 and told["low"] < 0.75 < told["high"]
    assert told["why_wrong"] == {"it called nothing": 10}
    answers = [json.loads(line) for line in (folder / "bfcl_multi_turn.jsonl").read_text().splitlines()]
    assert answers[: len(kept)] == [json.loads(line) for line in kept]
    assert len({(one["id"], one["turn"], one["step"]) for one in answers}) == len(answers) == told["steps"]


def test_options_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "relaymark", "score", str(tmp_path), "--url", "http://127.0.0.1:9", "--with"]
    for options in (["bfcl", "--limit", "3"], ["bfcl-multi-turn", "--hinted"], ["bfcl-multi-turn", "--limit", "0"]):
        done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
        assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
