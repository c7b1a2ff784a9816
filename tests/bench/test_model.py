"""What a benchmark may say, and what it comes down to."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from relaymark.bench import (
    WARMUP_INDEX,
    Benchmark,
    LengthSpec,
    LoadSpec,
    PromptSource,
    SloSpec,
    StepSpec,
    api_key,
    benchmark_hash,
    build_benchmark,
    resolved_headers,
)
from relaymark.bench._sections import RetryOutcome
from relaymark.errors import ConfigError
from relaymark.trace import Outcome

S = 10**9
URL = {"endpoint.url": "http://127.0.0.1:8000"}


def built(*overrides: str, **options: Any) -> Benchmark:
    return build_benchmark(URL | {"load": "single"} | options, overrides)


def refused(*overrides: str, **options: Any) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        built(*overrides, **options)
    return caught.value


@pytest.mark.parametrize(
    ("text", "load"),
    [
        ("single", LoadSpec(kind="single", concurrency=1)),
        ("concurrency:8", LoadSpec(kind="concurrency", concurrency=8)),
        ("poisson:4/s", LoadSpec(kind="poisson", rate=4.0)),
        ("constant:240/min", LoadSpec(kind="constant", rate=4.0)),
        ("gamma:4/s,burstiness=0.5", LoadSpec(kind="gamma", rate=4.0, burstiness=0.5)),
        ("gamma:4/s", LoadSpec(kind="gamma", rate=4.0, burstiness=1.0)),
        ("ramp:1..16/s", LoadSpec(kind="ramp", start=1.0, end=16.0, arrivals="poisson")),
        ("ramp:60..960/min,arrivals=constant", LoadSpec(kind="ramp", start=1.0, end=16.0, arrivals="constant")),
        (
            "step:1,2,4/s@10s",
            LoadSpec(
                kind="step", arrivals="poisson", steps=tuple(StepSpec(rate=r, hold=10 * S) for r in (1.0, 2.0, 4.0))
            ),
        ),
    ],
)
def test_short_forms_of_loads(text: str, load: LoadSpec) -> None:
    (stage,) = built(load=text).resolved_stages()
    assert stage.load == load
    assert stage.duration == 30 * S
    assert stage.requests is None


@pytest.mark.parametrize(
    "text",
    [
        "", "fast", "poisson", "poisson:", "poisson:fast", "poisson:0/s", "poisson:-1/s", "poisson:4/s,8/s",
        "poisson:4/s,burstiness=2", "concurrency", "concurrency:0", "concurrency:1.5", "single:3", "offline:3",
        "gamma:4/s,burstiness=0", "gamma:burstiness=2", "ramp:4/s", "ramp:1..", "ramp:1..x/s", "step:", "step:1,,2/s",
        "step:1,2/s@", "step:1,2/s@soon", "poisson:1e9/s", "concurrency:9999999999",
    ],
)  # fmt: skip
def test_what_is_no_load_is_refused_and_names_the_option(text: str) -> None:
    error = refused(load=text)
    assert error.where == "--load"
    assert error.what.startswith("load")


def test_stages_take_the_limits_they_lack_from_the_top() -> None:
    benchmark = build_benchmark(
        URL
        | {
            "duration": "5s",
            "stages": [
                {"load": "single"},
                {"load": "concurrency:2", "requests": 10, "name": "two"},
                {"load": "poisson:4/s", "duration": "1m"},
                {"load": "step:1,2/s@3s"},
                {"load": "step:1,2/s"},
                {"load": "ramp:1..2/s", "requests": 7},
            ],
        }
    )
    stages = benchmark.resolved_stages()
    assert [(stage.index, stage.name, stage.duration, stage.requests) for stage in stages] == [
        (0, "single", 5 * S, None),
        (1, "two", None, 10),
        (2, "poisson 4/s", 60 * S, None),
        (3, "step 1,2/s", 6 * S, None),
        (4, "step 1,2/s", 5 * S, None),
        (5, "ramp 1..2/s", 5 * S, 7),
    ]
    assert [step.hold for step in stages[4].load.steps] == [5 * S // 2, 5 * S // 2]


def test_limits_at_the_top_hold_for_the_top_load() -> None:
    (stage,) = built(load="poisson:4/s", duration="1m", requests=500).resolved_stages()
    assert (stage.duration, stage.requests) == (60 * S, 500)
    (stage,) = built(load="poisson:4/s", requests="500").resolved_stages()
    assert (stage.duration, stage.requests) == (None, 500)
    (stage,) = built(load="offline", requests=500).resolved_stages()
    assert (stage.duration, stage.requests) == (None, 500)


def test_an_offline_load_needs_requests_and_takes_no_duration() -> None:
    assert "requests" in refused(load="offline").what
    assert "duration" in refused(load="offline", requests=5, duration="5s").what


def test_steps_take_a_hold_or_a_duration() -> None:
    assert "hold" in refused(load="step:1,2/s@10s", duration="60s").what
    (stage,) = built(load="step:1,2,4/s", duration="60s").resolved_stages()
    assert [step.hold for step in stage.load.steps] == [20 * S] * 3


def test_load_and_stages_exclude_each_other_and_one_is_needed() -> None:
    assert "both" in refused(stages=[{"load": "single"}]).what
    assert "load" in refused(load=None).what


def test_the_warmup_is_a_closed_loop_of_its_own() -> None:
    assert built().warmup_stage() is None
    warmup = built("warmup.requests=5", "warmup.concurrency=2").warmup_stage()
    assert warmup is not None
    assert (warmup.index, warmup.requests, warmup.duration) == (WARMUP_INDEX, 5, None)
    assert warmup.load == LoadSpec(kind="concurrency", concurrency=2)


@pytest.mark.parametrize(
    "slo", [["ttft_p99=500ms", "tpot_p99.9=50ms"], {"ttft_p99": "500ms", "tpot_p99.9": "50ms"},
            [{"ttft_p99": "500ms"}, {"tpot_p99.9": "50ms"}]],
)  # fmt: skip
def test_slos_are_a_list_or_a_mapping(slo: Any) -> None:
    assert built(slo=slo).slo_specs() == [
        SloSpec(metric="ttft", q=0.99, bound=500 * 10**6, name="ttft_p99"),
        SloSpec(metric="tpot", q=0.999, bound=50 * 10**6, name="tpot_p99.9"),
    ]


@pytest.mark.parametrize(
    "slo", ["ttft_p99", "ttft=500ms", "speed_p99=1s", "ttft_p0=1s", "ttft_p100=1s", "ttft_p99=fast", "ttft_p99=0s"]
)
def test_what_is_no_slo_is_refused(slo: str) -> None:
    error = refused(slo=[slo])
    assert error.where == "--slo"
    assert error.what.startswith("slo")


def test_prompts_resolve_to_a_plain_source() -> None:
    assert built().prompt_source() == PromptSource(kind="builtin")
    assert built(prompts="/data/p.jsonl").prompt_source() == PromptSource(kind="file", path="/data/p.jsonl")
    assert built(prompts=["a", {"prompt": "b"}]).prompt_source().items == ("a", {"prompt": "b"})
    expected = PromptSource(
        kind="synthetic",
        isl=LengthSpec(mean=512, deviation=64),
        osl=LengthSpec(mean=128),
        shared_prefix=100,
        unique=50,
    )
    for text in ("512±64", "512+-64", "512 ± 64"):
        spec = f"synthetic:isl={text},osl=128,shared_prefix=100,unique=50"
        assert built(prompts=spec).prompt_source() == expected
    assert built("prompts.synthetic.isl=256", prompts=spec).prompt_source().isl == LengthSpec(mean=256)


@pytest.mark.parametrize(
    "prompts",
    ["synthetic:", "synthetic:isl=0", "synthetic:isl=many", "synthetic:isl", "synthetic:isl=5,shared_prefix=5",
     "synthetic:isl=5,size=3", "", [], {"file": "a", "builtin": True}, {"builtin": False}, [5]],
)  # fmt: skip
def test_what_names_no_prompts_is_refused(prompts: Any) -> None:
    error = refused(prompts=prompts)
    assert error.where == "--prompts"
    assert error.what.startswith("prompts")


@pytest.mark.parametrize(
    "url",
    ["", "localhost:8000", "ftp://x", "http://", "http://a b", "http://h:99999", "http://h/#f", "http://[::1", 5],
)
def test_what_is_no_url_is_refused(url: Any) -> None:
    error = refused(**{"endpoint.url": url})
    assert error.where == "--url"
    assert error.what.startswith("endpoint.url")


def test_secrets_are_refused_in_the_file_and_never_shown() -> None:
    for overrides in (
        ["endpoint.url=http://user:sk-hidden@host"],
        ["endpoint.headers.Authorization=Bearer sk-hidden"],
        ["endpoint.headers.X-Api-Key=sk-hidden"],
        ["endpoint.api_key_env=sk-hidden"],
        ['endpoint.headers={X-Trace: "sk-hidden\\nInjected: 1"}'],
        ["endpoint.headers=[sk-hidden]"],
    ):
        error = refused(*overrides)
        assert "sk-hidden" not in error.what + error.mend, overrides


def test_keys_and_headers_come_from_the_environment() -> None:
    endpoint = built("endpoint.headers={Authorization: 'Token ${TOK}', X-Team: blue}").endpoint
    assert resolved_headers(endpoint, {"TOK": "s3cret"}) == {"Authorization": "Token s3cret", "X-Team": "blue"}
    assert "s3cret" not in endpoint.model_dump_json()
    with pytest.raises(ConfigError, match="TOK isn't set"):
        resolved_headers(endpoint, {})
    with pytest.raises(ConfigError) as caught:
        resolved_headers(endpoint, {"TOK": "s3cret\r\nX: y"})
    assert "s3cret" not in str(caught.value)
    assert api_key(endpoint, {}) is None
    assert api_key(endpoint, {"OPENAI_API_KEY": " key\n"}) == "key"
    named = built("endpoint.api_key_env=MY_KEY").endpoint
    assert api_key(named, {"MY_KEY": "k"}) == "k"
    with pytest.raises(ConfigError, match="MY_KEY"):
        api_key(named, {"OPENAI_API_KEY": "other"})


def test_none_lifts_a_timeout() -> None:
    timeouts = built("timeouts.idle=none", "timeouts.total=5m", "timeouts.connect=null").timeouts
    assert (timeouts.idle, timeouts.total, timeouts.connect) == (None, 300 * S, None)
    assert built().timeouts.idle == 120 * S


def test_every_failure_can_be_retried_on() -> None:
    assert set(get_args(RetryOutcome)) == {o.value for o in Outcome if not o.good and o != Outcome.CANCELLED}


def test_a_near_miss_of_a_choice_is_suggested() -> None:
    assert refused("retries.on=[http_eror]").mend == "did you mean http_error?"
    assert refused("endpoint.dialect=openai_chat").mend == "did you mean openai-chat?"


def test_the_hash_is_of_what_is_said() -> None:
    assert benchmark_hash(built(load="poisson:4/s")) == benchmark_hash(
        built(load={"rate": "240/min", "kind": "poisson"})
    )
    assert benchmark_hash(built(load="poisson:4/s")) != benchmark_hash(built("seed=1", load="poisson:4/s"))


@pytest.mark.parametrize(("text", "workers"), [("auto", "auto"), ("4", 4)])
def test_workers_are_a_number_or_auto(text: str, workers: Any) -> None:
    assert built(f"workers={text}").workers == workers


@pytest.mark.parametrize(
    "override",
    ["workers=0", "workers=many", "seed=-1", "sampling.temperature=-1", "sampling.top_p=0", "sampling.top_p=2",
     "sampling.max_tokens=0", "sampling.temperature=.nan", "sampling.temperature=true", "stream=maybe",
     "timeouts.idle=60", "timeouts.connect=0s", "limits.max_body=1B", "retries.attempts=0", "retries.jitter=2",
     "retries.on=[ok]", "retries.statuses=[9]", "gates.max_one_piece_share=-0.1", "name=", "duration=0s",
     "requests=0", "endpoint.path=v1", "endpoint.dialect=telnet", "warmup=5", "stages=5", "sampling.extra=5"],
)  # fmt: skip
def test_values_out_of_range_name_their_key_and_option(override: str) -> None:
    error = refused(override)
    assert error.where == f"--set {override}"
    assert error.what.startswith(override.partition("=")[0])
