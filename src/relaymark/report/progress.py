"""What a run shows while it runs: one live line on a terminal, an occasional plain line in a log."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.text import Text

from relaymark.report.clean import plain_line
from relaymark.report.digits import clock, count, duration, number


@dataclass(frozen=True)
class ProgressSnapshot:
    """The state of a run at one moment. None means unknown and is left out of the line."""

    stage: str  # label of the stage: "concurrency 4"
    stage_number: int  # from 1
    stages: int
    elapsed: float  # seconds into the stage
    left: float | None  # seconds until the stage's end, where its length is known
    done: int  # requests that ended, however
    total: int | None  # requests the stage will send, where it is known
    in_flight: int
    failures: int
    tokens_per_second: float | None = None
    ttft_p50: float | None = None  # ns, over the stage so far
    unit: str = "requests"
    phase: str = ""  # "warm-up", "draining"; empty while measuring


def progress_line(snapshot: ProgressSnapshot, width: int | None = None) -> str:
    """The snapshot on one line of at most `width` characters: what matters least is left out first."""
    s = snapshot
    stage = plain_line(s.stage, 28) or "stage"
    head = f"{s.stage_number}/{s.stages} {stage}" if s.stages > 1 else stage
    if s.phase:
        head += f" ({plain_line(s.phase, 16)})"
    left = f", {clock(s.left)} left" if s.left is not None else ""
    requests = f"{count(s.done)}/{count(s.total)} {s.unit}" if s.total is not None else f"{count(s.done)} {s.unit}"
    # In order of importance; the fields are then shown in the order a reader expects them.
    fields = {
        "head": head,
        "requests": requests,
        "failed": f"{count(s.failures)} FAILED" if s.failures else "",
        "time": f"{clock(s.elapsed)}{left}",
        "tokens": f"{number(s.tokens_per_second)} tok/s" if s.tokens_per_second is not None else "",
        "ttft": f"TTFT p50 {duration(s.ttft_p50)}" if s.ttft_p50 is not None else "",
        "flight": f"{count(s.in_flight)} in flight",
    }
    shown = {name: text for name, text in fields.items() if text}
    order = ("head", "time", "requests", "flight", "tokens", "ttft", "failed")
    for unneeded in ("", "flight", "ttft", "tokens", "time", "failed"):
        shown.pop(unneeded, None)
        line = " · ".join(shown[name] for name in order if name in shown)
        if width is None or len(line) <= width:
            return line
    return plain_line(line, width)


class Progress:
    """Shows snapshots until the `with` block ends.

    On a terminal one line is redrawn four times a second and removed at the end; elsewhere a plain line is
    written every `plain_every` seconds and whenever a new stage begins. `source` is called from another thread
    and must therefore only read (counters in shared memory); None from it means that there is nothing to show yet.
    """

    def __init__(
        self, source: Callable[[], ProgressSnapshot | None], console: Console, *, plain_every: float = 10.0
    ) -> None:
        self._source = source
        self._console = console
        self._plain = PlainProgress(console, plain_every)
        self._live: Live | None = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Progress:
        if self._console.is_terminal and not self._console.is_dumb_terminal:
            self._live = Live(get_renderable=self._render, console=self._console, refresh_per_second=4, transient=True)
            self._live.start()
        else:
            self._thread = threading.Thread(target=self._write_plain, name="progress", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        if self._live is not None:
            self._live.stop()
        if self._thread is not None:
            self._thread.join()

    def _render(self) -> Text:
        snapshot = self._source()
        width = self._console.width - 1
        return Text(progress_line(snapshot, width) if snapshot else "", no_wrap=True, overflow="ellipsis")

    def _write_plain(self) -> None:
        while True:
            snapshot = self._source()
            if snapshot is not None:
                self._plain.tick(snapshot, time.monotonic())
            if self._stop.wait(0.5):
                return


class PlainProgress:
    """Decides when a log gets another line."""

    def __init__(self, console: Console, every: float) -> None:
        self._console = console
        self._every = every
        self._last: float | None = None
        self._shown: tuple[int, str] | None = None

    def tick(self, snapshot: ProgressSnapshot, now: float) -> bool:
        """Write a line if one is due at `now` (seconds of any steady clock); True when it was written."""
        place = (snapshot.stage_number, snapshot.phase)
        if self._last is not None and place == self._shown and now - self._last < self._every:
            return False
        self._last, self._shown = now, place
        # soft_wrap: a log line stays one line whatever width rich assumes for a pipe.
        self._console.print(Text(progress_line(snapshot)), soft_wrap=True, highlight=False)
        return True
