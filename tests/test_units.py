from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relaymark.errors import ConfigError
from relaymark.units import (
    MAX_DURATION,
    format_duration,
    format_rate,
    format_size,
    parse_duration,
    parse_rate,
    parse_size,
)


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("0", 0),
        ("0s", 0),
        ("1ns", 1),
        ("60s", 60 * 10**9),
        ("500ms", 500 * 10**6),
        ("2m", 120 * 10**9),
        ("2min", 120 * 10**9),
        ("1h30m", 5400 * 10**9),
        ("1h 30m 5s", 5405 * 10**9),
        ("1.5s", 1_500_000_000),
        ("0.1ms", 100_000),
        ("250us", 250_000),
        ("250µs", 250_000),
        ("250μs", 250_000),
        (" 10s ", 10 * 10**9),
        ("1d", 86400 * 10**9),
    ],
)
def test_durations_are_read_exactly(text: str, ns: int) -> None:
    assert parse_duration(text) == ns


@pytest.mark.parametrize(
    "text", ["", "s", "60", "-5s", "1e3s", "5 parsecs", "1h-30m", "٣s", "1s2", "nan", "infs", "9" * 18 + "d"]
)
def test_what_is_no_duration_is_refused_with_the_place(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_duration(text, where="--duration")
    assert caught.value.where == "--duration"
    assert caught.value.mend


def test_a_number_without_unit_says_which_units_it_could_be() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_duration("60")
    assert "60s" in caught.value.mend


@settings(deadline=None)
@given(st.integers(min_value=0, max_value=MAX_DURATION))
def test_a_formatted_duration_reads_back_the_same(ns: int) -> None:
    assert parse_duration(format_duration(ns)) == ns


@pytest.mark.parametrize(
    ("ns", "text"), [(0, "0s"), (30 * 10**9, "30s"), (90 * 10**9, "1m30s"), (1_500_000, "1.5ms"), (7, "7ns")]
)
def test_durations_are_written_short(ns: int, text: str) -> None:
    assert format_duration(ns) == text


@pytest.mark.parametrize(
    ("text", "rate"), [("4/s", 4.0), ("120/min", 2.0), ("120 / m", 2.0), ("7200/h", 2.0), ("0.5/s", 0.5), ("8", 8.0)]
)
def test_rates_are_per_second(text: str, rate: float) -> None:
    assert parse_rate(text) == rate
    assert parse_rate(format_rate(rate)) == rate


@pytest.mark.parametrize("text", ["", "fast", "0/s", "-1/s", "4/", "4/year", "nan/s", "1e5/s"])
def test_what_is_no_rate_is_refused(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_rate(text, where="load.rate")
    assert caught.value.where == "load.rate"


@pytest.mark.parametrize(
    ("text", "size"),
    [("64MiB", 64 << 20), ("256kib", 256 << 10), ("1GB", 10**9), ("1.5kB", 1500), ("12", 12), ("3B", 3)],
)
def test_sizes_are_bytes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "big", "5 lb", "-1MiB", "MiB"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_size(text)


@settings(deadline=None)
@given(st.integers(min_value=0, max_value=2**60))
def test_a_formatted_size_reads_back_the_same(size: int) -> None:
    assert parse_size(format_size(size)) == size


@settings(deadline=None)
@given(st.text(max_size=30))
def test_no_text_brings_a_parser_down(text: str) -> None:
    for parse in (parse_duration, parse_rate, parse_size):
        with contextlib.suppress(ConfigError):
            assert parse(text) >= 0
