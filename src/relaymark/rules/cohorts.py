"""Publication cohorts of MLPerf Endpoints (§4.2): two a month, ``2026-12-C0`` and ``2026-12-C1``."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SHAPE = re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])-C([01])", re.ASCII)


@dataclass(frozen=True, order=True, slots=True)
class Cohort:
    """One cohort; they sort by time."""

    year: int
    month: int
    index: int

    @classmethod
    def parse(cls, text: str) -> Cohort | None:
        """The cohort that ``text`` names; ``None`` where it names none."""
        match = _SHAPE.fullmatch(text)
        return cls(int(match[1]), int(match[2]), int(match[3])) if match else None

    def plus(self, count: int) -> Cohort:
        """The cohort ``count`` (≥ 0) after this one."""
        steps = (self.year * 12 + self.month - 1) * 2 + self.index + count
        months, index = divmod(steps, 2)
        return Cohort(months // 12, months % 12 + 1, index)

    def following(self, count: int) -> list[Cohort]:
        """This cohort and those after it, ``count`` in all."""
        return [self.plus(step) for step in range(count)]

    def __str__(self) -> str:
        return f"{self.year:04d}-{self.month:02d}-C{self.index}"
