"""One published result: what the round's table says, as it says it, and the normalised reading beside it."""

from __future__ import annotations

import msgspec

HIGHER_IS_BETTER = frozenset({"tokens/s", "samples/s", "queries/s", "tasks/s"})


class Part(msgspec.Struct, frozen=True):
    """The accelerators of one kind in a system; ``count`` is ``None`` where the table does not tell it."""

    family: str
    count: int | None = None


class Row(msgspec.Struct, kw_only=True, frozen=True):
    """A row of a round's table.

    Fields that end in ``_raw`` are the text as published. ``None`` and ``""`` mean that the table does not say.
    ``value`` is in ``unit``: rates per second, latencies in ms; ``None`` where the result is no positive number.
    """

    id: str  # round:record, as ``compare`` takes it; a table's heading is its record 1
    round: str
    record: int
    organization: str = ""
    availability: str = ""
    division: str = ""
    category: str = ""  # datacenter | edge
    system: str = ""
    platform: str = ""
    benchmark: str = ""
    benchmark_raw: str = ""  # the round's own name of the benchmark
    model: str = ""  # what ran, normalised; of an open row it may be another than the benchmark's
    model_raw: str = ""
    scenario: str = ""
    scenario_raw: str = ""
    value: float | None = None
    unit: str = ""
    result_raw: str = ""
    units_raw: str = ""
    accuracy: dict[str, float] = {}
    accuracy_raw: str = ""
    nodes: int | None = None
    accelerator: str = ""  # families joined by " + ", or the processor where there is no accelerator
    accelerator_raw: str = ""
    parts: list[Part] = []
    accelerators: int | None = None  # in the whole system; 0: none
    accelerators_used: int | None = None  # where a note says that not all were used
    processor: str = ""
    framework: str = ""
    precision: str = ""  # number formats in the order they are named
    precision_raw: str = ""
    operating_system: str = ""
    notes: str = ""
    location: str = ""
    inferred: bool = False  # the table marks it so: its log names another scenario
    has_power: bool = False
    power: float | None = None
    power_units: str = ""
    flags: list[str] = []  # what is odd about the row; it is kept all the same
    extra: dict[str, str] = {}  # columns that have no field here

    @property
    def higher_is_better(self) -> bool:
        """False for latencies."""
        return self.unit in HIGHER_IS_BETTER

    @property
    def used(self) -> int | None:
        """Accelerators that worked for the result; ``None`` where that is not known."""
        return self.accelerators if self.accelerators_used is None else self.accelerators_used

    @property
    def scale(self) -> str:
        """How many of which accelerators: ``72 × GB300``; the processor where there are none."""
        if not self.accelerators:
            return self.accelerator if self.accelerators == 0 else f"? × {self.accelerator}"
        unused = "" if self.accelerators_used is None else f" ({self.accelerators_used} used)"
        if len(self.parts) > 1 and all(part.count for part in self.parts):
            return " + ".join(f"{part.count} × {part.family}" for part in self.parts) + unused
        return f"{self.accelerators} × {self.accelerator}{unused}"

    @property
    def key(self) -> tuple[str, str]:
        """(benchmark, scenario)."""
        return self.benchmark, self.scenario

    def per(self, what: str) -> float | None:
        """The result per ``system``, ``accelerator`` or ``node``; ``None`` where it is absent or would mean nothing.

        A latency is not divided: it does not add up over accelerators.
        """
        if self.value is None or what == "system":
            return self.value
        if not self.higher_is_better:
            return None
        count = self.used if what == "accelerator" else self.nodes
        return self.value / count if count else None


def rank_key(row: Row, per: str) -> float:
    """Sorts best first: by falling rate or rising latency; what has no figure comes last."""
    value = row.per(per)
    if value is None:
        return float("inf")
    return -value if row.higher_is_better else value
