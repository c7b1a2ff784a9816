"""The facts of this machine that a measurement depends on. What cannot be read is left out."""

from __future__ import annotations

import contextlib
import os
import platform
from pathlib import Path

from relaymark.wire import loop_name


def environment() -> dict[str, str]:
    """Facts in the order they are shown: CPU, cores, governor, memory, system, Python, event loop, descriptors."""
    facts: dict[str, str] = {}
    cpu = _cpu_model()
    if cpu:
        facts["cpu"] = cpu
    facts["cores"] = _cores()
    governor = cpu_governor()
    if governor:
        facts["cpu governor"] = governor
    memory = _memory()
    if memory:
        facts["memory"] = memory
    facts["system"] = f"{platform.system()} {platform.release()} {platform.machine()}"
    facts["python"] = platform.python_version()
    facts["event loop"] = loop_name()
    descriptors = descriptor_limit()
    if descriptors is not None:
        facts["open files"] = f"{descriptors:,}"
    load = _first_line("/proc/loadavg")
    if load:
        facts["load average before the run"] = " ".join(load.split()[:3])
    return facts


def usable_cores() -> int:
    """Cores this process may run on; fewer than the machine has under taskset or a cgroup's cpuset."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def descriptor_limit() -> int | None:
    """The most descriptors a process may open (hard limit; workers raise their soft limit to it)."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415 - POSIX only

        return resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return None


def cpu_governor() -> str | None:
    """The frequency governor of the first core; ``None`` where the kernel shows none (virtual machines)."""
    return _first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")


def _cores() -> str:
    usable, present = usable_cores(), os.cpu_count() or 1
    return str(present) if usable == present else f"{usable} usable of {present}"


def _cpu_model() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() in ("model name", "Model", "Hardware"):
                return value.strip()
    return platform.processor()


def _memory() -> str:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return f"{size / (1 << 30):.1f} GiB"
    return ""


def _first_line(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").splitlines()[0].strip()
    except (OSError, IndexError):
        return None
