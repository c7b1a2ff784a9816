"""Seed sets and drafters: bound for the submission, published in time (§2.9.4, §4.6)."""

from __future__ import annotations

from relaymark.rules.cohorts import Cohort
from relaymark.rules.curve import Curve, PointFacts
from relaymark.rules.findings import Findings

DRAFTER_LEAD = 2  # cohorts from a drafter's approval to its first use


def check_seeds(curve: Curve, findings: Findings) -> None:
    """Every point runs with the seeds of one published set that its cohort may still adopt."""
    bound = sorted({point.seed_set for point in curve.usable if point.seed_set})
    if len(bound) > 1:
        findings.error("seed-set-consistency", curve.folder.place, f"The points bind different sets: {bound}.")
    for point in curve.usable:
        _check_cohort(point, findings)
        if point.seed_set is None:
            _check_legacy(point, findings)
            continue
        document = point.folder.point
        published = curve.tables.seed_set(point.seed_set)
        if published is None:
            known = ", ".join(seeds.id for seeds in curve.tables.seed_sets) or "none"
            says = f"Seed set {point.seed_set!r} was not published (known: {known})."
            findings.error("seed-set-membership", document.at("seed_set"), says)
            continue
        for name, value in published.seeds.items():
            if point.seeds.get(name) != value:
                says = f"{name} is {point.seeds.get(name)}; set {published.id} has {value}."
                place = document.at("runtime_settings", "runtime", name)
                findings.error("seed-runtime-match", place, says)
        if point.target_cohort is not None and point.target_cohort not in published.adoptable:
            says = f"Set {published.id} serves {', '.join(published.adoptable)}, not {point.target_cohort}."
            findings.error("seed-set-adoption", document.at("target_cohort"), says)


def check_drafters(curve: Curve, findings: Findings) -> None:
    """A drafter in use is on the benchmark's approved list, two cohorts or more before the target."""
    benchmark = next((point.model_name for point in curve.usable if point.model_name), curve.folder.model)
    approved = [drafter for drafter in curve.tables.drafters if drafter.benchmark == benchmark]
    for point in curve.usable:
        if point.speculative is None:
            continue
        place = point.folder.point.at("speculative_decoding")
        match = next((drafter for drafter in approved if drafter.matches(point.speculative or {})), None)
        if match is None:
            listed = f"{len(approved)} are approved" if approved else "none is approved"
            findings.error("approved-drafter", place, f"The drafter is not approved for {benchmark} ({listed}).")
            continue
        target = Cohort.parse(point.target_cohort or "")
        since = Cohort.parse(match.approved_cohort or "")
        if target is None or since is None:
            findings.warning("drafter-approval-lead-time", place, "Target or approval cohort is not known.")
        elif target < since.plus(DRAFTER_LEAD):
            says = f"Approved in {since}: usable from {since.plus(DRAFTER_LEAD)}, not for {target}."
            findings.error("drafter-approval-lead-time", place, says)


def _check_cohort(point: PointFacts, findings: Findings) -> None:
    cohort = point.target_cohort
    if cohort is not None and Cohort.parse(cohort) is None:
        place = point.folder.point.at("target_cohort")
        findings.error("target-cohort", place, f"{cohort!r} is no cohort.")


def _check_legacy(point: PointFacts, findings: Findings) -> None:
    for name in ("scheduler_rng_seed", "sample_index_rng_seed"):
        value = point.seeds.get(name)
        place = point.folder.point.at("runtime_settings", "runtime")
        if value != 42:
            findings.error("seed-config-legacy", place, f"No seed set is bound, and {name} is {value}, not 42.")
        else:
            findings.warning("seed-config-legacy", place, f"No seed set is bound; {name} is 42.")
