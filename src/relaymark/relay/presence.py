"""Who is still at work in a run's folder: a lock that the kernel lets go of when its holder dies, however it dies.

Every process of a run holds it shared for as long as it lives. Whoever merges the run takes it alone, so that no two
decode the same journal, and a run killed a moment ago is not merged while its last decoder still writes.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Generator
from pathlib import Path

from relaymark.errors import TraceError
from relaymark.trace.runfolder import PLAN_FILE

try:
    import fcntl
except ImportError:  # Windows: no such locks, and no such kills
    fcntl = None

_RETRY_SECONDS = 0.05


class Presence:
    """Held from its making to ``leave``, or to the end of the process. Raises OSError where the plan is not there."""

    def __init__(self, folder: Path) -> None:
        # The plan is locked because it is there before any process is, and never replaced.
        self._fd = os.open(folder / PLAN_FILE, os.O_RDONLY | os.O_CLOEXEC)
        if fcntl is not None:
            fcntl.flock(self._fd, fcntl.LOCK_SH)

    def leave(self) -> None:
        """Lets go; harmless when that was done before."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


@contextlib.contextmanager
def alone(folder: Path, seconds: float) -> Generator[None]:
    """Keeps every other process out of the folder's run.

    Raises:
        TraceError: Others were still at work after ``seconds``, or there is no plan.
    """
    try:
        fd = os.open(folder / PLAN_FILE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise TraceError(
            f"The run's plan cannot be read: {error.strerror}.",
            where=str(folder / PLAN_FILE),
            mend="The run was broken off before it began; run it again.",
        ) from None
    try:
        deadline = time.monotonic() + seconds
        while not _taken(fd):
            if time.monotonic() >= deadline:
                raise TraceError(
                    "Processes of this run are still at work.", where=str(folder), mend="Wait for its end, or stop it."
                )
            time.sleep(_RETRY_SECONDS)
        yield
    finally:
        os.close(fd)


def _taken(fd: int) -> bool:
    if fcntl is None:
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
