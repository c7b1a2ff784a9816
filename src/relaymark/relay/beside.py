"""Process main of a worker's decoder: goes idle first, so that not even its imports take time from the worker."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path


def be_idle() -> None:
    """Yields the core at once to whoever wants it: SCHED_IDLE where Linux has it, the lowest nice elsewhere."""
    with contextlib.suppress(OSError, AttributeError):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        return
    with contextlib.suppress(OSError):
        os.nice(19)


if __name__ == "__main__":
    be_idle()
    from relaymark.relay.decoder import run_beside

    run_beside(Path(sys.argv[1]), int(sys.argv[2]))
