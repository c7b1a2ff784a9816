"""What a resolved benchmark comes down to, as plain data.

These structs encode to JSON or msgpack as they are and import nothing heavy, so that a coordinator can hand
them to its workers and workers don't pay for the configuration reader.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

LoadKind = Literal["single", "concurrency", "poisson", "constant", "gamma", "offline", "ramp", "step"]
Arrivals = Literal["poisson", "constant"]


class StepSpec(msgspec.Struct, kw_only=True, frozen=True):
    """One level of a step load: ``rate`` requests per second, held for ``hold`` ns."""

    rate: float
    hold: int


class LoadSpec(msgspec.Struct, kw_only=True, frozen=True):
    """When tasks are sent. Only the fields that the ``kind`` uses are set."""

    kind: LoadKind
    concurrency: int | None = None  # closed loops: number of slots; 1 for single
    rate: float | None = None  # per second: poisson, constant, gamma
    burstiness: float | None = None  # gamma: the shape; 1 is Poisson, below 1 is burstier
    start: float | None = None  # ramp: per second at the start
    end: float | None = None  # ramp: per second at the end
    arrivals: Arrivals | None = None  # ramp, step
    steps: tuple[StepSpec, ...] = ()  # step

    def text(self) -> str:
        """Return the load in a few words: ``poisson 4/s``, ``concurrency 8``."""
        match self.kind:
            case "concurrency":
                return f"concurrency {self.concurrency}"
            case "poisson" | "constant":
                return f"{self.kind} {self.rate:g}/s"
            case "gamma":
                return f"gamma {self.rate:g}/s burstiness {self.burstiness:g}"
            case "ramp":
                return f"ramp {self.start:g}..{self.end:g}/s"
            case "step":
                return f"step {','.join(f'{step.rate:g}' for step in self.steps)}/s"[:100]
            case _:
                return self.kind

    @property
    def open_loop(self) -> bool:
        """True where the schedule doesn't wait for responses."""
        return self.kind not in ("single", "concurrency")


class StageSpec(msgspec.Struct, kw_only=True, frozen=True):
    """One load level with its limits; whichever limit comes first ends it. At least one is set."""

    index: int  # 0, 1, … in the order they run; WARMUP_INDEX for the warm-up
    name: str
    load: LoadSpec
    duration: int | None  # ns
    requests: int | None


WARMUP_INDEX = -1
"""Index of the warm-up's stage: its requests never reach the numbers."""


class LengthSpec(msgspec.Struct, kw_only=True, frozen=True):
    """A length in approximate tokens: normal with ``mean`` and standard deviation ``deviation``."""

    mean: float
    deviation: float = 0.0


class PromptSource(msgspec.Struct, kw_only=True, frozen=True):
    """Where prompts come from. Only the fields that the ``kind`` uses are set."""

    kind: Literal["builtin", "file", "synthetic", "inline"]
    path: str | None = None  # file
    items: tuple[str | dict[str, Any], ...] = ()  # inline: texts, or objects as in a JSONL line
    isl: LengthSpec | None = None  # synthetic: length of the whole prompt, the shared prefix included
    osl: LengthSpec | None = None  # synthetic: max_tokens of each request; None leaves it to sampling
    shared_prefix: int = 0  # synthetic: approximate tokens that every prompt begins with
    unique: int | None = None  # synthetic: number of different prompts; None for one per request


class SloSpec(msgspec.Struct, kw_only=True, frozen=True):
    """One bound: the ``q`` quantile (0.99 for p99) of ``metric`` must be at most ``bound`` ns."""

    metric: str
    q: float
    bound: int
    name: str  # as written: "ttft_p99"
