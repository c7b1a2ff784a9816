"""This machine as a measuring instrument: real runs against the built-in paced endpoint, at growing loads."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from relaymark.bench import Benchmark, build_benchmark
from relaymark.emulate import PacedConfig, PacedServer, TruthRecord, start_paced
from relaymark.relay.coordinator import Coordinator
from relaymark.relay.merge import finish
from relaymark.relay.preparation import prepare

TTFT_SECONDS = 0.05
ITL_SECONDS = 0.02
_TOKENS = 100
LEVELS = (50, 100, 200, 500, 1000, 2000, 4000)


@dataclass(frozen=True, slots=True)
class Trial:
    """One level that was run: where its trace is and what the endpoint knows of it."""

    streams: int
    folder: Path
    truth: list[TruthRecord]

    @property
    def offered(self) -> float:
        """Events/s that so many streams come to when nobody is late."""
        return self.streams * _TOKENS / (TTFT_SECONDS + (_TOKENS - 1) * ITL_SECONDS)

    @property
    def endpoint_late_p99(self) -> float:
        """How late the endpoint itself sent its events, p99 in ns: beyond a few ms the trial says nothing of us."""
        late = sorted(at - due for r in self.truth for at, due in zip(r.sent_at, r.due, strict=False))
        return float(late[int(0.99 * (len(late) - 1))]) if late else 0.0


@contextmanager
def trials(workers: int) -> Generator[Callable[[int], Trial]]:
    """Gives a function that runs one level (a number of streams) for about four seconds.

    Everything lies in a temporary folder that is removed at the end.
    """
    with tempfile.TemporaryDirectory(prefix="relaymark-doctor-") as name:
        parent = Path(name)

        def run(streams: int) -> Trial:
            log = parent / f"truth-{streams}.jsonl"
            config = PacedConfig(ttft=TTFT_SECONDS, itl=ITL_SECONDS, tokens=_TOKENS, log_path=log)
            with start_paced(config) as server:
                folder = prepare(_benchmark(server, streams, workers), parent, parent)
                Coordinator(folder).run()
                truth = server.truth()
            finish(folder)
            return Trial(streams, folder, truth)

        yield run


def _benchmark(server: PacedServer, streams: int, workers: int) -> Benchmark:
    # Two rounds: the first one's sends come in one burst, which no paced load has; both count.
    return build_benchmark(
        {
            "name": f"doctor-{streams}",
            "endpoint.url": server.url,
            "load": f"concurrency:{streams}",
            "requests": streams * 2,
            "sampling.max_tokens": _TOKENS,
            "workers": workers,
        }
    )
