"""Does it count? The rules of MLPerf: plans, bundles and checks for Endpoints, layouts and limits for Inference.

Imports are lazy: `relaymark --help` must not wait for numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from relaymark.rules.build import build_bundle
    from relaymark.rules.check import check_bundle
    from relaymark.rules.findings import Finding, Findings, Severity
    from relaymark.rules.limits import endpoints, inference, with_newer
    from relaymark.rules.plan import CurvePlan, PlannedPoint, plan_curve
    from relaymark.rules.regions import Regions, regions_of, shortest_seconds
    from relaymark.rules.submission import Submission, read_submission

__all__ = [
    "CurvePlan",
    "Finding",
    "Findings",
    "PlannedPoint",
    "Regions",
    "Severity",
    "Submission",
    "build_bundle",
    "check_bundle",
    "endpoints",
    "inference",
    "plan_curve",
    "read_submission",
    "regions_of",
    "shortest_seconds",
    "with_newer",
]

_HOMES = {
    "build": ("build_bundle",),
    "check": ("check_bundle",),
    "findings": ("Finding", "Findings", "Severity"),
    "limits": ("endpoints", "inference", "with_newer"),
    "plan": ("CurvePlan", "PlannedPoint", "plan_curve"),
    "regions": ("Regions", "regions_of", "shortest_seconds"),
    "submission": ("Submission", "read_submission"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
