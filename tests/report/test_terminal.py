"""The run on a terminal, at several widths, with and without colour and Unicode."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from relaymark.measure.summary import Summary
from relaymark.report.progress import PlainProgress, Progress, ProgressSnapshot, progress_line
from relaymark.report.terminal import print_summary

from . import fake_summary


def shown(summary: Summary, width: int, encoding: str = "utf-8") -> str:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding, newline="\n")
    print_summary(summary, Console(file=file, width=width, force_terminal=False))
    file.flush()
    return raw.getvalue().decode(encoding)


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 200])
@pytest.mark.parametrize("name", ["valid_run", "invalid_run", "failing_run", "huge_run", "hostile_run"])
def test_nothing_is_wider_than_the_terminal_nor_cut(name: str, width: int) -> None:
    summary = getattr(fake_summary, name)()
    lines = shown(summary, width).splitlines()
    assert max(len(line) for line in lines) <= width
    assert "\x1b" not in "".join(lines)


def test_the_verdict_comes_first_then_the_error_bar() -> None:
    lines = [line for line in shown(fake_summary.valid_run(), 120).splitlines() if line.strip()]
    assert lines[0].startswith("VALID  quickstart")
    assert lines[1].startswith("client added p50 0.031 ms · p99 0.41 ms · max 2.1 ms, measured on 123,456 reads")


def test_at_120_columns_one_row_a_stage_holds_everything() -> None:
    text = shown(fake_summary.valid_run(), 120)
    row = next(line for line in text.splitlines() if line.startswith("poisson 4/s"))
    assert row.split() == [
        *("poisson", "4/s", "420", "97.4", "3.90", "249", "3.51", "170", "320", "507"),
        *("25.3", "40.6", "25.4", "1,822", "2,213"),
    ]


def test_at_80_columns_no_figure_is_lost() -> None:
    wide, narrow = (shown(fake_summary.valid_run(), width) for width in (120, 80))
    row = next(line for line in wide.splitlines() if line.startswith("concurrency 4"))
    rows = [line for line in narrow.splitlines() if line.startswith("concurrency 4")]
    assert len(rows) == 2
    assert row.split()[2:] == [*rows[0].split()[2:], *rows[1].split()[2:]]


def test_failures_slos_warnings_and_notes_are_told() -> None:
    text = shown(fake_summary.valid_run(), 120)
    assert "of 420 requests 6 stream cut short, 3 HTTP error, 2 stalled" in text
    assert "PASS ttft_p99 ≤ 500 ms: measured 288 ms (poisson 4/s)" in text
    assert "FAIL tpot_p90 ≤ 20 ms: measured 27.4 ms" in text
    assert "warning 41 % of the prompts" in text
    assert "note 1 torn record skipped" in text


def test_an_invalid_run_names_its_reasons() -> None:
    text = shown(fake_summary.invalid_run(), 120)
    assert text.strip().startswith("INVALID")
    assert "✕ The client itself added 38.2 ms at p99" in text
    assert "TTFT and ITL withheld" in text


def test_markup_and_control_characters_of_others_are_only_text() -> None:
    text = shown(fake_summary.hostile_run(), 120)
    assert "[bold red]rich[/bold red]" in text
    assert not any(ord(c) < 32 and c != "\n" for c in text)
    assert "\u202e" not in text


def test_a_terminal_without_unicode_gets_ascii() -> None:
    text = shown(fake_summary.valid_run(), 120, encoding="ascii")
    assert "ttft_p99 <= 500 ms" in text
    assert "?" not in text


SNAPSHOT = ProgressSnapshot(
    stage="concurrency 4", stage_number=3, stages=5, elapsed=12.4, left=17.6, done=123, total=None, in_flight=4,
    failures=0, tokens_per_second=231.4, ttft_p50=85e6,
)  # fmt: skip


def test_the_progress_line() -> None:
    assert progress_line(SNAPSHOT) == (
        "3/5 concurrency 4 · 12 s, 18 s left · 123 requests · 4 in flight · 231 tok/s · TTFT p50 85.0 ms"
    )


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120])
def test_the_progress_line_fits_and_keeps_failures_longest(width: int) -> None:
    failing = ProgressSnapshot(**{**vars(SNAPSHOT), "failures": 7, "total": 500})
    line = progress_line(failing, width)
    assert len(line) <= width
    assert ("7 FAILED" in line) == (width >= 60)


def test_unknown_figures_are_left_out() -> None:
    bare = ProgressSnapshot(
        stage="[red]\x1bx",
        stage_number=1,
        stages=1,
        elapsed=0.2,
        left=None,
        done=0,
        total=None,
        in_flight=1,
        failures=0,
    )
    assert progress_line(bare) == "[red]�x · 0 s · 0 requests · 1 in flight"


def test_a_log_gets_a_line_now_and_then_and_at_each_new_stage() -> None:
    file = io.StringIO()
    plain = PlainProgress(Console(file=file, width=40), every=10)
    assert plain.tick(SNAPSHOT, 100.0)
    assert not plain.tick(SNAPSHOT, 105.0)
    assert plain.tick(SNAPSHOT, 110.0)
    assert plain.tick(ProgressSnapshot(**{**vars(SNAPSHOT), "stage_number": 4}), 111.0)
    assert len(file.getvalue().splitlines()) == 3


def test_progress_outside_a_terminal_writes_no_control_sequences() -> None:
    file = io.StringIO()
    with Progress(lambda: SNAPSHOT, Console(file=file, width=80)):
        pass
    assert file.getvalue().splitlines() == [progress_line(SNAPSHOT)]


def test_progress_on_a_terminal_leaves_nothing_behind() -> None:
    file = io.StringIO()
    with Progress(lambda: SNAPSHOT, Console(file=file, width=120, force_terminal=True, _environ={"TERM": "xterm"})):
        pass
    text = file.getvalue()
    assert "concurrency 4" in text
    assert text.rstrip().endswith("\x1b[2K")
