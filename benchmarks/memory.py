"""Peak memory of a process and everything it started, sampled from /proc."""

from __future__ import annotations

import threading
from collections import defaultdict
from pathlib import Path

_EVERY_SECONDS = 0.02


class PeakMemory:
    """Samples until stopped; ``pss`` and ``rss`` are the largest sums over the processes seen at one moment, in bytes.

    PSS divides a page among the processes that share it, so its sum is what the machine would get back; the sum of
    RSS counts shared pages again for each process.
    """

    def __init__(self, root: int) -> None:
        self.pss = 0
        self.rss = 0
        self._root = root
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the sampling."""
        self._over.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._over.wait(_EVERY_SECONDS):
            sums = [_sizes(pid) for pid in descendants(self._root)]
            self.pss = max(self.pss, sum(pss for pss, _ in sums))
            self.rss = max(self.rss, sum(rss for _, rss in sums))


def descendants(root: int) -> list[int]:
    """``root`` and all processes below it. By parents: not every kernel lists children."""
    children: defaultdict[int, list[int]] = defaultdict(list)
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name in parentheses may hold spaces and parentheses; the parent is the second word after it.
            children[int(stat.read_text().rpartition(")")[2].split()[1])].append(int(stat.parent.name))
        except (OSError, IndexError):
            continue  # it ended meanwhile
    found = [root]
    for pid in found:
        found += children[pid]
    return found


def _sizes(pid: int) -> tuple[int, int]:
    """PSS and RSS in bytes; 0 for a process that ended."""
    sizes = {"Pss:": 0, "Rss:": 0}
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            name, _, rest = line.partition(" ")
            if name in sizes:
                sizes[name] = int(rest.split()[0]) * 1024
    except OSError:
        pass
    return sizes["Pss:"], sizes["Rss:"]
