"""A server in a child process that cannot outlive its parent.

Parent and child talk over two pipes. The child reads its configuration as one JSON line from stdin, answers with one
line on stdout (``{"port": …}`` or ``{"error": …}``), and stops when stdin ends, which the kernel sees to even when
the parent is killed. A second watch looks at the parent's pid once a second, for the case that a process forked
from the parent still holds the pipe. (PR_SET_PDEATHSIG isn't used: it fires when the *thread* that started the child
ends.)
"""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, BinaryIO, cast

import msgspec

from relaymark.errors import ConfigError, RelaymarkError

_LOG_TAIL = 2_000  # bytes of a dead server's log that an error shows


class ServerError(RelaymarkError):
    """A server that Relaymark starts itself did not start, or died."""


class ServerProcess:
    """The parent's side.

    Args:
        module: Python module to run with ``-m``.
        config: The line for the child's stdin.
        log_path: Where the child's stderr goes; None discards it.
        name: For error messages.
        start_timeout: Seconds to wait for the ready line.

    Raises:
        ConfigError: The child refused its configuration (port taken, unreadable certificate, …).
        ServerError: It died or said nothing in time.
    """

    def __init__(
        self, module: str, config: bytes, *, log_path: Path | None, name: str, start_timeout: float = 20.0
    ) -> None:
        self.name = name
        self.log_path = log_path
        with contextlib.ExitStack() as opened:
            log: BinaryIO | int = subprocess.DEVNULL
            if log_path is not None:
                try:
                    log = opened.enter_context(log_path.open("ab"))
                except OSError as problem:
                    raise ConfigError(
                        f"the {name}'s log cannot be written: {problem.strerror}", where=str(log_path)
                    ) from problem
            self._process = subprocess.Popen(
                [sys.executable, "-m", module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                # Ctrl-C on the terminal is for the parent, which then stops us in order.
                start_new_session=True,
            )
        try:
            self.ready = self._await_ready(config, start_timeout)
        except BaseException:
            self.stop()
            raise

    @property
    def pid(self) -> int:
        """Process id of the child."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """True while the child runs."""
        return self._process.poll() is None

    def _await_ready(self, config: bytes, timeout: float) -> dict[str, Any]:
        stdin, stdout = self._pipes()
        with contextlib.suppress(BrokenPipeError):
            stdin.write(config + b"\n")
            stdin.flush()
        deadline = time.monotonic() + timeout
        line = bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            while not line.endswith(b"\n"):
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise ServerError(
                        f"the {self.name} was not ready after {timeout:g} s{self.log_tail()}", where=self._where()
                    )
                data = os.read(stdout.fileno(), 4096)
                if not data:
                    raise ServerError(
                        f"the {self.name} ended with exit code {self._process.wait()} before it was ready"
                        f"{self.log_tail()}",
                        where=self._where(),
                    )
                line += data
        answer = cast("dict[str, Any]", msgspec.json.decode(line))
        if "error" in answer:
            raise ConfigError(
                f"the {self.name} cannot start: {answer['error']}",
                where=str(answer.get("where", "")),
                mend=str(answer.get("mend", "")),
            )
        return answer

    def _pipes(self) -> tuple[BinaryIO, BinaryIO]:
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise ServerError(f"the {self.name} has no pipes")
        return cast("BinaryIO", stdin), cast("BinaryIO", stdout)

    def _where(self) -> str:
        return "" if self.log_path is None else str(self.log_path)

    def log_tail(self) -> str:
        """The last lines of the child's log, for an error message; empty without a log."""
        if self.log_path is None:
            return ""
        with contextlib.suppress(OSError), self.log_path.open("rb") as log:
            log.seek(max(0, self.log_path.stat().st_size - _LOG_TAIL))
            tail = log.read().decode("utf-8", "replace").strip()
            if tail:
                return "; its last words:\n" + "\n".join("    " + line for line in tail.splitlines()[-12:])
        return ""

    def stop(self, grace: float = 5.0) -> None:
        """Ask the child to end, insist after ``grace`` seconds. May be called twice."""
        process = self._process
        if process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()
        try:
            process.wait(grace)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()
