"""Provisioned power from ``system_power.json``: what a system is built to draw, with every figure's source.

MLPerf Endpoints §4.5.2, §4.5.3 and Appendix D/E as checker 1.5.3.0 applies them:
``(Σ nodes·(CPU + accelerators + scale-up) + counted NICs)·(1 + overhead) + published node power + scale-out switches``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from relaymark.rules.fields import Fields
from relaymark.rules.limits import PowerDefaults

_SOURCES = ("vendor_spec", "publication", "public_statement", "mlc_default")
_APPENDIX = ("D.1", "D.2", "D.3", "D.4")
_VALUES = ("value_w", "value_kw", "value_pj")
_ARM = re.compile(r"\b(grace|neoverse|arm|graviton|axion|ampere|altra|agi)\b")
_X86 = re.compile(r"\b(xeon|epyc|intel|amd|x86|x86_64)\b")
_CORES = re.compile(r"(\d{1,6})[\s-]*core")


@dataclass(slots=True)
class NodeSet:
    """One set of identical nodes: its power in watts with overhead, and how many accelerators a node has."""

    node_set_id: int
    ensemble: int
    nodes: int
    watts: float
    accelerators_a_node: int | None


@dataclass(slots=True)
class Provisioned:
    """A system's provisioned power. ``kw`` is ``None`` where the file does not settle it; ``problems`` says why."""

    kw: float | None = None
    sets: list[NodeSet] = field(default_factory=list[NodeSet])
    switch_watts: float = 0.0
    declared: bool = False
    estimated: list[str] = field(default_factory=list[str])
    problems: list[str] = field(default_factory=list[str])
    warnings: list[str] = field(default_factory=list[str])

    def point_kw(self, nodes_used: dict[int, int] | None = None) -> float | None:
        """Power of a point that engages so many nodes of each set; a set that is not named counts in full (§4.5.3)."""
        if self.kw is None or not self.sets:
            return self.kw
        used = nodes_used or {}
        engaged = {nodes.node_set_id: used.get(nodes.node_set_id, nodes.nodes) for nodes in self.sets}
        shares = {nodes.node_set_id: engaged[nodes.node_set_id] / nodes.nodes for nodes in self.sets}
        if all(share == 1 for share in shares.values()):
            return self.kw
        if self.declared:
            # One figure for the whole system has no shares: the largest engaged share is the careful reading.
            return round(self.kw * max(shares.values()), 2)
        watts = sum(nodes.watts * shares[nodes.node_set_id] for nodes in self.sets)
        watts += self.switch_watts * sum(engaged.values()) / sum(nodes.nodes for nodes in self.sets)
        return round(watts / 1000, 2)


def provisioned(fields: Fields, defaults: PowerDefaults, cores: dict[int, int]) -> Provisioned:
    """The power that a descriptor comes to.

    Args:
        fields: The file's mapping.
        defaults: Appendix D.
        cores: System node ensemble → cores of a CPU, for the CPU default.
    """
    sum_up = _Sum(fields, defaults, cores)
    sum_up.run()
    problems = [f"{_path(problem.keys)} {problem.says}" for problem in fields.problems]
    sum_up.out.problems = [*problems, *sum_up.out.problems]
    if sum_up.out.problems:
        sum_up.out.kw = None
    return sum_up.out


def overhead_of(cooling: str, defaults: PowerDefaults) -> float | None:
    """The overhead fraction that a free text about cooling means; ``None`` where it names neither kind."""
    text = cooling.lower()
    if any(word in text for word in ("liquid", "water", "immersion")):
        return defaults.overhead["liquid"]
    return defaults.overhead["air"] if "air" in text else None


class _Sum:
    def __init__(self, fields: Fields, defaults: PowerDefaults, cores: dict[int, int]) -> None:
        self.fields = fields
        self.defaults = defaults
        self.cores = cores
        self.out = Provisioned()
        self.gaps: list[str] = []
        self.major: dict[int, float] = {}
        self.published: dict[int, float] = {}
        self.methods: dict[int, str] = {}
        self.no_scale_up: dict[int, bool] = {}

    def run(self) -> None:
        fields, out = self.fields, self.out
        fields.text("system_desc_id", required=True, least=1)
        cooling = fields.word("cooling", ("liquid", "air"), required=True)
        sets = fields.rows("node_sets", required=True, least=1) or []
        fabric = fields.mapping("scale_out", required=True)
        for node_set in sets:
            self._node_set(node_set)
        if len({nodes.node_set_id for nodes in out.sets}) != len(out.sets):
            out.problems.append("node_set_id: two sets have the same")
        nic_watts = self._scale_out(fabric) if fabric is not None else 0.0
        counts_everywhere = self._excluded(fabric)
        overhead = self.defaults.overhead.get(cooling or "", 0.0)
        for nodes in out.sets:
            key = nodes.node_set_id
            if nic_watts and (self.methods[key] == "component_sum" or counts_everywhere):
                self.major[key] += nodes.nodes * nic_watts
            nodes.watts = (1 + overhead) * self.major[key] + self.published[key]
        total = sum(nodes.watts for nodes in out.sets) + out.switch_watts
        declared = fields.mapping("declared_provisioned_power")
        if declared is not None:
            out.declared = True
            out.estimated = []  # the figures beneath do not reach the total
            watts = self._watts("declared_provisioned_power", declared)
            out.kw = None if watts is None else round(watts / 1000, 2)
        else:
            out.problems += self.gaps
            out.kw = round(total / 1000, 2)
        if not out.problems and not self.gaps and not fields.problems:
            self._compare(overhead, total)

    def _node_set(self, fields: Fields) -> None:
        key = fields.whole("node_set_id", required=True)
        ensemble = fields.whole("system_node_ensemble_id", required=True)
        nodes = fields.whole("nodes_provisioned", required=True, least=1)
        method = fields.word("power_method", ("component_sum", "published_system", "node_scaling"), required=True)
        if key is None or ensemble is None or nodes is None or method is None:
            return
        label = f"node_sets[{key}]"
        self.methods[key], self.major[key], self.published[key] = method, 0.0, 0.0
        components = fields.mapping("components")
        accelerator = components.mapping("accelerator") if components is not None else None
        per_node = accelerator.whole("count_per_node", required=True, least=0) if accelerator is not None else None
        if method == "component_sum":
            if components is None:
                self.out.problems.append(f"{label}: component_sum needs components")
            else:
                self.major[key] = nodes * self._node_watts(components, self.cores.get(ensemble), label, key)
        else:
            self.published[key] = self._published(fields, label, method, nodes)
        self.out.sets.append(NodeSet(key, ensemble, nodes, 0.0, per_node))

    def _published(self, fields: Fields, label: str, method: str, nodes: int) -> float:
        value = fields.mapping("published_power")
        if value is None:
            self.out.problems.append(f"{label}: {method} needs published_power")
            return 0.0
        watts = self._watts(f"{label}.published_power", value) or 0.0
        if method == "published_system":
            return nodes * watts
        rack = fields.whole("nodes_in_published_rack")
        if rack is None or rack <= nodes:
            self.out.problems.append(
                f"{label}: node_scaling needs nodes_in_published_rack above nodes_provisioned ({nodes})"
            )
            return 0.0
        return watts * nodes / rack

    def _node_watts(self, fields: Fields, cores: int | None, label: str, key: int) -> float:
        combined = fields.mapping("combined_cpu_accelerator")
        cpu, accelerator = fields.mapping("cpu"), fields.mapping("accelerator")
        total = 0.0
        if combined is not None:
            if any(part is not None and part.data.get("tdp_per_unit") for part in (cpu, accelerator)):
                self.out.problems.append(f"{label}: combined_cpu_accelerator excludes a tdp_per_unit of its parts")
            total += self._watts(f"{label}.combined_cpu_accelerator", combined) or 0.0
        elif cpu is None or accelerator is None:
            self.out.problems.append(f"{label}: components need cpu and accelerator, or combined_cpu_accelerator")
        else:
            for name, part in (("cpu", cpu), ("accelerator", accelerator)):
                count = part.whole("count_per_node", required=True, least=0) or 0
                model = part.text("model")
                usual = self._cpu_default(model, cores) if name == "cpu" else self._accelerator_default(model)
                source = "D.2" if name == "cpu" else "D.3"
                total += count * self._or_default(f"{label}.{name}", part.mapping("tdp_per_unit"), usual, source)
        return total + self._scale_up(fields.mapping("scale_up_network"), label, key)

    def _scale_up(self, fields: Fields | None, label: str, key: int) -> float:
        if fields is None:
            self.out.problems.append(f"{label}: scale_up_network is missing (its method may be none)")
            return 0.0
        method = fields.word("method", ("declared_tdp", "bandwidth_estimate", "none"), required=True)
        self.no_scale_up[key] = method == "none"
        if method == "declared_tdp":
            count = fields.whole("switch_count", least=0)
            if count is None:
                self.out.problems.append(f"{label}.scale_up_network: declared_tdp needs switch_count")
                return 0.0
            value = fields.mapping("tdp_per_switch")
            return count * self._or_default(f"{label}.scale_up_network.tdp_per_switch", value, None, "")
        if method == "bandwidth_estimate":
            return self._bandwidth(fields, f"{label}.scale_up_network")
        return 0.0

    def _bandwidth(self, fields: Fields, label: str) -> float:
        bandwidth = fields.number("aggregate_bandwidth_tbps", least=0)
        energy = fields.mapping("energy_per_bit_pj")
        if bandwidth is None:
            self.out.problems.append(f"{label}: bandwidth_estimate needs aggregate_bandwidth_tbps")
            return 0.0
        if energy is None:
            self.gaps.append(f"{label}.energy_per_bit_pj is missing")
            return 0.0
        kind, value = self._sourced(f"{label}.energy_per_bit_pj", energy)
        if kind is not None and kind != "value_pj":
            self.out.problems.append(f"{label}.energy_per_bit_pj needs value_pj")
        return bandwidth * 8 * value  # TB/s · 8 · pJ/bit = W

    def _scale_out(self, fabric: Fields) -> float:
        """Adds the switches; returns the watts of the counted NICs of a node."""
        out = self.out
        nodes = sum(each.nodes for each in out.sets)
        present = fabric.flag("present", required=True)
        if not present:
            if nodes > 1 and self.methods and all(self.no_scale_up.get(key, False) for key in self.methods):
                out.problems.append(f"scale_out: nothing joins the {nodes} nodes, so present cannot be false")
            elif nodes > 1:
                out.warnings.append(f"scale_out.present is false for {nodes} nodes: something else must join them")
            return 0.0
        if nodes == 1:
            out.warnings.append("scale_out.present is true for a single node")
        cabling = fabric.word("cabling", ("passive", "active_optical"))
        required = fabric.number("required_bandwidth_tbps", least=0)
        nics, switches = fabric.mapping("nics"), fabric.rows("switches")
        if cabling is None or required is None or nics is None or switches is None:
            out.problems.append("scale_out: present needs cabling, required_bandwidth_tbps, nics and switches")
            return 0.0
        per_node = self._nics(nics)
        count = nics.whole("count_per_node") or 0
        from_nics = nodes * count * (nics.number("bandwidth_per_nic_gbps") or 0.0) / 1000
        if required < from_nics - 1e-6:
            out.problems.append(f"scale_out.required_bandwidth_tbps {required:g} is below the NICs' {from_nics:g}")
        offered = 0.0
        for place, switch in enumerate(switches):
            model = switch.text("model", required=True)
            units = switch.whole("count", required=True, least=1) or 0
            offered += units * (switch.number("bandwidth_tbps", required=True, least=0) or 0.0)
            usual = self._switch_default(model, cabling)
            label = f"scale_out.switches[{place}].power_per_switch"
            out.switch_watts += units * self._or_default(label, switch.mapping("power_per_switch"), usual, "D.4")
        if offered < max(required, from_nics) - 1e-6:
            out.problems.append(
                f"scale_out: switches offer {offered:g} Tb/s of the {max(required, from_nics):g} needed"
            )
        return per_node

    def _nics(self, nics: Fields) -> float:
        count = nics.whole("count_per_node", required=True, least=0) or 0
        nics.number("bandwidth_per_nic_gbps", required=True, least=0)
        counted = nics.flag("counted", required=True)
        by_parts = "component_sum" in self.methods.values()
        if not counted:
            if by_parts:
                self.out.problems.append("scale_out.nics: must be counted where a node's power is a component sum")
            return 0.0
        if not by_parts and not nics.text("excluded_from_published_power"):
            self.out.problems.append("scale_out.nics: a published node power includes them; they must not be counted")
        value = nics.mapping("tdp_per_nic")
        return count * self._or_default("scale_out.nics.tdp_per_nic", value, self.defaults.nic_w, "D.4")

    @staticmethod
    def _excluded(fabric: Fields | None) -> bool:
        nics = fabric.mapping("nics") if fabric is not None else None
        return nics is not None and bool(nics.data.get("excluded_from_published_power"))

    def _or_default(self, label: str, value: Fields | None, usual: float | None, source: str) -> float:
        if value is not None:
            return self._watts(label, value) or 0.0
        if usual is None:
            self.gaps.append(f"{label} is missing, and Appendix D has no figure for it")
            return 0.0
        self.out.estimated.append(f"{label} ({usual:g} W from {source})")
        return usual

    def _watts(self, label: str, fields: Fields) -> float | None:
        kind, value = self._sourced(label, fields)
        if kind is None:
            return None
        if kind == "value_pj":
            self.out.problems.append(f"{label}: an energy is no power; give value_w or value_kw")
            return None
        return value * 1000 if kind == "value_kw" else value

    def _sourced(self, label: str, fields: Fields) -> tuple[str | None, float]:
        """A sourced value (E.1): exactly one figure, its kind of source, and the source."""
        for key in fields.data:
            if key not in (*_VALUES, "source_type", "source"):
                fields.says(key, "does not belong here")
        given = [(kind, fields.number(kind, least=0)) for kind in _VALUES if fields.data.get(kind) is not None]
        kind_of_source = fields.word("source_type", _SOURCES, required=True)
        source = fields.text("source", required=True, least=1)
        if len(given) != 1:
            self.out.problems.append(f"{label}: give exactly one of {', '.join(_VALUES)}")
            return None, 0.0
        if kind_of_source == "mlc_default":
            self.out.estimated.append(f"{label} ({source} default)")
            if source not in _APPENDIX:
                fields.says("source", f"must be one of {', '.join(_APPENDIX)} for mlc_default")
        elif source is not None and not source.startswith(("https://", "http://")):
            fields.says("source", "must be a URL")
        kind, value = given[0]
        return (None, 0.0) if value is None else (kind, value)

    def _cpu_default(self, model: str | None, cores: int | None) -> float | None:
        text = (model or "").lower()
        if cores is None:
            match = _CORES.search(text)
            cores = int(match[1]) if match else None
        if cores is None:
            return None
        watts = self.defaults.cpu_w
        if _ARM.search(text):
            return watts["arm"] if cores <= 128 else None
        if _X86.search(text):
            return watts["x86_small"] if cores <= 64 else watts["x86_large"]
        return None

    def _accelerator_default(self, model: str | None) -> float | None:
        name = re.sub(r"[^a-z0-9]", "", (model or "").lower())
        return next((watts for key, watts in self.defaults.accelerator_w if key in name), None)

    def _switch_default(self, model: str | None, cabling: str) -> float | None:
        name = re.sub(r"[^a-z0-9]", "", (model or "").lower())
        return next((by.get(cabling) for key, by in self.defaults.switch_w if key in name), None)

    def _compare(self, overhead: float, total: float) -> None:
        """Figures that the file states itself must be ours (E.7)."""
        major, published = sum(self.major.values()), sum(self.published.values())
        stated = self.fields.mapping("computed")
        ours = {
            "major_components_w": (major, 0.5),
            "other_components_w": (overhead * major, 0.5),
            "published_node_power_w": (published, 0.5),
            "scale_out_switch_power_w": (self.out.switch_watts, 0.5),
            "total_system_power_w": (total, 0.5),
            "overhead_fraction": (overhead, 1e-9),
        }
        for name, (value, slack) in ours.items():
            theirs = stated.number(name) if stated is not None else None
            if theirs is not None and abs(theirs - value) > slack:
                self.out.problems.append(f"computed.{name} is {theirs:g}, recomputed {value:g}")
        kw = self.fields.number("provisioned_power_kw")
        if kw is not None and self.out.kw is not None and abs(kw - self.out.kw) > 0.005:
            self.out.problems.append(f"provisioned_power_kw is {kw:g}, recomputed {self.out.kw:g}")


def _path(keys: tuple[str | int, ...]) -> str:
    return ".".join(str(key) for key in keys)
