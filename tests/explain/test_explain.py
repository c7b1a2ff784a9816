"""Explanations against traces whose truth is known: shares, speed-ups, queues, tails, models, scaling, money."""

from __future__ import annotations

import json
import math
from pathlib import Path
from random import Random

import numpy as np
import pytest
from made_runs import MS, in_a_row, queued_run, task_legs, write_run

from relaymark.errors import ConfigError, TraceError
from relaymark.explain.anatomy import anatomy_of
from relaymark.explain.cost import Power, Prices, cost_of, read_power, read_prices
from relaymark.explain.explaining import Asked, explain_run
from relaymark.explain.legs import read_run
from relaymark.explain.path import OWN, critical_path
from relaymark.explain.replay import model_of, predict
from relaymark.explain.scaling import scaling_of
from relaymark.explain.whatif import best_split
from relaymark.report.explain import explanation_json, render_explanation
from relaymark.trace import Kind, Leg, Outcome

LLM, SEARCH, EMBED, RERANK = Kind.LLM, Kind.SEARCH, Kind.EMBED, Kind.RERANK
# 68 % of the time is generation; what a balanced change brings is 1 / (0.68/2 + 0.07/2 + 0.05/2 + 0.2/2.79) = 2.12.
TEXTBOOK = [("answer", LLM, 68 * MS), ("", SEARCH, 7 * MS), ("", EMBED, 5 * MS), ("", RERANK, 20 * MS)]


@pytest.fixture
def textbook(tmp_path: Path) -> Path:
    legs = [leg for task in range(40) for leg in task_legs(task, task * 200 * MS, in_a_row(TEXTBOOK))]
    return write_run(tmp_path / "textbook", legs)


def test_the_textbooks_numbers_come_out_to_three_digits(textbook: Path) -> None:
    asked = Asked(faster=("answer=3",), infinite=("llm",))
    one = explain_run(textbook, asked)
    assert not one.loaded
    three, infinite = one.predictions
    assert round(three.speedup, 3) == round(1 / (0.32 + 0.68 / 3), 3) == 1.829
    assert round(infinite.speedup, 3) == 3.125
    balanced = explain_run(textbook, Asked(faster=("answer=2", "search=2", "embed=2", "rerank=2.79"))).predictions[-1]
    assert (balanced.what, round(balanced.speedup, 2)) == ("all of these", 2.12)
    assert balanced.speedup > three.speedup
    assert {stage.name: round(stage.share, 3) for stage in one.anatomy.stages} == {
        "answer": 0.68, "rerank": 0.2, "search": 0.07, "embed": 0.05, OWN: 0.0,
    }  # fmt: skip
    assert all(p.low <= p.speedup <= p.high for p in [*one.predictions, *one.valuable])
    assert one.valuable[0].what == "answer 2 × faster"


def test_what_ran_beside_the_path_is_not_on_it(tmp_path: Path) -> None:
    """Two searches at once, the longer one is waited for; then an answer, after 5 ms of the pipeline's own."""
    parts = [("", SEARCH, 0, 30 * MS), ("", EMBED, 0, 10 * MS), ("answer", LLM, 35 * MS, 95 * MS)]
    legs = [leg for task in range(10) for leg in task_legs(task, task * 300 * MS, parts, own=5 * MS)]
    run = read_run(write_run(tmp_path / "r", legs), 0)
    path = critical_path(run)
    shares = dict(zip(path.names, path.shares(), strict=True))
    assert shares == pytest.approx({"search": 0.3, "answer": 0.6, OWN: 0.1, "embed": 0.0})
    anatomy = anatomy_of(run, path)
    beside = {stage.name: stage.beside for stage in anatomy.stages}
    assert beside["embed"] == 1.0 and beside["search"] == 0.0
    busy = {stage.name: stage.busy for stage in anatomy.stages}
    assert busy["answer"] == pytest.approx(10 * 60 / (9 * 300 + 100), rel=0.01)


def test_a_replay_finds_the_servers_and_predicts_what_the_queue_would_do(tmp_path: Path) -> None:
    legs = queued_run(400, servers=2, rate=18.0, seed=4)
    run = read_run(write_run(tmp_path / "r", legs, load="poisson 18/s", slots=None), 0)
    model = model_of(run, 0)
    assert [server.servers for server in model.servers] == [2]
    assert model.servers[0].waited > 0.1
    assert abs(model.error) < 0.02
    for speed in ({"answer": 2.0}, {"plan": 3.0}, {"answer": 1.5, "plan": 1.5}):
        faster = read_run(
            write_run(tmp_path / str(speed), queued_run(400, 2, 18.0, 4, speed), load="poisson 18/s", slots=None), 0
        )
        measured = run.tasks.latency.mean() / faster.tasks.latency.mean()
        predicted = predict(model, speed, "")
        assert predicted.speedup == pytest.approx(measured, rel=0.05)
        assert predicted.low < predicted.speedup < predicted.high
        # Under load it is more than Amdahl says: the queue gets shorter too.
    assert predict(model, {"answer": 2.0}, "").speedup > 1 / (1 - 0.6 + 0.3)


def test_an_endpoint_that_was_never_full_has_no_number_of_servers(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path / "r", queued_run(60, 200, 10.0, 1), load="p", slots=None), 0)
    (server,) = model_of(run, 0).servers
    assert server.servers is None and server.waited == 0


def test_the_slowest_hundredth_says_what_it_did_differently(tmp_path: Path) -> None:
    legs: list[Leg] = []
    for task in range(600):
        slow = task % 100 == 7
        parts = [("queries", LLM, 10 * MS), ("", SEARCH, 5 * MS)] * (4 if slow else 1) + [("answer", LLM, 20 * MS)]
        legs += task_legs(task, task * 500 * MS, in_a_row(parts))
    run = read_run(write_run(tmp_path / "r", legs), 0)
    anatomy = anatomy_of(run, critical_path(run))
    for figure in (anatomy.mean, anatomy.median):
        assert figure.low is not None and figure.high is not None and figure.low <= figure.value <= figure.high
    tail = anatomy.tail
    assert tail is not None and tail.tasks == 6
    by_name = {stage.name: stage for stage in tail.stages}
    assert by_name["queries"].part == pytest.approx(2 / 3, abs=0.01)
    assert by_name["queries"].legs_more == pytest.approx(3.0, abs=0.05)
    assert by_name["answer"].part == pytest.approx(0, abs=0.01)


def test_a_straggling_endpoint_is_named_and_an_even_one_is_not(tmp_path: Path) -> None:
    draw = Random(1)
    legs: list[Leg] = []
    for task in range(300):
        slow = task % 3 == 0
        length = int(draw.gauss(50, 4) * MS * (1.6 if slow else 1))
        endpoint = "http://slow" if slow else f"http://fast{task % 3}"
        legs += task_legs(task, task * 200 * MS, [("answer", LLM, 0, length)], endpoint=endpoint)
    run = read_run(write_run(tmp_path / "r", legs), 0)
    slower = {each.endpoint: each.slower for each in anatomy_of(run, critical_path(run)).endpoints}
    assert slower["http://slow"] == pytest.approx(1.6, abs=0.1)
    assert slower["http://fast1"] is None and slower["http://fast2"] is None


def test_the_model_of_a_turn_finds_base_prefill_and_tpot(tmp_path: Path) -> None:
    draw = Random(2)
    legs: list[Leg] = []
    for task in range(20):
        at = task * 10_000 * MS
        prompt = 0
        made: list[Leg] = []
        for turn in range(10):
            new, tokens = draw.randrange(100, 900), draw.randrange(20, 200)
            cached, prompt = prompt, prompt + new
            length = 50 * MS + new * MS // 10 + tokens * 5 * MS
            made.append(
                Leg(
                    task_id=task, leg_id=task * 100 + turn + 1, parent_id=task * 100, role="turn", endpoint="http://x",
                    started=at, sent=at, first_token=at + 1, ended=at + length, prompt_tokens=prompt,
                    cached_tokens=cached,
                    completion_tokens=tokens, outcome=Outcome.OK,
                )
            )  # fmt: skip
            at += length
        begin = made[0].started
        made.append(
            Leg(
                task_id=task, leg_id=task * 100, kind=Kind.TASK, started=begin, sent=begin, ended=at, outcome=Outcome.OK
            )
        )
        legs += made
    one = explain_run(write_run(tmp_path / "r", legs), Asked())
    turns = one.turns
    assert turns is not None
    assert (turns.base, turns.prefill, turns.tpot) == pytest.approx((50 * MS, MS / 10, 5 * MS), rel=0.01)
    assert turns.explained > 0.999
    mean_tokens = np.mean([leg.completion_tokens for leg in legs if leg.completion_tokens])
    mean = np.mean([(leg.ended or 0) - (leg.started or 0) for leg in legs if leg.kind is Kind.LLM])
    assert turns.five_times == pytest.approx((mean + 4 * mean_tokens * 5 * MS) / mean, rel=0.01)
    assert turns.would_save == pytest.approx(0, abs=MS)
    assert turns.saved is not None and turns.saved > 100 * MS


def test_the_best_split_beats_its_neighbours(textbook: Path) -> None:
    path = critical_path(read_run(textbook, 0))
    costs = {"answer": 4.0, "rerank": 1.0, "search": 1.0, "embed": 2.0}
    split = best_split(path, costs, 6.0)
    assert sum(cost * (split.factors[name] - 1) for name, cost in costs.items()) == pytest.approx(6.0, rel=1e-6)
    shares = dict(zip(path.names, path.shares(), strict=True))

    def speedup(factors: dict[str, float]) -> float:
        return 1 / sum(share / factors.get(name, 1.0) for name, share in shares.items())

    draw = Random(0)
    for _ in range(200):
        weights = [draw.random() for _ in costs]
        spent = {name: 6.0 * w / sum(weights) for name, w in zip(costs, weights, strict=True)}
        assert speedup({name: 1 + spent[name] / costs[name] for name in costs}) <= split.speedup + 1e-9


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (Asked(faster=("nobody=2",)), "no stage 'nobody'"),
        (Asked(faster=("answer=fast",)), "no stage and factor"),
        (Asked(faster=("answer=0",)), "no stage and factor"),
        (Asked(infinite=("own",)), "no stage 'own'"),
        (Asked(balanced=-1), "above 0"),
        (Asked(budget=-1), "above 0"),
    ],
)
def test_what_cannot_be_asked_is_said(textbook: Path, asked: Asked, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        explain_run(textbook, asked)


def test_a_run_in_which_nothing_went_well_is_not_explained(tmp_path: Path) -> None:
    legs = task_legs(1, 0, in_a_row(TEXTBOOK))
    for leg in legs:
        leg.outcome = Outcome.RESET
    with pytest.raises(TraceError, match="nothing to explain"):
        explain_run(write_run(tmp_path / "r", legs), Asked())


def test_the_page_escapes_what_it_shows_and_json_has_no_infinity(tmp_path: Path) -> None:
    parts = [("<script>alert(1)</script>", LLM, 0, 30 * MS)]
    legs = [leg for task in range(5) for leg in task_legs(task, task * 100 * MS, parts, endpoint="http://<b>")]
    one = explain_run(write_run(tmp_path / "r", legs), Asked(infinite=("llm",)))
    page = render_explanation(one)
    assert "<script>alert" not in page and "&lt;script&gt;alert" in page
    assert page.count("<script>") == 1 and "default-src &#39;none&#39;" in page
    told = json.loads(explanation_json(one))
    assert told["predictions"][0]["speedup"] is None or math.isfinite(told["predictions"][0]["speedup"])


# -- scaling -----------------------------------------------------------------------------------------------------


def test_the_law_finds_what_the_rates_were_made_of() -> None:
    def rate(n: float) -> float:
        return 100 * n / (1 + 0.03 * (n - 1) + 0.0005 * n * (n - 1))

    one = scaling_of([(n, rate(n)) for n in (1, 2, 4, 8, 16, 32, 64)], "tokens/s")
    law = one.law
    assert law is not None
    assert (law.rate_of_one, law.sigma, law.kappa) == pytest.approx((100, 0.03, 0.0005), rel=1e-6)
    assert law.peak == pytest.approx(math.sqrt(0.97 / 0.0005))
    assert one.sizes[3].efficiency == pytest.approx(rate(8) / 800)
    assert one.knee == 8  # 1 / (1.21 + 0.028) is 0.81 of linear; 16 keeps 0.64


def test_a_linear_system_has_no_knee_and_few_sizes_say_so() -> None:
    one = scaling_of([(1, 10), (2, 20), (4, 40)], "x")
    assert one.knee is None and all(each.efficiency == pytest.approx(1) for each in one.sizes)
    assert one.law is not None and one.law.sigma == pytest.approx(0, abs=1e-9) and one.law.peak is None
    assert any("says little" in note for note in one.notes)
    with pytest.raises(ConfigError):
        scaling_of([(1, 10), (1, 12)], "x")


# -- money -------------------------------------------------------------------------------------------------------


def test_money_and_energy_by_hand(tmp_path: Path) -> None:
    from fake_stage import stage_of

    stage = stage_of(seconds=3600, requests=1000, ok=900, prompt=2_000_000, output=500_000, goodput=0.2)
    (tmp_path / "p.yaml").write_text("per_hour: {H200: 3.0}\nmachines: {H200: 8}\nper_kwh: 0.5\nsource: a list\n")
    cost = cost_of(stage, read_prices(tmp_path / "p.yaml"), Power(watts=2000, source="w", samples=0))
    assert cost.total == pytest.approx(24 + 1.0)
    assert cost.per_million_output == pytest.approx(50.0)
    assert cost.per_million_tokens == pytest.approx(10.0)
    assert (cost.per_task, cost.counting) == (pytest.approx(0.025), 720)
    assert cost.per_counting_task == pytest.approx(25 / 720)
    assert (cost.joules, cost.joules_per_output_token) == (7.2e6, pytest.approx(14.4))
    failed = cost_of(stage, Prices(output_per_million=2.0, input_per_million=1.0), None, gate=False)
    assert (failed.total, failed.per_counting_task, failed.joules) == (3.0, None, None)


def test_samples_hold_until_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "w.csv"
    path.write_text("time,watts\n90,100\n110,300\n115,100\n200,900\n")
    power = read_power(path, 100, 120)
    assert power.watts == pytest.approx((10 * 100 + 5 * 300 + 5 * 100) / 20)
    for text, says in (
        ("time,watts\n1,2\n", "no sample"),
        ("a,b\n1,2\n", "no power samples"),
        ("time,watts\nx,y\n", "no power"),
    ):
        path.write_text(text)
        with pytest.raises(ConfigError, match=says):
            read_power(path, 100, 120)


@pytest.mark.parametrize("text", ["per_hour: 3\n", "nonsense: 1\n", "machines: {A: 1}\n", "per_kwh: -1\n", "{"])
def test_a_price_file_that_cannot_be_used_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "p.yaml").write_text(text)
    with pytest.raises(ConfigError):
        read_prices(tmp_path / "p.yaml")
