"""One's own run among published rows: placed where it can be compared, refused with every reason where not."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from relaymark.cli import main
from relaymark.emulate import PacedServer
from relaymark.errors import ConfigError, TraceError
from relaymark.published import OwnRun, place, read_own

from .making import several

RUN = OwnRun(
    run_id="r", name="mine", started_at="2026-12-01T10:00:00+00:00", model="gpt-oss-120b", benchmarks=("gpt-oss-120b",),
    told=False, scenario="Offline", results={"tokens/s": 950.0, "samples/s": 3.0}, rules="v9.9", valid=True,
    accelerators=4, accelerator="NVIDIA H200-SXM-141GB", precision="fp8",
)  # fmt: skip
ROWS = several(
    {"result": 1000}, {"result": 900, "total": 4}, {"result": 100, "total": 1}, {"result": 99999, "scenario": "Server"},
    {"result": 99999, "division": "open"}, {"result": 99999, "benchmark": "whisper", "model": "whisper"},
    {"result": 800, "total": ""},
)  # fmt: skip


def test_the_place_per_system_and_per_accelerator() -> None:
    placed = place(RUN, ROWS)
    assert placed.refused == []
    assert (placed.round, len(placed.rows)) == ("v9.9", 4)
    whole, each = placed.rankings
    assert (whole.per, whole.value, whole.place, [row.value for row in whole.rows]) == (
        "system",
        950,
        2,
        [1000, 900, 800, 100],
    )
    # 237.5 an accelerator; 225, 125 and 100 are published, one row does not tell its count
    assert (each.per, each.value, each.place, len(each.rows)) == ("accelerator", 237.5, 1, 3)
    assert [row.value for row in placed.alike] == [900]


def test_what_is_not_equal_is_always_named() -> None:
    told = " ".join(place(RUN, ROWS).unlike)
    for word in ("submission", "date: 2026-12-01", "scale: 4 × NVIDIA H200", "precision: fp8", "availability"):
        assert word in told
    untold = " ".join(place(replace(RUN, accelerators=None, precision="", unchecked=["the inputs: x"]), ROWS).unlike)
    for word in ("scale: not told", "precision: not told", "not checked: the inputs"):
        assert word in untold


def test_without_a_count_there_is_no_figure_per_accelerator() -> None:
    assert [ranking.per for ranking in place(replace(RUN, accelerators=None), ROWS).rankings] == ["system"]


def test_ties_and_the_ends() -> None:
    def at(value: float) -> int:
        return place(replace(RUN, results={"tokens/s": value}), ROWS).rankings[0].place

    assert [at(5000), at(1000), at(999), at(100), at(1)] == [1, 1, 2, 4, 5]


def test_latencies_are_better_when_lower() -> None:
    rows = several({"result": 10}, {"result": 30}, scenario="SingleStream", units="Latency (ms)")
    placed = place(replace(RUN, scenario="SingleStream", results={"ms": 20.0}), rows)
    assert [(each.per, each.place) for each in placed.rankings] == [("system", 2)]


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"valid": False, "reasons": ["The client was slow."]}, "INVALID: The client was slow."),
        ({"benchmarks": ()}, "no published benchmark"),
        ({"benchmarks": ("llama2-70b-99", "gpt-oss-120b")}, "name one with --benchmark"),
        ({"scenario": "Interactive"}, "no closed row"),
        ({"results": {"samples/s": 3.0}}, "did not count tokens"),
        ({"unmet": ["duration ≥ 600 s: 20 s"]}, "rules are not met: duration"),
    ],
)
def test_each_reason_refuses(changed: dict[str, object], why: str) -> None:
    placed = place(replace(RUN, **changed), ROWS)  # type: ignore[arg-type]
    assert placed.rankings == []
    assert placed.rows == []
    assert any(why in reason for reason in placed.refused)


def test_other_work_is_refused() -> None:
    rows = several(
        {"accuracy": "exact_match: 83 TOKENS_PER_SAMPLE: 1000"}, {"accuracy": "exact_match: 83 TOKENS_PER_SAMPLE: 1100"}
    )
    assert place(replace(RUN, tokens_per_sample=950), rows).refused == []
    assert place(replace(RUN, tokens_per_sample=1200), rows).refused == []
    (reason,) = place(replace(RUN, tokens_per_sample=128), rows).refused
    assert "128.0 tokens a sample, published 1000.0 to 1100.0" in reason


def test_anyway_ranks_and_keeps_the_reasons() -> None:
    placed = place(replace(RUN, valid=False, unmet=["duration"]), ROWS, anyway=True)
    assert len(placed.refused) == 2
    assert placed.rankings[0].place == 2
    assert place(replace(RUN, benchmarks=()), ROWS, anyway=True).rankings == []


def test_the_latest_round_that_has_rows() -> None:
    from .making import made

    rows = [*ROWS, made(2, "v10.0", scenario="Server"), made(2, "v9.1", result=5)]
    assert place(RUN, rows).round == "v9.9"
    assert len(place(RUN, rows, round_name="v9.1").rows) == 1
    assert place(RUN, rows, round_name="v8.0").refused


@pytest.fixture
def run_folder(
    tmp_path: Path, paced_server: Callable[..., PacedServer], capsys: pytest.CaptureFixture[str]
) -> Callable[..., Path]:
    def run(*words: str, tokens: int = 12) -> Path:
        server = paced_server(ttft=0.3, itl=0.001, tokens=tokens, model="openai/gpt-oss-120b")
        out = tmp_path / f"runs-{tokens}-{len(words)}"
        # A busy machine may send late; what the verdict was, the test reads from the run.
        assert main(["run", "chat", "--url", server.url, "--out", str(out), *words]) in (0, 3)
        capsys.readouterr()
        (folder,) = out.iterdir()
        return folder

    return run


def test_a_real_run_is_read(
    run_folder: Callable[..., Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = run_folder("--load", "offline", "--requests", "40")
    own = read_own(folder, accelerators=1, precision="NVFP4 weights", rounds=["v5.1", "v6.1"])
    whole = json.loads((folder / "summary.json").read_text())
    summary = whole["stages"][0]
    assert own.valid == whole["verdict"]["valid"]
    assert (own.benchmarks, own.scenario, own.rules, own.precision) == (("gpt-oss-120b",), "Offline", "v6.1", "nvfp4")
    assert own.results["tokens/s"] == pytest.approx(summary["output_token_rate"])
    assert own.results["samples/s"] == pytest.approx(summary["request_rate"])
    assert own.tokens_per_sample == 12
    # 40 requests in a second are no Offline run of MLPerf
    assert any("duration" in each for each in own.unmet)
    assert any("inputs" in each for each in own.unchecked)
    placed = place(own, ROWS)
    assert placed.rankings == []
    assert place(own, ROWS, anyway=True).rankings[0].rows
    assert read_own(folder, benchmark="whisper").told
    monkeypatch.chdir(folder.parent)
    assert main(["published", "import", "--sample"]) == 0
    valid = whole["verdict"]["valid"]
    place_it = ["published", "place", str(folder), "--accelerator", "Acme Q1 96GB", "--count", "8"]
    capsys.readouterr()
    # nobody here knows the made-up rounds' rules, and it says so: only the verdict can refuse
    assert main(place_it) == (0 if valid else 3)
    told = capsys.readouterr().out
    assert told.startswith("PLACED" if valid else "NOT PLACED")
    assert main([*place_it, "--anyway"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "among 7 rows of gpt-oss-120b, made-up-2" in told
    assert told.startswith("PLACED" if valid else "PLACED ANYWAY")
    assert "place 8 of 8" in told
    assert "of the same accelerators, as many: 3 rows" in told
    assert "not checked: the rules: none are known" in told
    assert main([*place_it, "--scenario", "server"]) == 2
    assert main([*place_it, "--benchmark", "whisper", "--json"]) == (1 if valid else 3)
    assert json.loads(capsys.readouterr().out)["rankings"] == []
    for options, says in (
        ({"benchmark": "nothing"}, "no benchmark"),
        ({"scenario": "Server"}, "that of Offline, not of Server"),
        ({"scenario": "Sideways"}, "no scenario"),
    ):
        with pytest.raises(ConfigError, match=says):
            read_own(folder, **options)  # type: ignore[arg-type]
    with pytest.raises(TraceError, match="no stage 7"):
        read_own(folder, stage=7)


def test_a_load_that_is_no_scenario(run_folder: Callable[..., Path]) -> None:
    folder = run_folder("--load", "concurrency:4", "--requests", "4")
    with pytest.raises(ConfigError, match="no published scenario"):
        read_own(folder)
