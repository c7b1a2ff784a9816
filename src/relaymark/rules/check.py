"""Checks a submission bundle of MLPerf Endpoints against every rule that a program can check."""

from __future__ import annotations

from pathlib import Path

from relaymark.rules.bundle import CurveFolder, SystemFolder, open_bundle
from relaymark.rules.checks import accuracy, agentic, coverage, gaps, point, power, results, seeds, system, tree
from relaymark.rules.curve import Curve
from relaymark.rules.findings import Findings
from relaymark.rules.limits import Endpoints, endpoints


def check_bundle(path: Path, tables: Endpoints | None = None) -> Findings:
    """Checks a bundle: the rules of ``endpoints-submission-cli`` 1.5.3.0, and those that it lets pass.

    Args:
        path: The submission's folder (it holds ``results``), or the organisation's around it.
        tables: Limits to go by; the packaged ones by default.
    """
    findings = Findings()
    if not path.is_dir():
        findings.error("path-exists", str(path), "There is no such folder.")
        return findings
    bundle = open_bundle(path)
    tree.check_tree(bundle, findings)
    for each in bundle.systems:
        watts = power.system_power(each, (tables or endpoints()).power, findings)
        for folder in each.curves:
            curve = _read_curve(folder, each, tables or endpoints(), findings)
            curve.power = watts
            _check_curve(curve, bundle.root, findings)
    return findings


def _read_curve(folder: CurveFolder, owner: SystemFolder, tables: Endpoints, findings: Findings) -> Curve:
    tree.check_points_present(folder, findings)
    curve = Curve(folder, owner, tables)
    for each in folder.points:
        facts = point.read_point(each, findings)
        facts.summary = results.read_summary(each.summary, findings)
        curve.points.append(facts)
    curve.c_max = system.check_descriptions(folder, findings)
    override, sound = system.c_min_override(folder, findings)
    if sound:
        coverage.place_regions(curve, override, findings)
    return curve


def _check_curve(curve: Curve, root: Path, findings: Findings) -> None:
    coverage.check_models(curve, findings)
    coverage.check_points_placed(curve, findings)
    for facts in curve.usable:
        results.check_results(curve, facts, findings)
        power.check_point_power(curve, facts, findings)
    point.check_shared(curve.usable, root, findings)
    seeds.check_seeds(curve, findings)
    seeds.check_drafters(curve, findings)
    coverage.check_coverage(curve, findings)
    coverage.check_offline(curve, findings)
    coverage.check_utilisation(curve, findings)
    found = accuracy.read_accuracy(curve, findings)
    accuracy.check_accuracy_coverage(curve, found, findings)
    accuracy.check_single_turn(curve, found, findings)
    agentic.check_agentic(curve, found, findings)
    gaps.check_gaps(curve, found, findings)
