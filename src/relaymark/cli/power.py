"""``relaymark power``: samples of power, written beside a run for ``relaymark cost``."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

from relaymark.errors import ConfigError, ExitCode

_RAPL = Path("/sys/class/powercap")


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    """Adds the command to the parser."""
    parser = commands.add_parser(
        "power",
        help="record power: of NVIDIA GPUs (nvml) or Intel and AMD packages (rapl)",
        description="Writes samples of power to a CSV until Ctrl-C or --for: run it on the machine that serves, beside "
        "a benchmark, and give the file to `relaymark cost`. nvml needs the package nvidia-ml-py; rapl needs the right "
        "to read /sys/class/powercap.",
    )
    parser.add_argument("--source", choices=("nvml", "rapl"), required=True, help="what to read")
    parser.add_argument("--out", metavar="CSV", type=Path, required=True, help="where samples go")
    parser.add_argument("--every", metavar="S", type=float, default=0.5, help="seconds between samples (default 0.5)")
    parser.add_argument("--for", dest="seconds", metavar="S", type=float, help="stop after so long")
    parser.set_defaults(call=call)


def call(options: argparse.Namespace) -> int:
    """Samples until told to stop."""
    if not 0.01 <= options.every <= 3600:
        raise ConfigError("must be from 0.01 to 3600 s", where="--every")
    watts = _nvml() if options.source == "nvml" else _rapl()
    end = None if options.seconds is None else time.monotonic() + options.seconds
    samples = 0
    try:
        with options.out.open("w", encoding="utf-8") as file:
            file.write("time,watts\n")
            while end is None or time.monotonic() < end:
                time.sleep(options.every)
                file.write(f"{time.time():.3f},{watts():.3f}\n")
                file.flush()
                samples += 1
    except KeyboardInterrupt:
        pass
    sys.stdout.write(f"{samples} samples in {options.out}\n")
    return int(ExitCode.GOOD)


def _nvml() -> Callable[[], float]:
    try:
        import pynvml  # noqa: PLC0415  # pyright: ignore[reportMissingImports] - a user's own extra

        pynvml.nvmlInit()
        count = pynvml.nvmlDeviceGetCount()
        devices = [pynvml.nvmlDeviceGetHandleByIndex(place) for place in range(count)]
    except ImportError:
        raise ConfigError("nvml needs a package", where="--source nvml", mend="pip install nvidia-ml-py") from None
    except Exception as error:  # the library has its own kinds
        raise ConfigError(f"no NVIDIA GPU can be read: {error}"[:200], where="--source nvml") from None
    return lambda: sum(pynvml.nvmlDeviceGetPowerUsage(device) for device in devices) / 1000


def _rapl(root: Path = _RAPL) -> Callable[[], float]:
    """Packages' energy counters in microjoules, which begin anew at ``max_energy_range_uj``."""
    zones = [zone for zone in sorted(root.glob("intel-rapl:*")) if zone.name.count(":") == 1]
    try:
        ranges = [int((zone / "max_energy_range_uj").read_text()) for zone in zones]
        last = [int((zone / "energy_uj").read_text()) for zone in zones]
    except OSError as error:
        raise ConfigError(
            f"the energy counters can't be read: {error.strerror}", where=str(root), mend="run it as root, or use nvml"
        ) from None
    if not zones:
        raise ConfigError("this machine has no RAPL counters", where=str(root), mend="use a meter's CSV or --watts")
    before = time.monotonic()

    def read() -> float:
        nonlocal before, last
        now = time.monotonic()
        fresh = [int((zone / "energy_uj").read_text()) for zone in zones]
        spent = sum((new - old) % limit for new, old, limit in zip(fresh, last, ranges, strict=True))
        seconds, before, last = now - before, now, fresh
        return spent / 1e6 / seconds

    return read
