"""Power: the descriptor, the nodes that a point engages, and throughput a kilowatt (§4.5)."""

from __future__ import annotations

from typing import Any, cast

from relaymark.rules.bundle import Document, SystemFolder
from relaymark.rules.checks.results import stated_differs
from relaymark.rules.checks.system import division_of
from relaymark.rules.curve import Curve, PointFacts
from relaymark.rules.fields import plain_number, whole_number
from relaymark.rules.findings import Findings
from relaymark.rules.limits import PowerDefaults
from relaymark.rules.power import Provisioned, overhead_of, provisioned

_PARALLEL = ("tensor_parallel", "pipeline_parallel", "expert_parallel", "data_parallel")
_NOT_NEEDED = ("rdi", "serviced")


def system_power(system: SystemFolder, defaults: PowerDefaults, findings: Findings) -> Provisioned | None:
    """The system's provisioned power; ``None`` where there is no sound descriptor."""
    described = [point.system for curve in system.curves for point in curve.points if point.system.mapping is not None]
    description = described[0].mapping or {} if described else {}
    document = system.power
    if not document.present:
        if division_of(description) not in _NOT_NEEDED:
            says = f"{system.place} has no system_power.json, which Standardized needs."
            findings.error("power-descriptor", document.place, says)
        return None
    if document.mapping is None:
        says = f"system_power.json {document.problem or 'is not a mapping'}."
        findings.error("power-descriptor", document.place, says)
        return None
    nodes = _node_types(description)
    power = provisioned(document.fields(), defaults, {key: cores for key, (cores, _) in nodes.items() if cores})
    _check_cooling(document, description, defaults, findings)
    unknown = sorted({each.ensemble for each in power.sets} - set(nodes))
    if nodes and unknown:
        says = f"system_desc.json has no node type {', '.join(map(str, unknown))}."
        findings.warning("power-descriptor", document.place, says)
    for problem in power.problems:
        findings.error("power-descriptor", document.place, f"{problem}.")
    for warning in power.warnings:
        findings.warning("power-descriptor", document.place, f"{warning}.")
    if power.kw is None:
        return None
    for each in power.sets:
        if each.accelerators_a_node is None:
            each.accelerators_a_node = nodes.get(each.ensemble, (None, None))[1]
    if power.estimated:
        findings.warning("power-estimated", document.place, f"Figures of Appendix D: {'; '.join(power.estimated)}.")
    return power


def check_point_power(curve: Curve, point: PointFacts, findings: Findings) -> None:
    """The nodes that a point engages hold its replicas, as many as fit; its tokens a kilowatt follow."""
    power = curve.power
    if power is None or point.summary is None:
        return
    used = _check_nodes_used(power, point, findings)
    _check_engagement(power, point, findings)
    kw = power.point_kw(used) if used is not None else None
    stated = point.summary.stated.get("system_tps_per_kw")
    if kw and stated is not None and stated_differs(stated, point.summary.system_tps / kw):
        says = f"system_tps_per_kw is {stated:g}; {kw:g} kW give {point.summary.system_tps / kw:g}."
        findings.error("metric-consistency-tps-per-kw", point.folder.summary.at("system_tps_per_kw"), says)


def _check_nodes_used(power: Provisioned, point: PointFacts, findings: Findings) -> dict[int, int] | None:
    """Node set → nodes engaged; ``None`` where the declaration is unsound."""
    if point.nodes_used is None:
        return {}
    place = point.folder.point.at("nodes_used")
    used: dict[int, int] = {}
    wrong: list[str] = []
    seen: set[int] = set()
    for ensemble, count in point.nodes_used:
        sets = [each for each in power.sets if each.ensemble == ensemble]
        if ensemble in seen:
            wrong.append(f"node type {ensemble} is named twice")
        elif len(sets) != 1:
            wrong.append(f"node type {ensemble} has {len(sets)} node sets")
        elif not 1 <= count <= sets[0].nodes:
            wrong.append(f"{count} nodes of type {ensemble}, of {sets[0].nodes} that are there")
        else:
            used[sets[0].node_set_id] = count
        seen.add(ensemble)
    replicas = _parallelism(point.folder.system)
    if not wrong and replicas is not None and all(each.accelerators_a_node is not None for each in power.sets):
        engaged = [(used.get(each.node_set_id, each.nodes), each.accelerators_a_node or 0) for each in power.sets]
        capacity = sum(nodes * accelerators for nodes, accelerators in engaged)
        needed = replicas[0] * replicas[1]
        if capacity < needed:
            wrong.append(f"{capacity} accelerators cannot hold the {needed} in use")
        elif any(nodes and capacity - accelerators >= needed for nodes, accelerators in engaged):
            findings.warning("nodes-used", place, f"Fewer nodes would hold the {needed} accelerators in use.")
    if wrong:
        findings.error("nodes-used", place, f"{'; '.join(wrong)}.")
        return None
    return used


def _check_engagement(power: Provisioned, point: PointFacts, findings: Findings) -> None:
    """DP = ⌊provisioned accelerators / accelerators of a replica⌋, or a declared shortfall (§4.5.3)."""
    place = point.folder.system.at("data_parallel")
    replicas = _parallelism(point.folder.system)
    if replicas is None:
        says = "Parallelism is not declared, or the system is disaggregated: engagement cannot be told."
        findings.warning("maximal-engagement", place, says)
        return
    if any(each.accelerators_a_node is None for each in power.sets):
        findings.warning("maximal-engagement", place, "How many accelerators a node has is not declared.")
        return
    data_parallel, size = replicas
    there = sum(each.nodes * (each.accelerators_a_node or 0) for each in power.sets)
    if size < 1 or data_parallel < 1:
        findings.error("maximal-engagement", place, "Parallelism must be at least 1.")
        return
    most = there // size
    shortfall = point.dp_shortfall
    told = f"⌊{there}/{size}⌋ = {most} replicas fit"
    if data_parallel > most:
        findings.error("maximal-engagement", place, f"{data_parallel} replicas, but {told}.")
    elif data_parallel < most and shortfall is None:
        findings.error("maximal-engagement", place, f"{data_parallel} replicas, though {told}.")
    elif data_parallel < most and shortfall is not None and shortfall[:2] != (data_parallel, most):
        says = f"dp_shortfall says {shortfall[0]} of {shortfall[1]}; it is {data_parallel} of {most}."
        findings.error("maximal-engagement", point.folder.point.at("dp_shortfall"), says)
    elif shortfall is not None:
        says = f"dp_shortfall is declared: {data_parallel} replicas, {told}."
        findings.warning("maximal-engagement", point.folder.point.at("dp_shortfall"), says)


def _check_cooling(
    document: Document, description: dict[str, Any], defaults: PowerDefaults, findings: Findings
) -> None:
    texts = [description.get("cooling"), *(node.get("cooling") for node in _nodes(description))]
    told = {overhead_of(text, defaults) for text in texts if isinstance(text, str) and text.strip()} - {None}
    # Nodes cooled differently count as air: the larger overhead (§4.5.2, "conservatively").
    expected = defaults.overhead["air"] if len(told) > 1 else next(iter(told), None)
    ours = defaults.overhead.get(str((document.mapping or {}).get("cooling")))
    if expected is not None and ours is not None and expected != ours:
        says = f"cooling is {(document.mapping or {}).get('cooling')!r}; system_desc.json says otherwise."
        findings.error("power-descriptor", document.at("cooling"), says)


def _parallelism(document: Document) -> tuple[int, int] | None:
    """Replicas and accelerators of one; ``None`` where nothing is declared or the system is disaggregated."""
    data = document.mapping or {}
    summary = data.get("config_summary")
    inner = cast(dict[str, Any], summary) if isinstance(summary, dict) else {}
    found = {key: whole_number(data.get(key, inner.get(key))) for key in _PARALLEL}
    flag = data.get("disaggregated", inner.get("disaggregated"))
    apart = flag is True or (not isinstance(flag, bool) and (plain_number(flag) or 0) > 1)
    if apart or all(value is None for value in found.values()):
        return None
    tensor, pipeline, expert, replicas = (1 if found[key] is None else int(found[key] or 0) for key in _PARALLEL)
    return replicas, tensor * pipeline * expert


def _nodes(description: dict[str, Any]) -> list[dict[str, Any]]:
    nodes = description.get("node_types")
    entries = cast(list[Any], nodes) if isinstance(nodes, list) else []
    return [cast(dict[str, Any], node) for node in entries if isinstance(node, dict)]


def _node_types(description: dict[str, Any]) -> dict[int, tuple[int | None, int | None]]:
    """Node type → cores of a CPU, accelerators of a node."""
    found: dict[int, tuple[int | None, int | None]] = {}
    for node in _nodes(description):
        key = node.get("system_node_ensemble_id")
        number = int(key) if isinstance(key, str) and key.strip().isdigit() and len(key) < 10 else whole_number(key)
        if number is None:
            continue
        info = node.get("accelerator_info")
        entries = cast(list[Any], info) if isinstance(info, list) and info else [node]
        counts = [
            whole_number(cast(dict[str, Any], each).get("accelerators_per_node"))
            for each in entries
            if isinstance(each, dict)
        ]
        known = [count for count in counts if count is not None]
        found[number] = (whole_number(node.get("host_processor_core_count")), sum(known) if known else None)
    return found
