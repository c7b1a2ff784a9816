"""Recorded power: counters that begin anew, and machines that have none."""

from __future__ import annotations

from pathlib import Path

import pytest
from calling import call_here

from relaymark.cli import power
from relaymark.errors import ConfigError


def zone(root: Path, name: str, energy: int, limit: int = 1_000_000) -> Path:
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "energy_uj").write_text(f"{energy}\n")
    (folder / "max_energy_range_uj").write_text(f"{limit}\n")
    return folder


def test_packages_are_summed_parts_of_them_left_out_and_counters_begin_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter((100.0, 102.0, 104.0))
    monkeypatch.setattr(power.time, "monotonic", lambda: next(clock))
    zone(tmp_path, "intel-rapl:0", 100_000)
    zone(tmp_path, "intel-rapl:1", 900_000)
    zone(tmp_path, "intel-rapl:0:0", 0)  # the cores of package 0: in it already
    read = power._rapl(tmp_path)  # pyright: ignore[reportPrivateUsage]
    zone(tmp_path, "intel-rapl:0", 300_000)
    zone(tmp_path, "intel-rapl:1", 100_000)  # 200,000 µJ later it has wrapped round
    assert read() == pytest.approx(0.4 / 2)
    zone(tmp_path, "intel-rapl:0", 500_000)
    assert read() == pytest.approx(0.2 / 2)


def test_a_machine_without_counters_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no RAPL"):
        power._rapl(tmp_path)  # pyright: ignore[reportPrivateUsage]
    done = call_here("power", "--source", "rapl", "--out", "x.csv", "--every", "0", cwd=tmp_path)
    assert done.returncode == 2
