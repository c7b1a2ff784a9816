"""The paced endpoint keeps its own promises, by its truth log and by what it says."""

from __future__ import annotations

import json
import socket
import zlib
from collections.abc import Callable
from itertools import islice
from statistics import mean, stdev

import pytest
from asking import ask, events, read_to_end, send_raw

from relaymark.emulate import PacedConfig, PacedServer, TruthRecord, plan_gaps
from relaymark.errors import ConfigError

MS = 1_000_000
Paced = Callable[..., PacedServer]


def only(server: PacedServer) -> TruthRecord:
    server.stop()
    (record,) = server.truth()
    return record


def test_each_token_is_due_on_an_absolute_grid_and_never_sent_early(paced_server: Paced) -> None:
    server = paced_server(ttft=0.03, itl=0.004, tokens=40)
    _, body = ask(server.url, stream=True, headers={"x-relaymark-id": "leg-7"}, user="bob")
    record = only(server)
    assert (record.id, record.user, record.streamed, record.end) == ("leg-7", "bob", True, "done")
    assert record.due == [record.arrived + 30 * MS + index * 4 * MS for index in range(40)]
    assert record.tokens == [1] * 40
    assert record.sent_at == sorted(record.sent_at)
    assert all(sent >= due for sent, due in zip(record.sent_at, record.due, strict=True))
    assert record.ended == record.sent_at[-1]
    pieces = [choice["delta"].get("content") for event in events(body) for choice in event["choices"]]
    assert len([piece for piece in pieces if piece]) == record.completion_tokens == 40
    assert body.endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize(
    ("limit", "ignore_eos", "total", "finish"),
    [
        (None, False, 6, "stop"),
        (4, False, 4, "length"),
        (6, False, 6, "length"),
        (9, False, 6, "stop"),
        (9, True, 9, "length"),
    ],
)
def test_max_tokens_cuts_what_the_model_has_to_say(
    paced_server: Paced, limit: int | None, ignore_eos: bool, total: int, finish: str
) -> None:
    server = paced_server(ttft=0, itl=0, tokens=6)
    extra = {} if limit is None else {"max_tokens": limit}
    _, body = ask(server.url, ignore_eos=ignore_eos, **extra)
    answer = json.loads(body)
    assert answer["usage"]["completion_tokens"] == total
    assert answer["choices"][0]["finish_reason"] == finish
    assert len(answer["choices"][0]["message"]["content"].split()) == total


def test_chunks_leave_when_their_last_token_is_there(paced_server: Paced) -> None:
    server = paced_server(ttft=0.01, itl=0.002, tokens=11, tokens_per_chunk=4)
    ask(server.url, stream=True)
    record = only(server)
    assert record.tokens == [4, 4, 3]
    assert [due - record.arrived for due in record.due] == [16 * MS, 24 * MS, 30 * MS]


def test_usage_modes(paced_server: Paced) -> None:
    def usages(mode: str, **body: object) -> list[int]:
        server = paced_server(ttft=0, itl=0, tokens=3, usage=mode)
        found = events(ask(server.url, stream=True, **body)[1])
        return [event["usage"]["completion_tokens"] for event in found if event.get("usage")]

    assert usages("asked") == []
    assert usages("asked", stream_options={"include_usage": True}) == [3]
    assert usages("asked", stream_options={"include_usage": True, "continuous_usage_stats": True}) == [1, 2, 3, 3]
    assert usages("on") == [3]
    assert usages("off", stream_options={"include_usage": True}) == []
    assert usages("continuous") == [1, 2, 3, 3]


def test_non_streaming_answers_take_as_long_and_count_the_prompt(paced_server: Paced) -> None:
    server = paced_server(ttft=0.01, itl=0.003, tokens=5, prefill=0.001)
    _, body = ask(server.url, messages=[{"role": "user", "content": [{"type": "text", "text": "a b c d"}]}])
    assert json.loads(body)["usage"] == {"prompt_tokens": 4, "completion_tokens": 5, "total_tokens": 9}
    record = only(server)
    assert [due - record.arrived for due in record.due] == [(10 + 4 + 4 * 3) * MS]
    assert record.tokens == [5]


def test_reasoning_comes_first_and_never_shares_a_chunk_with_the_answer(paced_server: Paced) -> None:
    server = paced_server(ttft=0, itl=0, tokens=10, tokens_per_chunk=4, reasoning_share=0.6, usage="on")
    found = events(ask(server.url, stream=True)[1])
    channels = [next(iter(event["choices"][0]["delta"]), None) for event in found if event["choices"]]
    assert channels == ["reasoning_content", "reasoning_content", "content", None]
    assert found[-1]["usage"]["completion_tokens_details"] == {"reasoning_tokens": 6}
    record = only(server)
    assert (record.tokens, record.reasoning_tokens) == ([4, 2, 4], 6)


def test_the_role_only_event_comes_at_its_own_time(paced_server: Paced) -> None:
    server = paced_server(ttft=0.05, itl=0.001, tokens=2, role_delay=0.01)
    found = events(ask(server.url, stream=True)[1])
    assert found[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    record = only(server)
    assert record.role_at is not None
    assert record.arrived + 10 * MS <= record.role_at < record.sent_at[0]
    assert record.due[0] == record.arrived + 50 * MS


def test_slots_serve_first_come_first_served(paced_server: Paced) -> None:
    server = paced_server(ttft=0.02, itl=0.001, tokens=11, slots=2)
    sockets = send_raw(server.port, 6)
    for connection in sockets:
        assert read_to_end(connection).endswith(b"0\r\n\r\n")
        connection.close()
    server.stop()
    records = server.truth()
    assert len(records) == 6
    started = [record.started for record in records]
    assert started == sorted(started)
    assert all(record.started == record.arrived for record in records[:2])
    # The slot a request takes came free when the last token of an earlier one was due: 30 ms after it started.
    for index, record in enumerate(records[2:]):
        before = records[index]
        assert record.started == max(before.started + 30 * MS, record.arrived)


def test_a_client_that_leaves_frees_its_slot(paced_server: Paced) -> None:
    server = paced_server(ttft=0.0, itl=0.005, tokens=200, slots=1)
    (first,) = send_raw(server.port, 1)
    first.recv(4096)
    (queued,) = send_raw(server.port, 1)
    (second,) = send_raw(server.port, 1, max_tokens=2)
    queued.close()
    first.close()
    assert b"[DONE]" in read_to_end(second)
    second.close()
    server.stop()
    ends = [record.end for record in server.truth()]
    assert ends == ["client_gone", "client_gone", "done"]
    assert 0 < server.truth()[0].completion_tokens < 200


def test_keep_alive_and_pipelined_requests_are_answered_in_order(paced_server: Paced) -> None:
    server = paced_server(ttft=0.0, itl=0.0, tokens=1)
    head = b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(head + head + b"GET /v1/models HTTP/1.1\r\nconnection: close\r\n\r\n")
        got = b""
        while data := connection.recv(65_536):
            got += data
    assert got.count(b"HTTP/1.1 200 OK") == 3
    assert got.index(b"connection: close") > got.rindex(b'{"status":"ok"}')


def test_jitter_is_reproducible_and_keeps_its_mean(paced_server: Paced) -> None:
    settings = {"ttft": 0.01, "itl": 0.002, "jitter": 0.001, "ttft_jitter": 0.002, "seed": 5, "tokens": 30}
    gaps: list[list[int]] = []
    for _ in range(2):
        server = paced_server(**settings)
        ask(server.url, stream=True, headers={"x-relaymark-id": "same"})
        record = only(server)
        gaps.append([due - record.arrived for due in record.due])
    assert gaps[0] == gaps[1]
    plan = list(islice(plan_gaps(PacedConfig(**settings), "same"), 30))
    assert gaps[0] == [sum(plan[: index + 1]) for index in range(30)]
    assert plan != list(islice(plan_gaps(PacedConfig(**settings), "other"), 30))


@pytest.mark.parametrize("shape", ["normal", "lognormal"])
def test_the_moments_of_jitter(shape: str) -> None:
    config = PacedConfig(itl=0.02, jitter=0.005, jitter_shape=shape)  # type: ignore[arg-type]  # parametrised Literal
    drawn = list(islice(plan_gaps(config, "0"), 1, 20_001))
    assert min(drawn) >= 0
    assert mean(drawn) == pytest.approx(20 * MS, rel=0.01)
    assert stdev(drawn) == pytest.approx(5 * MS, rel=0.03)


def test_gzip_is_flushed_event_by_event(paced_server: Paced) -> None:
    server = paced_server(ttft=0, itl=0, tokens=5, gzip=True)
    status, body = ask(server.url, stream=True, headers={"accept-encoding": "gzip"})
    assert status == 200
    assert len(events(zlib.decompress(body, 31))) == 6
    assert len(events(ask(server.url, stream=True)[1])) == 6


def test_other_apis(paced_server: Paced) -> None:
    server = paced_server(ttft=0, itl=0, tokens=4, dimensions=8, model="m")
    found = events(ask(server.url, "/v1/completions", prompt="a b c", stream=True)[1])
    assert [event["choices"][0]["text"] != "" for event in found] == [True] * 4 + [False]
    kinds = [event["type"] for event in events(ask(server.url, "/v1/responses", input="a b", stream=True)[1])]
    assert (kinds[0], kinds[-1]) == ("response.created", "response.completed")
    assert kinds.count("response.output_text.delta") == 4
    body = json.loads(ask(server.url, "/v1/embeddings", input=["a", "b", "a"])[1])
    vectors = [entry["embedding"] for entry in body["data"]]
    assert [len(vector) for vector in vectors] == [8, 8, 8]
    assert vectors[0] == vectors[2] != vectors[1]
    assert json.loads(ask(server.url, "/v1/models", method="GET")[1])["data"][0]["id"] == "m"
    stats = json.loads(ask(server.url, "/stats", method="GET")[1])
    assert (stats["requests"], stats["finished"], stats["active"], stats["tokens"]) == (3, 3, 0, 8)


def test_bad_requests_get_an_error_object(paced_server: Paced) -> None:
    server = paced_server(model="right", strict_model=True, api_key="s3cret")
    key = {"authorization": "Bearer s3cret"}
    assert ask(server.url)[0] == 401
    assert ask(server.url, headers=key, model="wrong")[0] == 404
    assert ask(server.url, "/v1/nothing", headers=key)[0] == 404
    assert ask(server.url, headers=key, model="right", max_tokens=-1)[0] == 400
    status, body = ask(server.url, "/v1/completions", headers=key, model="right")
    assert (status, json.loads(body)["error"]["message"]) == (400, "'prompt' is missing")


@pytest.mark.parametrize(
    "settings",
    [
        {"host": "0.0.0.0"},
        {"host": "localhost"},
        {"ttft": -1},
        {"tokens": 0},
        {"slots": 0},
        {"reasoning_share": 2},
        {"port": 70_000},
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        PacedConfig(**settings)  # type: ignore[arg-type]  # wrong on purpose
