"""What a round's notes say of a row and its other columns do not: needed where a table came without its notes."""

from __future__ import annotations

from typing import NamedTuple


class Erratum(NamedTuple):
    """One fact about one row, with its source."""

    round: str
    organization: str
    platform: str
    benchmark: str
    accelerators_used: int
    source: str


ERRATA = (
    Erratum(
        "v6.1",
        "Intel",
        "1-node-2S-Xeon_6787P",
        "e2e-rag-db",
        0,
        "notes column of mlcommons/inference_results_v6.1 summary.csv: built by the CPUs alone, no accelerator used",
    ),
)


def used_by_errata(round_name: str, organization: str, platform: str, benchmark: str) -> int | None:
    """Accelerators that worked, where a round's notes tell it; ``None``: nothing is known."""
    found = erratum_of(round_name, organization, platform, benchmark)
    return None if found is None else found.accelerators_used


def erratum_of(round_name: str, organization: str, platform: str, benchmark: str) -> Erratum | None:
    """The entry of that row."""
    wanted = (round_name, organization, platform, benchmark)
    return next((each for each in ERRATA if each[:4] == wanted), None)
