"""Regions and plans, against the values of the rules' Appendix B as the specification repeats them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from submission_checker.models.regions import compute_regions

from relaymark.errors import ConfigError
from relaymark.rules import endpoints, plan_curve, regions_of, shortest_seconds
from relaymark.rules.cohorts import Cohort
from relaymark.rules.regions import BANDS, assign_bands

TABLE = [
    # C_max, C_min, first of Low, of Medium, of High
    (64, 2, 3, 7, 19),
    (256, 1, 2, 8, 42),
    (512, 16, 17, 25, 80),
    (1024, 16, 17, 27, 118),
    (1024, 32, 33, 43, 132),
    (2048, 32, 33, 46, 193),
    (4096, 32, 33, 49, 288),
    (8192, 32, 33, 53, 438),
    (16384, 32, 33, 58, 677),
]


@pytest.mark.parametrize(("c_max", "c_min", "low", "medium", "high"), TABLE)
def test_boundaries(c_max: int, c_min: int, low: int, medium: int, high: int) -> None:
    spans = regions_of(c_max, c_min).spans
    starts = [spans[name].start for name in ("low_concurrency", "med_concurrency", "high_concurrency")]
    assert starts == [low, medium, high]
    assert spans["high_concurrency"].end == c_max
    assert spans["margin"].start == c_max + 1


def test_margin_of_256() -> None:
    assert regions_of(256, 1).spans["margin"].end == 282


@settings(deadline=None)
@given(st.integers(33, 200_000), st.integers(1, 32), st.integers(1, 250_000))
def test_every_concurrency_lies_where_the_official_program_puts_it(c_max: int, c_min: int, concurrency: int) -> None:
    theirs, ours = compute_regions(c_max, c_min), regions_of(c_max, c_min)
    for name, span in ours.spans.items():
        bounds = getattr(theirs, name)
        assert (bounds.start, bounds.end) == (span.start, span.end)
        assert bounds.contains(concurrency) == (concurrency in span)


@pytest.mark.parametrize(("c_max", "c_min"), [(32, 1), (256, 0), (256, 33)])
def test_no_curve(c_max: int, c_min: int) -> None:
    with pytest.raises(ValueError, match="must be"):
        regions_of(c_max, c_min)


def test_durations() -> None:
    assert [shortest_seconds(c, agentic=False) for c in (1, 32, 33)] == [600, 600, 1200]
    assert [shortest_seconds(c, agentic=True) for c in (1, 32, 33)] == [600, 600, 2400]


def test_a_result_counts_for_one_region_only() -> None:
    # 4 lies in Ultra Low and in Low; with another at 2 both regions are covered, alone only one
    regions = regions_of(256, 1)
    assert set(assign_bands({4: regions.bands(4)})) < set(BANDS)
    both = assign_bands({4: regions.bands(4), 1: regions.bands(1)})
    assert both == {"ultra_low_concurrency": 1, "low_concurrency": 4}


@settings(deadline=None, max_examples=60)
@given(
    st.integers(64, 20_000),
    st.sampled_from([1, 4, 8, 16, 32]),
    st.integers(7, 31),
    st.sampled_from(["dedicated", "elected"]),
)
def test_a_plan_covers_what_must_be_covered(c_max: int, c_min: int, points: int, offline: str) -> None:
    model = endpoints().model("llama3_1-8b")
    assert model is not None
    try:
        plan = plan_curve(model, c_max, c_min=c_min, points=points, offline=offline, rates={c_min: 2.0, c_max: 90.0})
    except ConfigError as error:
        assert "concurrenc" in str(error)
        return
    fixed = [point.concurrency for point in plan.points if point.offline != "dedicated"]
    assert len(fixed) == len(set(fixed)) == points
    assert min(fixed) == c_min
    assert max(fixed) == c_max
    scored = {point.accuracy for point in plan.points if point.accuracy}
    assert scored == {*BANDS, *(["offline"] if offline == "dedicated" else [])}
    assert all(point.seconds is not None and point.seconds >= point.least_seconds for point in plan.points)


def test_a_plan_says_what_a_slow_point_costs() -> None:
    model = endpoints().model("llama3_1-8b")
    assert model is not None
    plan = plan_curve(model, 256, c_min=1, rates={1: 250 / 128, 256: 97.0})
    first = plan.points[0]
    # one pass of 13,368 samples of 128 tokens at 250 tokens/s: 1.9 h, so no six of them in four hours
    assert first.seconds == pytest.approx(13368 * 128 / 250)
    assert not first.official
    assert any("steady window" in note for note in plan.notes)


def test_cohorts() -> None:
    first = Cohort.parse("2026-10-C1")
    assert first is not None
    assert [str(each) for each in first.following(4)] == ["2026-10-C1", "2026-11-C0", "2026-11-C1", "2026-12-C0"]
    assert str(first.plus(5)) == "2027-01-C0"
    assert Cohort.parse("2026-13-C0") is None
    assert Cohort.parse("2026-10-C2") is None
