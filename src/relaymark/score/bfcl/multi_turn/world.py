"""The other end of the simulated world's process: opens worlds, calls functions in them, has turns checked."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from shutil import rmtree
from types import TracebackType
from typing import Any, Self

import msgspec

from relaymark.errors import ConfigError
from relaymark.score.bfcl.multi_turn.entries import Entry

_SECONDS = 10.0
"""For one call: a model may ask for a sum that takes for ever."""
_START_SECONDS = 60.0
_MOST_BYTES = 64 << 20
_KEPT = ("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "TMPDIR", "RELAYMARK_TESTS")


class _LostError(Exception):
    """The process died or did not answer in time."""


class _Reply(msgspec.Struct):
    said: str | None = None
    error: str | None = None


class Worlds:
    """Simulated worlds by their conversation's id.

    A call that the process does not survive is answered with an error; the process is started anew, and every world is
    brought back to where it was by doing again what had been done in it.

    Raises:
        ConfigError: The process can't start: a package is missing.
    """

    def __init__(self, folders: list[Path], seconds: float = _SECONDS) -> None:
        self._folders = [str(folder.resolve()) for folder in folders]
        self._seconds = seconds
        self._done: dict[str, list[bytes]] = {}
        self._lives: dict[str, int] = {}  # id → the process that has its world
        self._life = 0
        self._empty = tempfile.mkdtemp(prefix="relaymark-")
        self._process: subprocess.Popen[bytes] | None = None
        self._rest = b""
        self._start()

    def open(self, entry: Entry) -> None:
        """Makes the world of a conversation.

        Raises:
            ConfigError: It can't be made.
        """
        self._done[entry.id] = []
        self._lives[entry.id] = self._life
        reply = self._ask(
            entry.id,
            {"do": "open", "classes": entry.classes, "config": entry.config,
             "long_context": entry.subset == "long_context"},
        )  # fmt: skip
        if reply.error is not None:
            raise ConfigError(f"its world can't be made: {reply.error}", where=entry.id)

    def call(self, identity: str, name: str, arguments: Mapping[str, Any]) -> str:
        """Calls a function for the model; what it says."""
        reply = self._ask(identity, {"do": "call", "name": name, "arguments": arguments})
        return f"Error during execution: {reply.error}" if reply.error is not None else reply.said or ""

    def check(self, identity: str, calls: list[str], *, called: bool) -> str | None:
        """Makes a turn's right calls and compares; why the model's turn is wrong, or ``None``."""
        reply = self._ask(identity, {"do": "check", "calls": calls, "called": called})
        return f"it can't be checked: {reply.error}" if reply.error is not None else reply.said

    def forget(self, identity: str) -> None:
        """Frees a world that is done with."""
        self._ask(identity, {"do": "close"})
        del self._done[identity], self._lives[identity]

    def close(self) -> None:
        """Ends the process."""
        self._end()
        rmtree(self._empty, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- the process -----------------------------------------------------------------------------------------

    def _ask(self, identity: str, request: dict[str, Any]) -> _Reply:
        # Not msgspec: a model's whole numbers may have any length, and half a surrogate pair passes as its escape.
        line = json.dumps({**request, "id": identity}).encode() + b"\n"
        if self._lives[identity] != self._life:
            for done in self._done[identity]:
                self._send(done, _START_SECONDS)
            self._lives[identity] = self._life
        try:
            reply = self._send(line, self._seconds)
        except _LostError as lost:
            self._end()
            self._life += 1
            self._start()
            return _Reply(error=str(lost))
        self._done[identity].append(line)
        return reply

    def _start(self) -> None:
        command = [sys.executable, "-B", "-m", "relaymark.score.bfcl.multi_turn.world_process", *self._folders]
        self._rest = b""
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            cwd=self._empty,
            env={name: os.environ[name] for name in _KEPT if name in os.environ},
            process_group=0,
        )
        try:
            reply = self._receive(_START_SECONDS)
        except _LostError as lost:
            reply = _Reply(error=str(lost))
        if reply.error is not None:
            self.close()
            raise ConfigError(
                f"the simulated world of BFCL can't start: {reply.error}",
                where=self._folders[0],
                mend="fetch it again with `relaymark data fetch bfcl`, which brings mpmath too",
            )

    def _send(self, line: bytes, seconds: float) -> _Reply:
        stdin = self._process.stdin if self._process is not None else None
        if stdin is None:
            raise _LostError("it has ended")
        try:
            stdin.write(line)
        except OSError:
            raise _LostError("it broke the simulated world") from None
        return self._receive(seconds)

    def _receive(self, seconds: float) -> _Reply:
        stdout = self._process.stdout if self._process is not None else None
        if stdout is None:
            raise _LostError("it has ended")
        deadline = time.monotonic() + seconds
        while b"\n" not in self._rest:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([stdout], [], [], left)[0]:
                raise _LostError(f"it took longer than {seconds:.0f} s")
            data = os.read(stdout.fileno(), 1 << 20)
            if not data:
                raise _LostError("it broke the simulated world")
            self._rest += data
            if len(self._rest) > _MOST_BYTES:
                raise _LostError("it said more than can be")
        line, _, self._rest = self._rest.partition(b"\n")
        return msgspec.json.decode(line, type=_Reply)

    def _end(self) -> None:
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self._process = None
