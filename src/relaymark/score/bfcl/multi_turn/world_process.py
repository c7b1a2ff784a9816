"""The simulated world, in a process of its own: ``python -m relaymark.score.bfcl.multi_turn.world_process FOLDER …``.

Its classes are the data set's own code, and a model decides what is called with which values. So nothing here is
evaluated: a call is a name among a class's public methods, and values. And this process is sealed: it gets no keys, can
start no process, open no socket, read nothing but Python's own files and the data set, write nothing, and has bounded
memory. It reads requests and writes replies, a line of JSON each.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import importlib
import inspect
import json
import os
import resource
import sys
from collections.abc import Callable
from typing import Any, cast

from relaymark.score.bfcl.multi_turn.entries import CLASSES

_HOME = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code"
_STATELESS = frozenset(("MathAPI",))
_MEMORY = 4 << 30
# The data set's own list: what must not be called, even where a class had it.
_FORBIDDEN = frozenset(("kill", "exit", "quit", "remove", "unlink", "popen", "Popen", "run"))
_SEALED = (
    "socket.", "subprocess.", "ctypes.", "shutil.", "urllib.", "http.", "ftplib.", "smtplib.", "sqlite3.", "pty.",
    "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.kill", "os.remove", "os.rename", "os.rmdir",
    "os.mkdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.chown", "os.putenv", "os.startfile",
)  # fmt: skip

Instances = dict[str, Any]


class _World:
    """Two worlds: what the model did, and what was right."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.model = _instances(request)
        self.truth = _instances(request)
        self.results: list[str] = []  # of all the model's calls so far


def _instances(request: dict[str, Any]) -> Instances:
    made: Instances = {}
    for name in request["classes"]:
        made[name] = getattr(importlib.import_module(f"{_HOME}.{CLASSES[name][0]}"), name)()
        if name not in _STATELESS:
            state = copy.deepcopy(request["config"].get(name, {}))
            made[name]._load_scenario(state, long_context=request["long_context"])
    return made


def _call(instances: Instances, name: str, values: list[Any], named: dict[str, Any]) -> str:
    """What a call says, in the words that the data set compares."""
    if name in _FORBIDDEN:
        return f"Error during execution: Function call {name} is not allowed."
    method: Callable[..., Any] | None = None
    for instance in instances.values():
        found = None if name.startswith("_") else getattr(instance, name, None)
        method = found if inspect.ismethod(found) else method
    if method is None:
        return f"Error during execution: name '{name}' is not defined"
    try:
        said = method(*values, **named)
    except Exception as error:
        return f"Error during execution: {error}"
    if isinstance(said, dict):
        with contextlib.suppress(TypeError, ValueError, RecursionError):
            return json.dumps(said)
    return str(said)


def _call_text(instances: Instances, text: str) -> str:
    """One right call, as the data set writes it: ``name(value, key=value)``, all of them literals."""
    tree = ast.parse(text.strip(), mode="eval").body
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name):
        raise ValueError(f"it is no call: {text[:100]}")
    values = [ast.literal_eval(value) for value in tree.args]
    named = {keyword.arg or "": ast.literal_eval(keyword.value) for keyword in tree.keywords}
    return _call(instances, tree.func.id, values, named)


def _check(world: _World, calls: list[str], called: bool) -> str | None:
    """Why the model's turn is wrong; ``None``: it is right."""
    wanted = [_call_text(world.truth, call) for call in calls]
    if not calls:
        return None  # nothing could be done: what the model tried is seen in the next turn's state
    if not called:
        return "it called nothing"
    for name, truth in world.truth.items():
        for attribute, value in vars(truth).items():
            if not attribute.startswith("_") and vars(world.model[name]).get(attribute) != value:
                return f"the state of {name}.{attribute} is another one"
    left = list(world.results)
    for result in wanted:
        if result not in left:
            return "what the right calls say was never said"
        left.remove(result)
    return None


def _answer(worlds: dict[str, _World], request: dict[str, Any]) -> str | None:
    identity = request["id"]
    match request["do"]:
        case "open":
            worlds[identity] = _World(request)
            return None
        case "call":
            world = worlds[identity]
            world.results.append(_call(world.model, request["name"], [], request["arguments"]))
            return world.results[-1]
        case "check":
            return _check(worlds[identity], request["calls"], request["called"])
        case "close":
            worlds.pop(identity, None)
            return None
        case other:
            raise ValueError(f"{other} is no request")


def _seal(folders: list[str]) -> None:
    """From here on this process can do nothing but compute, however the data set's code is made to run."""
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    readable = tuple(f"{folder}{os.sep}" for folder in {sys.prefix, sys.base_prefix, *sys.path, *folders} if folder)
    written = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

    def guard(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            text = os.fsdecode(path) if isinstance(path, (str, bytes)) else ""
            if flags & written or not text.startswith(readable):
                raise PermissionError("the simulated world opens no files")
        elif event.startswith(_SEALED):
            raise PermissionError(f"the simulated world can't do this: {event}")

    sys.addaudithook(guard)


def main(folders: list[str]) -> None:
    """Serves until its input ends."""
    replies = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # a class that prints must not speak between replies
    sys.path[:0] = folders
    try:
        for module, _ in CLASSES.values():
            importlib.import_module(f"{_HOME}.{module}")
    except ImportError as error:
        replies.write(json.dumps({"error": f"{error}"}).encode() + b"\n")
        return
    _seal(folders)
    replies.write(b'{"said": "ready"}\n')
    worlds: dict[str, _World] = {}
    for line in sys.stdin.buffer:
        try:
            said: str | None = _answer(worlds, cast("dict[str, Any]", json.loads(line)))
            reply = {"said": said and said.encode(errors="replace").decode()}
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}"[:500]}
        replies.write(json.dumps(reply).encode() + b"\n")


if __name__ == "__main__":
    main(sys.argv[1:])
