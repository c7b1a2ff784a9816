"""What a round's notes say of a row and its other columns do not: needed where a table came without its notes."""

from __future__ import annotations

from typing import NamedTuple


class Erratum(NamedTuple):
    """Facts about one row, with their source; ``None``: nothing is said of it."""

    round: str
    organization: str
    platform: str
    benchmark: str
    source: str
    accelerators_used: int | None = None
    model: str | None = None


_NOTES = "notes column of summary.csv, mlcommons/inference_results_v6.1"
ERRATA = (
    Erratum(
        "v6.1",
        "Intel",
        "1-node-2S-Xeon_6787P",
        "e2e-rag-db",
        f"{_NOTES}: the database is built by the CPUs, no accelerator used",
        accelerators_used=0,
    ),
    Erratum(
        "v6.1",
        "Lambda",
        "B200-SXM-180GBx8_SGLANG",
        "qwen3.6-27b",
        f"{_NOTES}: the model served is Kimi-K2.6",
        model="moonshotai/Kimi-K2.6",
    ),
)


def erratum_of(round_name: str, organization: str, platform: str, benchmark: str) -> Erratum | None:
    """The entry of that row; ``None``: there is none."""
    wanted = (round_name, organization, platform, benchmark)
    return next((each for each in ERRATA if each[:4] == wanted), None)
