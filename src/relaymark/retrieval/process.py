"""Starts and stops a retrieval server."""

from __future__ import annotations

import contextlib
import select
import subprocess
import sys
import tempfile
from pathlib import Path
from shutil import rmtree
from types import TracebackType
from typing import Self

import msgspec

from relaymark.errors import RelaymarkError
from relaymark.retrieval.specs import ServerSpec

SPEC_FILE = "retrieval.json"
SOCKET_FILE = "retrieval.sock"
_READY_SECONDS = 180.0


class RetrievalServer:
    """A running server. Its socket lies in a folder of its own under the system's temporary one: paths of Unix sockets
    may have 107 bytes, and a run's folder may be deeper.

    Raises:
        RelaymarkError: It could not start; in its own words.
    """

    def __init__(self, spec: ServerSpec, log: Path | None = None) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="relaymark-"))
        self.socket = self._folder / SOCKET_FILE
        (self._folder / SPEC_FILE).write_bytes(msgspec.json.encode(spec))
        command = [sys.executable, "-m", "relaymark.retrieval.server", str(self._folder)]
        with (log or Path("/dev/null")).open("ab") as errors:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, process_group=0
            )
        said = self._first_words()
        if said != "ready":
            self.stop()
            raise RelaymarkError(
                said.removeprefix("error ") or "The retrieval server did not start.", where=str(log or "")
            )

    def _first_words(self) -> str:
        stdout = self.process.stdout
        if stdout is None or not select.select([stdout], [], [], _READY_SECONDS)[0]:
            return ""
        return stdout.readline().decode(errors="replace").strip()

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self.process.poll() is None

    def stop(self) -> None:
        """Ends it; harmless when it has ended."""
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
