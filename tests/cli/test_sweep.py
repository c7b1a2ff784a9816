"""``relaymark sweep`` against an emulated endpoint whose knee is known."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from relaymark.cli import main
from relaymark.emulate import PacedServer
from relaymark.errors import TraceError
from relaymark.measure.curve import (
    Bound,
    Estimate,
    LevelRun,
    Sweep,
    curve_points,
    measured_rates,
    read_sweep,
    too_wide,
    why_stop,
    write_sweep,
)
from relaymark.report.charts.pareto import steps
from relaymark.report.curve import holds_to, render_curve


def run_at(level: float, tps: float, user: float, *, held: bool | None = None, valid: bool = True) -> LevelRun:
    bound = Bound(text="ttft_p99 ≤ 1s", measured=1e8, bound=1e9, met=bool(held), margin=0.0, sigma=0.01)
    return LevelRun(
        level=level,
        folder=f"c{level:g}",
        valid=valid,
        reasons=[] if valid else ["<script>alert(1)</script>"],
        requests=100,
        failed=0,
        request_rate=tps / 100,
        system_tps=Estimate(value=tps, low=0.98 * tps, high=1.02 * tps),
        tps_per_user=Estimate(value=user),
        ttft_p90=1e8,
        tpot_p90=1e9 / user,
        bounds=[] if held is None else [bound],
        basis="whole run",
        steady="",
    )


def sweep_of(runs: list[LevelRun]) -> Sweep:
    return Sweep(
        name="<b>sweep</b>", started_at="now", version="0", kind="concurrency", url="http://x", model="m",
        slos=["ttft_p99=1s"], levels=[], options={}, runs=runs,
    )  # fmt: skip


def test_levels_are_run_and_the_curve_is_drawn(
    tmp_path: Path, paced_server: Callable[..., PacedServer], capsys: pytest.CaptureFixture[str]
) -> None:
    server = paced_server(ttft=0.01, itl=0.002, tokens=16, slots=4)
    options = ["--url", server.url, "--duration", "500ms", "--out", str(tmp_path), "--all", "--json"]
    assert main(["sweep", "chat", "--concurrency", "1,4,8", *options]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [point["level"] for point in told["points"]] == [1, 4, 8]
    one, four, eight = (point["system_tps"]["value"] for point in told["points"])
    # 16 tokens in 10 + 15·2 ms; four slots carry four times as much, and no more for eight users
    assert one == pytest.approx(16 / 0.040, rel=0.15)
    assert four == pytest.approx(4 * one, rel=0.15)
    assert eight == pytest.approx(four, rel=0.15)
    assert told["points"][2]["ttft_p90"] > 3 * told["points"][1]["ttft_p90"]
    (folder,) = tmp_path.glob("*-sweep")
    assert (folder / "curve.html").is_file()
    for run in told["runs"]:
        assert (folder / run["folder"] / "report.html").is_file()
        assert run["overhead"] is not None
    assert measured_rates(folder)[4] == pytest.approx(told["points"][1]["request_rate"])


def test_the_highest_load_that_holds_is_the_number_of_slots(
    tmp_path: Path, paced_server: Callable[..., PacedServer], capsys: pytest.CaptureFixture[str]
) -> None:
    # a request is served for 20 + 24·4 ms; a fourth user waits a third of that for a slot: TTFT 20 or 59 ms
    server = paced_server(ttft=0.02, itl=0.004, tokens=25, slots=3)
    options = ["--url", server.url, "--duration", "800ms", "--start", "2", "--warmup", "0"]
    for attempt in range(3):
        code = main(["sweep", "chat", "--slo", "ttft_p90=35ms", *options, "--out", str(tmp_path / str(attempt))])
        told = capsys.readouterr().out
        (folder,) = (tmp_path / str(attempt)).glob("*-sweep")
        if not any("INVALID" in note for note in read_sweep(folder).notes):
            break  # else this machine was too busy to measure: the sweep said so, and is made again
    assert code == 0
    found = read_sweep(folder).found
    assert found is not None
    assert found.level == 3
    assert found.runs <= 12
    assert "Concurrency 3" in told


def test_no_load_holds(
    tmp_path: Path, paced_server: Callable[..., PacedServer], capsys: pytest.CaptureFixture[str]
) -> None:
    server = paced_server(ttft=0.05, itl=0.002, tokens=8)
    options = ["--url", server.url, "--duration", "300ms", "--out", str(tmp_path), "--start", "1", "--warmup", "0"]
    assert main(["sweep", "chat", "--slo", "ttft_p99=5ms", *options]) == 1
    assert "No concurrency holds" in capsys.readouterr().out


def test_a_sweep_is_taken_up_where_it_was(
    tmp_path: Path, paced_server: Callable[..., PacedServer], capsys: pytest.CaptureFixture[str]
) -> None:
    server = paced_server(ttft=0.01, itl=0.002, tokens=8)
    options = ["--url", server.url, "--duration", "250ms", "--out", str(tmp_path), "--warmup", "0", "--all"]
    # On a busy machine a level may come out INVALID, which is told by 3 and is none of this test's business.
    assert main(["sweep", "chat", "--concurrency", "1,2", *options]) in (0, 3)
    (folder,) = tmp_path.glob("*-sweep")
    sweep = read_sweep(folder)
    first, _ = sweep.runs
    sweep.runs, sweep.status = [first], "interrupted"
    write_sweep(folder, sweep)
    capsys.readouterr()
    assert main(["sweep", "--resume", str(folder)]) in (0, 3)
    again = read_sweep(folder)
    assert [run.level for run in again.runs] == [1, 2]
    assert again.runs[0] == first
    assert "Run 2" in (told := capsys.readouterr().err)
    assert "Run 1:" not in told


def test_when_a_higher_load_cannot_matter() -> None:
    rising = [run_at(1, 100, 100), run_at(2, 200, 99), run_at(4, 380, 95), run_at(8, 600, 80)]
    assert why_stop(curve_points(rising)) is None
    flat = [*rising, run_at(16, 590, 40), run_at(32, 585, 20)]
    assert "no longer rises" in str(why_stop(curve_points(flat)))
    missed = [run_at(1, 100, 90, held=True), run_at(2, 200, 80, held=False), run_at(4, 400, 70, held=False)]
    assert "bounds are missed from 2" in str(why_stop(curve_points(missed)))


def test_repeats_are_put_together() -> None:
    (point,) = curve_points([run_at(4, 100, 50), run_at(4, 104, 50), run_at(4, 96, 50)])
    assert point.system_tps is not None
    assert point.system_tps.value == 100
    # three values with standard deviation 4: ±4/√3·4.303
    assert point.system_tps.high == pytest.approx(100 + 4 / 3**0.5 * 4.303)
    assert not too_wide([run_at(4, 100, 50)], 0.05)
    assert too_wide([run_at(4, 100, 50)], 0.01)
    # an INVALID repeat does not count while there is a valid one
    (point,) = curve_points([run_at(4, 100, 50), run_at(4, 900, 50, valid=False)])
    assert point.system_tps is not None
    assert point.system_tps.value == 100


def test_the_official_curve_is_a_step_function() -> None:
    points = curve_points([run_at(1, 100, 100), run_at(2, 180, 90), run_at(4, 170, 60), run_at(8, 300, 50)])
    # 4 is dominated by 2: more tokens for every user, and in all
    assert steps(points) == [(100, 100), (90, 100), (90, 180), (50, 180), (50, 300)]


def test_the_page_escapes_what_it_is_told() -> None:
    runs = [run_at(1, 100, 100, held=True), run_at(2, 200, 90, held=False, valid=False)]
    sweep = sweep_of(runs)
    page = render_curve(sweep)
    assert "<b>sweep</b>" not in page
    assert "<script>alert(1)" not in page
    assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page
    assert holds_to(sweep, curve_points(runs)) == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "Nothing was named"),
        (["chat", "--url", "http://127.0.0.1:9", "--concurrency", "1", "--rate", "2"], "one kind"),
        (["chat", "--url", "http://127.0.0.1:9", "--concurrency", "0,1"], "whole number from 1"),
        (["chat", "--url", "http://127.0.0.1:9", "--concurrency", "fast"], "whole number from 1"),
        (["chat", "--url", "http://127.0.0.1:9", "--rate", "fast"], "not a rate"),
        (["chat", "--url", "http://127.0.0.1:9", "--slo", "speed=2s"], "not an SLO"),
        (["--resume", "nowhere"], "no sweep"),
    ],
)
def test_bad_input_is_a_sentence(
    tmp_path: Path, arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sweep", *arguments, "--out", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert says in told
    assert "Traceback" not in told


def test_a_sweep_over_rates_gives_no_concurrencies(tmp_path: Path) -> None:
    sweep = sweep_of([run_at(1, 100, 100)])
    sweep.kind = "rate"
    write_sweep(tmp_path, sweep)
    with pytest.raises(TraceError, match="over rates"):
        measured_rates(tmp_path)
