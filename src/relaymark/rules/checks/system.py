"""``system_desc.json``: its schema, and that all points of a curve describe one system (§8.2, §8.5)."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

from relaymark.rules.bundle import CurveFolder, Document, dotted
from relaymark.rules.fields import Fields, whole_number
from relaymark.rules.findings import Findings
from relaymark.rules.regions import ULTRA_LOW

DIVISIONS = ("Standardized", "Serviced", "RDI")
STATUSES = ("Available", "Preview", "RDI")
_OLDER_STATUS = ("publication_status", "availability_status")
# What may differ between the points of a curve (§8.1, §4.5.3).
OF_A_POINT = (
    "tps_utilization",
    "tensor_parallel",
    "pipeline_parallel",
    "expert_parallel",
    "data_parallel",
    "disaggregated",
    "batch",
    "config_summary",
    "config_summary_notes",
)
_NODE_TEXTS = (
    "host_processor_model_name",
    "host_memory_capacity",
    "host_networking",
    "host_storage_capacity",
    "host_storage_type",
    "other_hardware",
    "hw_notes",
    "cooling",
    "inference_backend",
    "operating_system",
    "container_link",
    "other_software_stack",
    "sw_notes",
)
_ACCELERATOR_TEXTS = (
    "accelerator_model_name",
    "accelerator_memory_capacity",
    "accelerator_memory_type",
    "accelerator_interconnect",
    "accelerator_host_interconnect",
)


def check_descriptions(curve: CurveFolder, findings: Findings) -> int | None:
    """Checks the descriptions of a curve; returns its C_max where one can be read."""
    readable: list[Document] = []
    for point in curve.points:
        if point.system.mapping is not None:
            readable.append(point.system)
        elif point.system.present:
            says = f"system_desc.json {point.system.problem or 'is not a mapping'}."
            findings.error("system-description-valid", point.system.place, says)
    if not readable:
        return None
    first = readable[0]
    _check_schema(first, findings)
    for other in readable[1:]:
        differing = _differing(first.mapping or {}, other.mapping or {})
        if differing:
            says = f"Differs from {first.place} in {', '.join(differing)}."
            findings.error("system-description-consistency", other.place, says)
            break
    c_max = whole_number((first.mapping or {}).get("max_supported_concurrency"))
    return c_max if c_max is not None and c_max > 0 else None


def c_min_override(curve: CurveFolder, findings: Findings) -> tuple[int | None, bool]:
    """The declared C_min, and whether its declaration is sound: everywhere the same, or nowhere."""
    declared = [(point.system, point.system.mapping or {}) for point in curve.points]
    if not any("c_min_override" in data for _, data in declared):
        return None, True
    sound, values = True, set[int]()
    for document, data in declared:
        value = data.get("c_min_override")
        if "c_min_override" not in data:
            findings.error("c-min-override", document.place, "c_min_override is missing here, though others have it.")
            sound = False
        elif isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= ULTRA_LOW:
            says = f"c_min_override must be a whole number from 1 to {ULTRA_LOW}, not {value!r}."
            findings.error("c-min-override", document.at("c_min_override"), says)
            sound = False
        else:
            values.add(value)
    if len(values) > 1:
        says = f"c_min_override differs between points: {', '.join(map(str, sorted(values)))}."
        findings.error("c-min-override", curve.place, says)
        sound = False
    return (next(iter(values)), True) if sound else (None, False)


def division_of(data: dict[str, Any]) -> str:
    """The division in lower case; empty where there is none."""
    division = data.get("division")
    return division.strip().lower() if isinstance(division, str) else ""


def _differing(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    keys = sorted((one.keys() | other.keys()) - set(OF_A_POINT))
    absent = object()
    return [key for key in keys if one.get(key, absent) != other.get(key, absent)]


def _check_schema(document: Document, findings: Findings) -> None:
    fields = document.fields()
    fields.text("system_name", required=True)
    fields.text("system_size", required=True)
    name = fields.text("shortened_system_name", required=True, least=1)
    if name is not None and len(name) > 20:
        fields.says("shortened_system_name", f"has {len(name)} characters; 20 are the most")
    division = fields.text("division", required=True)
    if division is not None and division.strip().lower() not in [word.lower() for word in DIVISIONS]:
        fields.says("division", f"must be one of {', '.join(DIVISIONS)}, not {division!r}")
    _check_availability(fields)
    fields.whole("max_supported_concurrency", required=True)
    for key in ("system_node_ensemble_count", "system_node_ensemble_total"):
        fields.whole(key, required=True)
    for key in ("tensor_parallel", "pipeline_parallel", "expert_parallel", "data_parallel", "batch"):
        fields.whole(key)
    fields.flag("disaggregated")
    fields.number("tps_utilization")
    for key in ("serving_framework", "endpoint_url", "node_config", "config_summary_notes", "submitter_org_names"):
        fields.text(key)
    summary = fields.data.get("config_summary")
    if summary is not None and not isinstance(summary, dict):
        fields.text("config_summary", least=4)
    for node in fields.rows("node_types", required=True) or []:
        _check_node(node)
    for problem in fields.problems:
        place = document.at(*problem.keys)
        findings.error("system-description-valid", place, f"{dotted(problem.keys)} {problem.says}.")


def _check_availability(fields: Fields) -> None:
    given = {key: fields.text(key) for key in ("system_availability_status", *_OLDER_STATUS)}
    words = {value.strip().lower() for value in given.values() if value}
    if len(words) > 1:
        fields.says("system_availability_status", "disagrees with its older spellings")
        return
    status = next((word for word in STATUSES if word.lower() in words), None)
    if status is None:
        fields.says("system_availability_status", f"must be one of {', '.join(STATUSES)}")
        return
    url, day = fields.text("availability_url"), fields.text("target_availability_date")
    if status == "Available" and not (url or "").strip():
        fields.says("availability_url", "is needed where the system is Available")
    if status == "Preview" and not (day or "").strip():
        fields.says("target_availability_date", "is needed where the system is a Preview")
    if day and day.strip() and not _is_date(day):
        fields.says("target_availability_date", f"must be a date YYYY-MM-DD, not {day!r}")


def _is_date(text: str) -> bool:
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text, re.ASCII) is None:
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _check_node(node: Fields) -> None:
    ensemble = node.data.get("system_node_ensemble_id")
    if not (isinstance(ensemble, str) and ensemble.strip().isdigit()):
        node.whole("system_node_ensemble_id")
    for key in ("number_of_nodes", "host_processors_per_node"):
        node.whole(key)
    cores = node.whole("host_processor_core_count")
    virtual = node.whole("host_processor_vcpu_count")
    if cores is None and virtual is None:
        node.says("host_processor_core_count", "or host_processor_vcpu_count is needed")
    for key in ("host_memory_configuration", "host_network_card_count", "driver", "filesystem"):
        node.text(key, required=True)
    for key in _NODE_TEXTS:
        node.text(key)
    for accelerator in node.rows("accelerator_info") or []:
        accelerator.whole("accelerators_per_node")
        for key in _ACCELERATOR_TEXTS:
            accelerator.text(key)
