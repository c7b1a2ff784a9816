"""What the figures were taken on, and whether it was quiet."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def facts(cores: tuple[int, int]) -> dict[str, str]:
    """The machine and the software, by name."""
    here = Path(__file__).parent
    return {
        "cpu": _field("/proc/cpuinfo", "model name"),
        "cores": f"{os.cpu_count()}, endpoint on {cores[0]}, client on {cores[1]}",
        "siblings of the client's core": _text(f"/sys/devices/system/cpu/cpu{cores[1]}/topology/thread_siblings_list"),
        "governor": _text(f"/sys/devices/system/cpu/cpu{cores[1]}/cpufreq/scaling_governor"),
        "memory": _field("/proc/meminfo", "MemTotal"),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "relaymark": _version("relaymark"),
        "uvloop": _version("uvloop"),
        "commit": _output(["git", "-C", str(here), "rev-parse", "HEAD"]),
        "changed": str(bool(_output(["git", "-C", str(here), "status", "--porcelain"]))),
        "compiler": _output([os.environ.get("CC", "cc"), "--version"]).partition("\n")[0],
        "load average": _text("/proc/loadavg"),
    }


def busy(cores: tuple[int, int], seconds: float = 1.0) -> float:
    """The share of the busier of the two cores that others use right now, steal by the hypervisor included."""
    before = _idle_and_all()
    time.sleep(seconds)
    after = _idle_and_all()
    shares: list[float] = []
    for core in cores:
        idle, total = (after[core][i] - before[core][i] for i in (0, 1))
        shares.append(1 - idle / total if total else 0.0)
    return max(shares)


def _idle_and_all() -> dict[int, tuple[int, int]]:
    times: dict[int, tuple[int, int]] = {}
    for line in Path("/proc/stat").read_text().splitlines():
        name, *numbers = line.split()
        if name.startswith("cpu") and name != "cpu":
            ticks = [int(number) for number in numbers[:8]]  # guest time is in user time already
            times[int(name[3:])] = (ticks[3] + ticks[4], sum(ticks))
    return times


def _text(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def _field(path: str, name: str) -> str:
    lines = (line.partition(":") for line in _text(path).splitlines())
    return next((value.strip() for key, _, value in lines if key.strip() == name), "")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _output(command: list[str]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""
