"""A machine made of files: what they say is told, what they do not say is null."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from relaymark.emulate import PacedServer
from relaymark.rules.sysinfo import accelerators_of, describe_system, unknown_of

CPU = "processor\t: {n}\nmodel name\t: AMD EPYC 9654 96-Core Processor\nphysical id\t: {s}\ncpu cores\t: 96\n\n"


def machine(root: Path) -> Path:
    (root / "proc").mkdir()
    (root / "proc/cpuinfo").write_text("".join(CPU.format(n=n, s=n % 2) for n in range(4)))
    (root / "proc/meminfo").write_text("MemTotal:       1584678912 kB\nMemFree: 1 kB\n")
    (root / "proc/mounts").write_text("/dev/nvme0n1p2 / xfs rw 0 0\nproc /proc proc rw 0 0\n")
    (root / "etc").mkdir()
    (root / "etc/os-release").write_text('NAME="Ubuntu"\nPRETTY_NAME="Ubuntu 24.04.2 LTS"\n')
    for name, speed in (("eth0", "400000"), ("eth1", "400000"), ("lo", ""), ("docker0", "10000")):
        (root / "sys/class/net" / name / "device").mkdir(parents=True)
        (root / "sys/class/net" / name / "speed").write_text(speed)
    (root / "sys/block/nvme0n1/queue").mkdir(parents=True)
    (root / "sys/block/nvme0n1/size").write_text("7501476528\n")
    return root


def nvidia(command: list[str]) -> str | None:
    if command[0] != "nvidia-smi":
        return None
    return "NVIDIA H200, 143771 MiB, 570.86.15\n" * 8


def test_what_the_files_say(tmp_path: Path) -> None:
    node = describe_system(root=machine(tmp_path), run=nvidia)["node_types"][0]
    assert node["host_processor_model_name"] == "AMD EPYC 9654 96-Core Processor"
    assert (node["host_processors_per_node"], node["host_processor_core_count"]) == (2, 96)
    assert node["host_processor_vcpu_count"] == 4
    assert node["host_memory_capacity"] == "1511.3 GiB"
    assert node["host_network_card_count"] == "2x 400000 Mb/s"
    assert node["host_storage_capacity"] == "3.84 TB"
    assert node["host_storage_type"] == "NVMe SSD"
    assert node["operating_system"] == "Ubuntu 24.04.2 LTS"
    assert node["filesystem"] == "xfs"
    assert node["driver"] == "NVIDIA 570.86.15"
    (card,) = node["accelerator_info"]
    assert (card["accelerator_model_name"], card["accelerators_per_node"]) == ("NVIDIA H200", 8)
    assert card["accelerator_memory_capacity"] == "143771 MiB"
    assert card["accelerator_interconnect"] is None


def test_nothing_is_invented_where_nothing_is_said(tmp_path: Path) -> None:
    described = describe_system(root=tmp_path, run=lambda _: None)
    node = described["node_types"][0]
    told = {key for key, value in node.items() if value not in (None, [])}
    assert told == {"system_node_ensemble_id", "number_of_nodes", "other_software_stack"}
    assert described["system_name"] is None
    assert "node_types.0.driver" in unknown_of(described)
    assert "max_supported_concurrency" in unknown_of(described)


def test_other_makers_tools() -> None:
    amd = '{"card0": {"Card Series": "AMD Instinct MI300X", "VRAM Total Memory (B)": "206141652992"}, ' \
        '"card1": {"Card Series": "AMD Instinct MI300X", "VRAM Total Memory (B)": "206141652992"}, ' \
        '"system": {"Driver version": "6.8.5"}}'  # fmt: skip
    cards, driver = accelerators_of(lambda command: amd if command[0] == "rocm-smi" else None)
    assert [(card["accelerator_model_name"], card["accelerators_per_node"]) for card in cards] == [
        ("AMD Instinct MI300X", 2)
    ]
    assert driver == "amdgpu 6.8.5"
    intel = '{"device_list": [{"device_name": "Intel Data Center GPU Max 1550"}]}'
    cards, driver = accelerators_of(lambda command: intel if command[0] == "xpu-smi" else None)
    assert cards[0]["accelerators_per_node"] == 1
    assert driver is None
    assert accelerators_of(lambda _: "no such device") == ([], None)


def test_the_engine_as_the_endpoint_tells_it(tmp_path: Path, paced_server: Callable[..., PacedServer]) -> None:
    described = describe_system(paced_server().url, root=tmp_path, run=lambda _: None)
    assert described["endpoint_url"].startswith("http://127.0.0.1")
    assert described["serving_framework"] is None or "uvicorn" not in described["serving_framework"]
