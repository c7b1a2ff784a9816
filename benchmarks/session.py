"""What the cases share: the programs, the cores, how much to run, and runs that several cases read."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from programs import Marked, Native, endpoint, mark, read


@dataclass(frozen=True)
class Sizes:
    """How much each case runs."""

    streams: int = 1000
    tokens: int = 128
    rounds: int = 5
    unpaced_streams: int = 256
    unpaced_requests: int = 8000
    whole_tokens: int = 4
    whole_reader: int = 100_000
    whole_relaymark: int = 60_000
    helps: int = 10
    memory_rounds: tuple[int, int] = (10, 100)


QUICK = Sizes(
    streams=100,
    tokens=32,
    rounds=2,
    unpaced_requests=512,
    whole_reader=5000,
    whole_relaymark=2000,
    helps=2,
    memory_rounds=(2, 6),
)


@dataclass(frozen=True)
class Row:
    """One line of the table. ``met`` is None where there is no bar, ``reader`` where it has no part."""

    case: str
    what: str
    unit: str
    relaymark: float
    reader: float | None = None
    bar: str = ""
    met: bool | None = None

    @property
    def ratio(self) -> float | None:
        """Relaymark's figure over the reader's."""
        return self.relaymark / self.reader if self.reader else None


@dataclass
class Pairs:
    """The same load by both clients in turn, as often as was asked for."""

    readers: list[dict[str, Any]]
    marks: list[Marked]

    def reader(self, value: Callable[[dict[str, Any]], float]) -> float:
        """Median over the reader's runs."""
        return median(map(value, self.readers))

    def relaymark(self, value: Callable[[Marked], float]) -> float:
        """Median over Relaymark's runs."""
        return median(map(value, self.marks))


@dataclass
class Session:
    """One session: everything in it ran on the same machine at about the same time."""

    native: Native
    cores: tuple[int, int]  # endpoint's, client's
    repeat: int
    sizes: Sizes
    raw: dict[str, Any] = field(default_factory=dict[str, Any])  # every single figure, for the results file
    _paced: dict[int, Pairs] = field(default_factory=dict[int, Pairs])

    def say(self, text: str) -> None:
        """One line of progress."""
        print(text, file=sys.stderr, flush=True)

    @contextmanager
    def endpoint(self, ttft_ms: int = 0, itl_ms: int = 0) -> Generator[int]:
        """The endpoint on its core; gives its port."""
        with endpoint(self.native, self.cores[0], ttft_us=ttft_ms * 1000, itl_us=itl_ms * 1000) as port:
            yield port

    def paced(self, itl_ms: int) -> Pairs:
        """The paced load, run at most once a session: 50 ms to the first token, ``itl_ms`` between tokens."""
        if itl_ms not in self._paced:
            sizes = self.sizes
            with self.endpoint(50, itl_ms) as port:
                self._paced[itl_ms] = self.pairs(
                    f"paced-{itl_ms}", port, sizes.streams, sizes.streams * sizes.rounds, sizes.tokens
                )
        return self._paced[itl_ms]

    def pairs(
        self,
        name: str,
        port: int,
        streams: int,
        requests: int,
        tokens: int,
        *,
        stream: bool = True,
        relaymark_requests: int | None = None,
    ) -> Pairs:
        """Runs reader and Relaymark in turn."""
        pairs = Pairs([], [])
        for turn in range(1, self.repeat + 1):
            self.say(f"{name}: reader, {turn} of {self.repeat}")
            pairs.readers.append(
                read(self.native, self.cores[1], port, streams=streams, requests=requests, tokens=tokens, stream=stream)
            )
            pairs.marks.append(
                self.mark(name, turn, port, streams, relaymark_requests or requests, tokens, stream=stream)
            )
        self.raw.setdefault(name, {})["reader"] = pairs.readers
        return pairs

    def mark(
        self,
        name: str,
        turn: int,
        port: int,
        streams: int,
        requests: int,
        tokens: int,
        *,
        stream: bool = True,
        memory: bool = False,
    ) -> Marked:
        """One run of Relaymark on the client's core, noted for the results file."""
        self.say(f"{name}: relaymark, {turn} of {self.repeat}")
        marked = mark(
            self.cores[1], port, streams=streams, requests=requests, tokens=tokens, stream=stream, memory=memory
        )
        self.raw.setdefault(name, {}).setdefault("relaymark", []).append(told(marked))
        return marked


def told(marked: Marked) -> dict[str, Any]:
    """What the results file keeps of one run of Relaymark. Times in ms, sizes in bytes."""
    used, stage = marked.used, marked.stage
    kept = {name: stage["distributions"].get(name) for name in ("ttft", "chunk_gap", "itl", "latency")}
    return {
        "wall": used.wall,
        "cpu": used.cpu,
        "worker_cpu": marked.worker_cpu,
        "peak_pss": used.peak_pss,
        "peak_rss": used.peak_rss,
        "request_rate": stage["request_rate"],
        "token_rate": stage["output_token_rate"],
        "requests": stage["requests"],
        "valid": marked.summary["verdict"]["valid"],
        "reasons": reasons(marked),
        "error_bar": marked.summary["error_bar"],
        "distributions": {
            name: {f"p{one['q'] * 100:g}": one["value"] / 1e6 for one in values["quantiles"]}
            for name, values in kept.items()
            if values
        },
    }


def reasons(marked: Marked) -> list[str]:
    """What the verdict says, reasons first."""
    verdict = marked.summary["verdict"]
    return [one["text"] for one in verdict["reasons"] + verdict["warnings"]]
