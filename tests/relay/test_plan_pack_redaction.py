"""What a run's folder holds before it starts, and what must never get into it."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from hand_made import HEAD, LAST, captured, chunk, event, run_folder
from hypothesis import given, settings
from hypothesis import strategies as st

from relaymark.load import Part
from relaymark.relay import finish, live, records
from relaymark.relay.pack import RequestPack, write_pack
from relaymark.relay.plan import Plan, Retries, read_part, read_plan, request_head, write_part, write_plan
from relaymark.relay.redaction import Redactor
from relaymark.trace import JournalWriter
from relaymark.trace.table import Trace
from relaymark.wire import Limits, Timeouts

KEY = 'sk-"quoted"\\and-long-0123456789'


@settings(deadline=None, max_examples=40)
@given(st.lists(st.binary(max_size=50), min_size=1, max_size=10).filter(any))
def test_a_pack_gives_back_its_bodies_and_wraps_around(
    tmp_path_factory: pytest.TempPathFactory, bodies: list[bytes]
) -> None:
    folder = tmp_path_factory.mktemp("pack")
    count, digest = write_pack(folder, iter(bodies))
    pack = RequestPack(folder)
    assert len(pack) == count == len(bodies)
    assert [bytes(pack[n]) for n in range(2 * count)] == bodies * 2
    assert write_pack(folder, bodies)[1] == digest
    assert write_pack(folder, [*bodies, b""])[1] != digest, "the lengths are part of the hash"


def test_a_plan_and_its_parts_come_back(tmp_path: Path) -> None:
    plan = run_folder(
        tmp_path,
        workers=2,
        headers={"X": "${Y}"},
        connect_ns=1,
        idle_ns=3,
        total_ns=None,
        max_body=10,
        retries=Retries(attempts=3, on=("reset",), statuses=(429,)),
    )
    assert read_plan(tmp_path) == plan
    assert plan.timeouts() == Timeouts(1, None, 3, None)
    assert plan.limits() == Limits(256 << 10, 10)
    part = Part(stage=-1, worker=1, workers=2, open_loop=True, times=b"\x01" * 16, quota=2)
    write_part(tmp_path, part)
    assert read_part(tmp_path, -1, 1) == part


def test_the_live_block_has_a_row_for_each_process(tmp_path: Path) -> None:
    live.create_live(tmp_path, 3)
    blocks = [live.LiveBlock(tmp_path, row) for row in range(6)]
    for row, block in enumerate(blocks):
        block[live.SENT] = 10**row
        block[live.STAGE] = -1
    again = [live.LiveBlock(tmp_path, row) for row in range(6)]
    assert live.total(again, live.SENT) == 111_111
    assert live.total(again[:3], live.SENT) == 111
    assert live.total(again, live.ENDED) == 0
    assert live.total(again, live.STAGE) == -6


def test_the_users_headers_replace_ours_in_any_spelling() -> None:
    lines = request_head("POST", "/v1/x", "h:1", {"user-agent": "me", "X-A": "b", "ACCEPT": "*/*"}).split(b"\r\n")
    assert lines[0] == b"POST /v1/x HTTP/1.1"
    assert lines[-1] == b"Content-Length: "
    names = [line.partition(b":")[0].lower() for line in lines[1:]]
    assert len(names) == len(set(names))
    assert b"user-agent: me" in lines and b"ACCEPT: */*" in lines and b"Host: h:1" in lines


# -- redaction --------------------------------------------------------------------------------------------------


def redactor(**environ: str) -> Redactor:
    plan = Plan(
        run_id="", workers=1, url="", path="", dialect="", model="", streamed=True, api_key_env="KEY",
        headers={"Authorization": "Bearer ${TOKEN}", "X-Team": "${TEAM}-blue"},
    )  # fmt: skip
    return Redactor.of(plan, environ)


def test_all_secrets_of_an_endpoint_are_known_and_unset_ones_are_none() -> None:
    mine = redactor(KEY=" abcdef ", TOKEN="abcdefghi", TEAM="ml")
    assert mine.text("abcdefghi abcdef ml") == "[redacted] [redacted] ml"
    nothing = redactor()
    assert nothing.text("Bearer ") == "Bearer "
    assert nothing.bytes(b"x") == b"x"


def test_bytes_keep_their_length_so_that_framing_holds() -> None:
    mine = redactor(KEY=KEY)
    plain, escaped = KEY.encode(), json.dumps(KEY)[1:-1].encode()
    for form in (plain, escaped):
        data = b"before " + form + b" after"
        masked = mine.bytes(data)
        assert len(masked) == len(data)
        assert form not in masked
        assert masked.startswith(b"before ") and masked.endswith(b" after")


@pytest.mark.parametrize("where", ["error", "split error", "answer", "split answer", "header", "garbage", "tool"])
def test_an_echoed_key_reaches_no_file_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    key = "sk-never-to-be-seen-42"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    run_folder(tmp_path, keep_content=True, api_key_env="OPENAI_API_KEY")
    half = len(key) // 2
    error = json.dumps({"error": {"message": f"bad key {key}", "type": key}}).encode()
    refused = b"HTTP/1.1 401 No\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n"
    cut = error.index(key.encode()) + half
    end = event({}, "stop") + LAST
    tool = {"tool_calls": [{"index": 0, "id": key, "function": {"name": "f", "arguments": f'{{"k": "{key}"}}'}}]}
    reads = {
        "error": [refused + chunk(error) + LAST],
        "split error": [refused + chunk(error[:cut]) + chunk(error[cut:]) + LAST],
        "answer": [HEAD + event({"content": f"it is {key}"}) + end],
        "split answer": [HEAD + event({"content": key[:half]}), event({"content": key[half:]}) + end],
        "header": [b"HTTP/1.1 429 No\r\nRetry-After: " + key.encode() + b"\r\nContent-Length: 0\r\n\r\n"],
        "garbage": [b"no http: " + key.encode() + b"\r\n"],
        "tool": [HEAD + event(tool) + end],
    }[where]
    capture = captured(reads, error=f"quoted {key}", dialect="openai-chat")
    writer = JournalWriter(tmp_path, records.worker_stem(0))
    mask = Redactor.of(read_plan(tmp_path), {"OPENAI_API_KEY": key})
    mask.capture(capture)
    writer.append(records.CAPTURE, records.encode(capture))
    writer.close()

    def holding() -> list[str]:
        return [path.name for path in tmp_path.iterdir() if key.encode() in path.read_bytes()]

    assert holding() == []
    finish(tmp_path)
    assert holding() == []
    (leg,) = Trace(tmp_path / "trace.parquet").legs()
    assert key not in msgspec.json.encode(leg).decode()
    assert (tmp_path / "content.jsonl").exists() == (where in ("answer", "split answer", "tool"))
    if where == "split error":
        assert "[redacted]" in (leg.error_message or "")


def test_a_write_plan_holds_names_of_variables_and_no_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "very-secret-value")
    plan = Plan(
        run_id="", workers=1, url="http://h", path="", dialect="", model="", streamed=True,
        headers={"Authorization": "Bearer ${TOKEN}"},
    )  # fmt: skip
    write_plan(tmp_path, plan)
    assert b"very-secret" not in (tmp_path / "plan.json").read_bytes()
