"""Numbers, axes and untrusted text as they are shown."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relaymark.report import digits
from relaymark.report.charts import scale
from relaymark.report.charts.frame import spread_labels
from relaymark.report.clean import plain_block, plain_line


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"), (math.inf, "∞"), (math.nan, "–"), (0, "0"), (0.03, "0.030"), (0.4123, "0.41"), (4.567, "4.57"),
        (9.996, "10.0"), (12.34, "12.3"), (99.96, "100"), (1234.5, "1,234"), (12_345_678, "12.3 M"), (-4.5, "−4.50"),
        (1e-9, "<0.0001"), (3e40, "3.00e+40"),
    ],
)  # fmt: skip
def test_number(value: float | None, shown: str) -> None:
    assert digits.number(value) == shown


@pytest.mark.parametrize(
    ("ns", "shown"),
    [
        (None, "–"), (0, "0 ms"), (412, "412 ns"), (9_500, "9.50 µs"), (31_000, "0.031 ms"), (1.234e9, "1,234 ms"),
        (12.34e9, "12.3 s"), (605e9, "10 min 05 s"), (3_720e9, "1 h 02 min"), (270_000e9, "3 d 03 h"),
    ],
)  # fmt: skip
def test_duration(ns: float | None, shown: str) -> None:
    assert digits.duration(ns) == shown


def test_percent_rounds_neither_to_all_nor_to_none() -> None:
    assert digits.percent(1.0) == "100 %"
    assert digits.percent(0.0) == "0 %"
    assert digits.percent(999_999 / 1_000_000) == "99.999 %"
    assert digits.percent(1 / 1_000_000) == "<0.1 %"


def test_a_column_whose_values_differ_a_million_times_lets_each_value_name_its_unit() -> None:
    assert digits.unit_for([5e6, 2e9]).head("TTFT") == "TTFT ms"
    mixed = digits.unit_for([8e3, 4e12])
    assert mixed.head("TTFT") == "TTFT"
    assert mixed.show(8e3) == "8.00 µs"


@given(st.floats(min_value=1e-6, max_value=1e15))
@settings(deadline=None)
def test_linear_axes_hold_their_values_and_have_few_ticks(high: float) -> None:
    axis = scale.linear(high, 5, scale.show_number)
    assert axis.low == 0
    assert axis.high >= high * 0.999
    assert 2 <= len(axis.ticks) <= 7
    assert len({tick.label for tick in axis.ticks}) == len(axis.ticks)


@given(st.floats(min_value=1, max_value=1e14), st.floats(min_value=1, max_value=1e9))
@settings(deadline=None)
def test_time_axes_hold_their_values_and_label_each_tick_apart(low: float, ratio: float) -> None:
    axis = scale.times([low, low * ratio])
    assert axis.low <= max(low, 1e3) * 1.000001
    assert axis.high >= low * ratio * 0.999
    assert axis.at(low * ratio) <= 1
    assert 2 <= len(axis.ticks) <= 12
    assert len({tick.label for tick in axis.ticks}) == len(axis.ticks)


def test_percentile_axis_gives_both_tails_room() -> None:
    axis = scale.shares(0.01, 0.999)
    assert [t.label for t in axis.ticks] == ["p1", "p10", "p50", "p90", "p99", "p99.9"]
    assert axis.at(0.99) - axis.at(0.9) > 0.15
    assert axis.at(0.1) - axis.at(0.01) > 0.15


@given(st.lists(st.floats(min_value=-50, max_value=300), min_size=1, max_size=16))
@settings(deadline=None)
def test_labels_never_overlap_and_stay_inside(wanted: list[float]) -> None:
    wanted.sort()
    placed = spread_labels(wanted, 15, 4, 244)
    assert placed is not None
    assert all(b - a >= 15 - 1e-6 for a, b in pairwise(placed))
    assert placed[0] >= 4 - 1e-6
    assert placed[-1] <= 244 + 1e-6


def test_labels_that_cannot_fit_are_given_up() -> None:
    assert spread_labels([1.0] * 30, 15, 0, 200) is None


@given(st.text(max_size=400), st.integers(min_value=1, max_value=300))
@settings(deadline=None)
def test_a_line_is_one_short_encodable_line(text: str, limit: int) -> None:
    line = plain_line(text, limit)
    assert len(line) <= limit
    assert line.encode("utf-8").decode("utf-8").splitlines() in ([line], [])
    assert not any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 or 0x202A <= ord(c) <= 0x202E for c in line)


def test_hidden_characters_are_seen() -> None:
    assert plain_line("a\x1b[31mb\u202ec\ud800") == "a�[31mb�c�"
    assert plain_line("x" * 10_000, 50) == "x" * 49 + "…"
    assert plain_line("e" + "\u0301" * 500) == "e" + "\u0301" * 4
    assert plain_block("a:\r\n\tb\x00") == "a:\n\tb�"
    assert plain_block("x" * 30, 10) == "x" * 10 + "\n… (20 more characters)"
