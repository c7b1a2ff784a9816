"""The real rounds, read by path: they are not ours to ship."""

from __future__ import annotations

from pathlib import Path

import pytest

from relaymark.published import Row, read_published

DATA = Path(__file__).parents[2] / ".." / "shared" / "data"
V61, V51 = DATA / "mlperf_v61_results.tsv", DATA / "mlperf_v51_summary_results.json"


def _rows(path: Path) -> list[Row]:
    if not path.is_file():
        pytest.skip(f"the published round is not here: {path.name}")
    return read_published(path).rows


@pytest.fixture(scope="session")
def v61() -> list[Row]:
    return _rows(V61)


@pytest.fixture(scope="session")
def v51() -> list[Row]:
    return _rows(V51)


@pytest.fixture(scope="session")
def both(v51: list[Row], v61: list[Row]) -> list[Row]:
    return [*v51, *v61]
