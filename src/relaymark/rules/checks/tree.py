"""The folders and files of a bundle (§1, §2.2.1, §8.1)."""

from __future__ import annotations

from pathlib import Path

from relaymark.rules.bundle import Bundle, CurveFolder
from relaymark.rules.findings import Findings


def check_tree(bundle: Bundle, findings: Findings) -> None:
    """The bundle's top level, and every level of its results."""
    root = bundle.root
    for name in ("results", "docs"):
        if not (root / name).is_dir():
            findings.error("required-dir", name, f"The bundle has no folder {name}/.")
    _check_sources(root, findings)
    if (root / "results").is_dir() and not bundle.systems:
        findings.error("system-results-dir", "results", "results/ holds no system.")
    for system in bundle.systems:
        if not system.curves:
            findings.error("benchmark-model-dir", system.place, f"The system {system.name} holds no model.")
    files = ("accuracy_results.json", "results.json")
    if bundle.systems and not any(next((root / "results").rglob(name), None) for name in files):
        findings.error("accuracy-present", "results", "No point has an accuracy result.")


def _check_sources(root: Path, findings: Findings) -> None:
    source = root / "src"
    parts = sorted(entry for entry in source.iterdir() if entry.is_dir()) if source.is_dir() else []
    if not parts:
        findings.error("src-dir", "src", "There is no implementation under src/.")
    for part in parts:
        if not (part / "README.md").is_file():
            findings.error("src-readme", f"src/{part.name}", f"src/{part.name}/ has no README.md.")


def check_points_present(curve: CurveFolder, findings: Findings) -> None:
    """The files of every point of a curve."""
    if not curve.points:
        findings.error("point-dirs", curve.place, f"{curve.place} holds no folder r<concurrency>.")
    for point in curve.points:
        if not point.point.present:
            findings.error("measurement-points-present", point.place, "The point has no point.yaml.")
        if point.config.mapping is None:
            says = f"config.yaml {point.config.problem or 'is not a mapping'}."
            findings.error("config-file-present", point.config.place, says)
        if not point.summary.present:
            findings.error("result-summary-present", point.place, "The point has no result_summary.json.")
        if not point.system.present:
            findings.error("system-description-present", point.place, "The point has no system_desc.json.")
