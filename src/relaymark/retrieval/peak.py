"""Peak memory of a process and its children."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path


class Peak:
    """Largest sum of memory of this process and its children that was seen: PSS, which counts
    shared pages once."""

    def __init__(self) -> None:
        self.bytes = 0
        self._last = 0.0

    def look(self) -> None:
        """Looks, at most twice a second."""
        if time.monotonic() - self._last < 0.5:
            return
        self._last = time.monotonic()
        mine = os.getpid()
        total = 0
        for pid in [mine, *_children(mine)]:
            total += _pss(pid)
        self.bytes = max(self.bytes, total or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


def _children(pid: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(word) for task in tasks for word in (task / "children").read_text().split()]
    except (OSError, ValueError):
        return []


def _pss(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("Pss:")), 0)
