"""A system described from what it tells of itself: ``system_desc.json`` with every unknown left ``null``.

Only facts that a file or a tool of this machine states are filled in. Anything that is the submitter's to say (names,
availability, memory layout) is ``null``, and listed as still to be filled in.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from relaymark.errors import RelaymarkError
from relaymark.relay.preflight import look
from relaymark.relay.redaction import Redactor
from relaymark.relay.reply import ask
from relaymark.wire import Target, parse_url, resolve

_SECONDS = 10.0
_VIRTUAL = re.compile(r"lo|docker|veth|br-|virbr|tun|tap|dummy|bond|cni|flannel|cali|vlan|wg|zt|kube|ifb|sit|ip6")
_DISKS = re.compile(r"(nvme\d+n\d+|sd[a-z]+|vd[a-z]+|xvd[a-z]+)")
TO_SAY = (
    "submitter_org_names",
    "system_name",
    "shortened_system_name",
    "system_size",
    "system_availability_status",
    "availability_url",
    "max_supported_concurrency",
    "division",
)
"""Top-level fields that only the submitter can fill in."""

Run = Callable[[list[str]], str | None]


def describe_system(url: str | None = None, *, root: Path = Path("/"), run: Run | None = None) -> dict[str, Any]:
    """What this machine and, where a URL is given, its endpoint tell.

    Args:
        url: Base URL of the endpoint; it is asked for its models and version.
        root: Where ``proc``, ``sys`` and ``etc`` are.
        run: Runs a command and returns its output, ``None`` where there is no such command or it fails.

    Raises:
        UnreachableError: The endpoint does not answer.
        ConfigError: The URL cannot be used, or the endpoint refuses the key.
    """
    tool = run or _run
    cpu = _cpu(root)
    accelerators, driver = accelerators_of(tool)
    node: dict[str, Any] = {
        "system_node_ensemble_id": 0,
        "number_of_nodes": 1,
        "host_processor_model_name": cpu.get("model"),
        "host_processors_per_node": cpu.get("sockets"),
        "host_processor_core_count": cpu.get("cores"),
        "host_processor_vcpu_count": cpu.get("threads"),
        "host_memory_capacity": _memory(root),
        "host_memory_configuration": None,
        "accelerator_info": accelerators,
        "host_network_card_count": _nics(root),
        "host_networking": None,
        "host_storage_capacity": _storage(root)[0],
        "host_storage_type": _storage(root)[1],
        "cooling": None,
        "inference_backend": None,
        "driver": driver,
        "operating_system": _system(root),
        "filesystem": _filesystem(root),
        "container_link": None,
        "other_software_stack": f"kernel {platform.release()}",
    }
    described: dict[str, Any] = dict.fromkeys(TO_SAY)
    described.update({"system_node_ensemble_count": 1, "system_node_ensemble_total": 1, "node_types": [node]})
    for key in ("serving_framework", "endpoint_url", "tensor_parallel", "pipeline_parallel", "expert_parallel"):
        described[key] = None
    described.update({"data_parallel": None, "disaggregated": None, "config_summary": None})
    if url is not None:
        described["endpoint_url"] = url
        described["serving_framework"] = serving_framework(url)
    return described


def unknown_of(described: Mapping[str, Any]) -> list[str]:
    """The required fields that are still ``null``: names as in the file."""
    needed = [key for key in TO_SAY if key != "submitter_org_names"]
    missing = [key for key in needed if described.get(key) is None]
    nodes = cast(list[Mapping[str, Any]], described.get("node_types") or [])
    for place, node in enumerate(nodes):
        for key in ("host_memory_configuration", "host_network_card_count", "driver", "filesystem"):
            if node.get(key) is None:
                missing.append(f"node_types.{place}.{key}")
    return missing


def accelerators_of(run: Run) -> tuple[list[dict[str, Any]], str | None]:
    """Accelerators of one kind each with their number, and the driver, from the vendors' own tools."""
    for reader in (_nvidia, _amd, _intel):
        found, driver = reader(run)
        if found:
            return _grouped(found), driver
    return [], None


def serving_framework(url: str) -> str | None:
    """The engine and its version, where the endpoint tells: vLLM's ``/version``, llama.cpp's ``/props``, a header."""
    target = resolve(parse_url(url, verify_tls=True))
    key = os.environ.get("OPENAI_API_KEY")
    headers = {"authorization": f"Bearer {key}"} if key else {}
    redactor = Redactor([key] if key else [])
    served = look(target, headers, redactor)
    version = _told(target, "/version", headers, redactor).get("version")
    if isinstance(version, str):
        return f"vLLM {version}"[:200]
    build = _told(target, "/props", headers, redactor).get("build_info")
    if isinstance(build, str):
        return f"llama.cpp {build}"[:200]
    return served.facts.get("server header")


def _told(target: Target, path: str, headers: Mapping[str, str], redactor: Redactor) -> dict[str, Any]:
    with contextlib.suppress(RelaymarkError, ValueError, RecursionError):
        reply = ask(target, "GET", path, headers, seconds=_SECONDS, redactor=redactor)
        if reply.status == 200:
            data = json.loads(b"".join(piece for _, piece in reply.response.segments))
            return cast(dict[str, Any], data) if isinstance(data, dict) else {}
    return {}


def _run(command: list[str]) -> str | None:
    path = shutil.which(command[0])
    if path is None:
        return None
    try:
        done = subprocess.run(
            [path, *command[1:]], capture_output=True, text=True, timeout=_SECONDS, check=False, errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def _nvidia(run: Run) -> tuple[list[tuple[str, str | None]], str | None]:
    told = run(["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"])
    rows = [[part.strip() for part in line.split(",")] for line in (told or "").splitlines() if line.count(",") == 2]
    return [(name, memory) for name, memory, _ in rows], (f"NVIDIA {rows[0][2]}" if rows else None)


def _amd(run: Run) -> tuple[list[tuple[str, str | None]], str | None]:
    told = run(["rocm-smi", "--showproductname", "--showmeminfo", "vram", "--showdriverversion", "--json"])
    try:
        cards: Any = json.loads(told) if told else {}
    except ValueError:
        cards = {}
    rows = cast(dict[str, dict[str, Any]], cards) if isinstance(cards, dict) else {}
    driver = rows.get("system", {}).get("Driver version")
    found: list[tuple[str, str | None]] = []
    for name, card in sorted(rows.items()):
        series = card.get("Card Series") or card.get("Card series")
        if name.startswith("card") and isinstance(series, str):
            size = str(card.get("VRAM Total Memory (B)", ""))
            found.append((series, f"{int(size) / 2**30:.0f} GiB" if size.isdigit() else None))
    return found, f"amdgpu {driver}" if found and driver else None


def _intel(run: Run) -> tuple[list[tuple[str, str | None]], str | None]:
    told = run(["xpu-smi", "discovery", "-j"])
    try:
        data: Any = json.loads(told) if told else {}
    except ValueError:
        data = {}
    devices = cast(dict[str, Any], data).get("device_list") if isinstance(data, dict) else None
    rows = cast(list[Any], devices) if isinstance(devices, list) else []
    names = [cast(dict[str, Any], row).get("device_name") for row in rows if isinstance(row, dict)]
    return [(name, None) for name in names if isinstance(name, str)], None


def _grouped(found: list[tuple[str, str | None]]) -> list[dict[str, Any]]:
    counts = {each: found.count(each) for each in dict.fromkeys(found)}
    return [
        {
            "accelerator_model_name": name,
            "accelerators_per_node": count,
            "accelerator_memory_capacity": memory,
            "accelerator_memory_type": None,
            "accelerator_interconnect": None,
            "accelerator_host_interconnect": None,
        }
        for (name, memory), count in counts.items()
    ]


def _cpu(root: Path) -> dict[str, Any]:
    """Model, sockets, cores of a CPU and threads of all, from ``/proc/cpuinfo``."""
    models: list[str] = []
    sockets: dict[str, int] = {}
    threads, socket = 0, ""
    for line in _text(root / "proc/cpuinfo").splitlines():
        name, _, value = (part.strip() for part in line.partition(":"))
        threads += name == "processor"
        if name == "model name":
            models.append(value)
        elif name == "physical id":
            socket = value
            sockets.setdefault(socket, 0)
        elif name == "cpu cores" and value.isdigit():
            sockets[socket] = int(value)
    cores = next((count for count in sockets.values() if count), None)
    model = models[0] if models else None
    return {"model": model, "sockets": len(sockets) or None, "cores": cores, "threads": threads or None}


def _memory(root: Path) -> str | None:
    match = re.search(r"^MemTotal:\s+(\d{1,15}) kB", _text(root / "proc/meminfo"), re.MULTILINE)
    return f"{int(match[1]) / 2**20:.1f} GiB" if match else None


def _nics(root: Path) -> str | None:
    """Physical interfaces by speed, ``2x 400000 Mb/s``; those whose speed is not told are counted without it."""
    speeds: dict[str, int] = {}
    for card in _children(root / "sys/class/net"):
        if _VIRTUAL.match(card.name) or not (card / "device").exists():
            continue
        speed = _text(card / "speed").strip()
        word = f"{speed} Mb/s" if speed.isdigit() else "speed unknown"
        speeds[word] = speeds.get(word, 0) + 1
    return ", ".join(f"{count}x {speed}" for speed, count in sorted(speeds.items())) or None


def _storage(root: Path) -> tuple[str | None, str | None]:
    total, kinds = 0, set[str]()
    for disk in _children(root / "sys/block"):
        if not _DISKS.fullmatch(disk.name):
            continue
        sectors = _text(disk / "size").strip()
        total += int(sectors) * 512 if sectors.isdigit() else 0
        spins = _text(disk / "queue/rotational").strip()
        if disk.name.startswith("nvme"):
            kinds.add("NVMe SSD")
        elif disk.name.startswith("sd"):  # a virtual disk does not tell what it lies on
            kinds.add("HDD" if spins == "1" else "SSD")
    return (f"{total / 1e12:.2f} TB" if total else None), (", ".join(sorted(kinds)) or None)


def _system(root: Path) -> str | None:
    match = re.search(r'^PRETTY_NAME="?([^"\n]{1,200})"?$', _text(root / "etc/os-release"), re.MULTILINE)
    return match[1] if match else None


def _filesystem(root: Path) -> str | None:
    """The type of the file system at ``/``."""
    for line in _text(root / "proc/mounts").splitlines():
        parts = line.split()
        if len(parts) > 2 and parts[1] == "/":
            return parts[2]
    return None


def _children(path: Path) -> list[Path]:
    try:
        return sorted(path.iterdir())
    except OSError:
        return []


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
