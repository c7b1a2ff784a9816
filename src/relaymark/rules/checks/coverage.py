"""The curve: its regions, how its points cover them, and the Offline point (§5, §6.1, §9.1)."""

from __future__ import annotations

from relaymark.rules.checks.results import system_tps_of
from relaymark.rules.curve import AGENTIC, ELECTED, Curve
from relaymark.rules.findings import Findings
from relaymark.rules.regions import (
    HIGH,
    LOW,
    MEDIUM,
    SUBMITTERS_CHOICE,
    ULTRA_LOW,
    ULTRA_LOW_BAND,
    Span,
    regions_of,
)

MOST_POINTS = 32
OFFLINE_SLACK = 0.98
_RULES = {
    ULTRA_LOW_BAND: "ultra-low-concurrency-coverage",
    LOW: "low-concurrency-coverage",
    MEDIUM: "med-concurrency-coverage",
    HIGH: "high-concurrency-coverage",
}


def place_regions(curve: Curve, override: int | None, findings: Findings) -> None:
    """Computes the curve's regions from C_max and the lowest point (or the declared C_min)."""
    place = curve.folder.place
    if curve.c_max is None:
        findings.warning("region-basis", place, "No system_desc.json gives max_supported_concurrency.")
        return
    measured = [point.concurrency for point in curve.points]
    if not measured:
        findings.error("region-basis", place, "The curve has no points.")
        return
    if override is not None and override not in curve.fixed:
        findings.error("c-min-override", place, f"c_min_override is {override}, but no point was measured there.")
        return
    lowest = override if override is not None else min(*measured, ULTRA_LOW)
    try:
        curve.regions = regions_of(curve.c_max, lowest, overridden=override is not None)
    except ValueError as error:
        findings.error("region-computation", place, f"{error}.")


def check_points_placed(curve: Curve, findings: Findings) -> None:
    """Each point lies in a region, and in the one that it declares."""
    if curve.regions is None:
        return
    for point in curve.usable:
        region = curve.regions.of(point.concurrency)
        document = point.folder.point
        if region is None and not point.dedicated:
            top = curve.regions.spans["margin"].end
            says = f"{point.concurrency} is above {top}, the most that C_max {curve.c_max} allows."
            findings.error("concurrency-in-range", document.at("concurrency"), says)
        declared = point.region
        if declared not in (None, SUBMITTERS_CHOICE) and region is not None and declared != region:
            says = f"Declared {declared}, computed {region}."
            findings.warning("region-placement", document.at("region"), says)


def check_coverage(curve: Curve, findings: Findings) -> None:
    """How many points, in which regions, and all of one kind.

    A dedicated Offline run covers no region (§5.7.2), though the official checker counts one at C_max or below.
    """
    place, count = curve.folder.place, len(curve.points)
    fewest = 8 if not curve.agentic and any(point.dedicated for point in curve.usable) else 7
    if count < fewest:
        findings.error("point-count", place, f"{count} points of the {fewest} that a curve needs.")
    if count > MOST_POINTS:
        findings.error("point-cap", place, f"{count} points; {MOST_POINTS} are the most.")
    patterns = sorted({point.load_pattern for point in curve.voting})
    if len(patterns) > 1:
        findings.error("benchmark-type-consistency", place, f"Load patterns differ: {', '.join(patterns)}.")
    for key, rule in (("dataset", "config-consistency-dataset"), ("model_name", "config-consistency-model")):
        points = [point for point in curve.usable if key == "model_name" or point.summary is not None]
        values = sorted({str(getattr(point, key)) for point in points if key == "dataset" or point.model_name})
        if len(values) > 1:
            findings.error(rule, place, f"The points differ in {key}: {', '.join(map(repr, values))}.")
    for band, rule in _RULES.items():
        if curve.regions is not None:
            span = curve.regions.band_span(band)
        elif band == ULTRA_LOW_BAND:
            span = Span(1, ULTRA_LOW)
        else:
            continue  # without C_max there is no telling; region-basis says so
        if not any(c in span for c in curve.fixed):
            findings.error(rule, place, f"No point lies in {span}.")


def check_models(curve: Curve, findings: Findings) -> None:
    """The model's name is an exact one of the round, and the folder's."""
    seen: set[str] = set()
    for point in curve.usable:
        name = point.model_name
        if not name or name in seen:
            continue
        seen.add(name)
        if curve.tables.model(name) is None:
            known = ", ".join(model.name for model in curve.tables.models)
            says = f"The model {name!r} is none of {known}."
            findings.error("model-name-valid", point.folder.point.at("model_name"), says)
    declared = next((point.model_name for point in curve.usable if point.model_name), None)
    if declared is None:
        says = f"No point declares the model of the folder {curve.folder.model}."
        findings.warning("model-name-consistency", curve.folder.place, says)
    elif declared != curve.folder.model:
        says = f"The points declare {declared!r}, the folder is called {curve.folder.model!r}."
        findings.error("model-name-consistency", curve.folder.place, says)


def check_offline(curve: Curve, findings: Findings) -> None:
    """Exactly one Offline point, none on an agentic curve; a dedicated run is no slower than the point at C_max."""
    place = curve.folder.place
    declared = [point for point in curve.usable if point.offline in ("dedicated", ELECTED)]
    listed = ", ".join(f"r{point.concurrency}" for point in declared)
    if curve.agentic:
        if declared:
            findings.error("offline-point-present", place, f"An agentic curve has no Offline point, but {listed} is.")
    elif len(declared) != 1:
        says = f"{len(declared)} points are declared Offline: {listed}." if declared else "No point is Offline."
        mend = None if declared else f"Declare one; an agentic curve needs none, and its load pattern is {AGENTIC}."
        findings.error("offline-point-present", place, says, mend)
    elif declared[0].offline == ELECTED and curve.c_max is not None and declared[0].concurrency != curve.c_max:
        says = f"The elected point is at {declared[0].concurrency}, C_max is {curve.c_max}."
        findings.error("offline-point-present", declared[0].folder.point.at("offline"), says)
    offline = next((point for point in declared if point.dedicated), None)
    if offline is None or curve.c_max is None:
        return
    document = offline.folder.point
    if offline.concurrency < curve.c_max:
        says = f"Offline's concurrency {offline.concurrency} is below C_max {curve.c_max}."
        findings.warning("offline-ordering", document.at("concurrency"), says)
    top = next((p for p in curve.usable if p.concurrency == curve.c_max and p is not offline), None)
    if top is not None and top.summary is not None and offline.summary is not None:
        least = OFFLINE_SLACK * top.summary.system_tps
        if offline.summary.system_tps < least:
            says = f"Offline gives {offline.summary.system_tps:,.0f} tokens/s, less than {least:,.0f} (0.98 of C_max)."
            findings.warning("offline-ordering", offline.folder.summary.place, says)


def check_utilisation(curve: Curve, findings: Findings) -> None:
    """``tps_utilization`` is the point's share of the curve's largest throughput, within 0.1."""
    # From the raw file: a summary that is wrong elsewhere still has its say in what the largest is.
    rates = [(point, rate) for point in curve.points if (rate := system_tps_of(point.folder.summary)) is not None]
    largest = max((rate for _, rate in rates), default=0.0)
    if largest <= 0:
        return
    for point, rate in rates:
        stated = (point.folder.system.mapping or {}).get("tps_utilization")
        if isinstance(stated, bool) or not isinstance(stated, int | float):
            continue
        if abs(stated - rate / largest) > 0.1:
            says = f"tps_utilization is {stated:g}; {rate:,.0f} of {largest:,.0f} tokens/s are {rate / largest:.3f}."
            findings.error("tps-utilization", point.folder.system.at("tps_utilization"), says)
