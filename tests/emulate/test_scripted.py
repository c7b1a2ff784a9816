"""The scripted endpoint: what it says to which prompt, exactly how often it errs, and how it goes away."""

from __future__ import annotations

import hashlib
import http.client
import json
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from asking import ask
from hypothesis import given, settings
from hypothesis import strategies as st

from relaymark.data import Hop, Question, load_questions
from relaymark.data.world import page_text, world, write_world
from relaymark.dialects import decode_capture
from relaymark.emulate import Pace, PacedConfig, ScriptedConfig, WorldKnobs, WorldScript, open_script, start_scripted
from relaymark.emulate.script import Reply, ToolCall, read_request
from relaymark.emulate.scriptedvoice import ScriptedVoice, split_tokens
from relaymark.emulate.scriptedworld import HUGE, documents
from relaymark.errors import ConfigError
from relaymark.trace import Capture


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    write_world(folder, seed=2, pages=200, questions=50)
    return folder


@pytest.fixture(scope="module")
def asked(made: Path) -> list[Question]:
    return load_questions(made / "questions.jsonl")


def prompt(question: Question, docs: list[str], wish: str) -> str:
    blocks = "\n".join(f"[{number}] {text}" for number, text in enumerate(docs, 1))
    return f"Some instructions.\nQuestion: {question.text}\n\n{blocks}\n\n{wish}"


def say(script: WorldScript, text: str, **fields: Any) -> Reply:
    body = {"messages": [{"role": "system", "content": "Be good."}, {"role": "user", "content": text}], **fields}
    return script.reply(read_request(json.dumps(body).encode(), {}))


def schema(name: str, **properties: Any) -> dict[str, Any]:
    return {"response_format": {"type": "json_schema", "json_schema": {"name": name, "schema": properties}}}


def texts(asked: list[Question]) -> dict[str, str]:
    encyclopedia = world(2, 200)
    pages = (encyclopedia.entity(number) for number in range(200))
    return {entity.url: page_text(encyclopedia, entity) for entity in pages}


def test_each_role_by_schema_and_by_words(asked: list[Question]) -> None:
    script = WorldScript(asked)
    pages = texts(asked)
    question = next(each for each in asked if len(each.hops) == 3)
    gold = [pages[hop.url] for hop in question.hops]
    other = next(text for url, text in pages.items() if url not in question.gold_urls)
    for wish, fields in (('Give JSON with "queries".', {}), ("Go.", schema("queries"))):
        said = json.loads(say(script, prompt(question, [], wish), **fields).content)
        assert said == {"queries": [hop.query for hop in question.hops], "feedback": ""}
    said = json.loads(say(script, prompt(question, gold[:1], 'key "queries"')).content)
    assert said["queries"] == [hop.query for hop in question.hops[1:]]
    for wish, fields in (('JSON: "relevance"', {}), ("Go.", schema("relevance"))):
        said = json.loads(say(script, prompt(question, [other, gold[2], gold[0]], wish), **fields).content)
        assert said == {"relevance": [0, 1, 1]}
    for docs, enough in ((gold, True), (gold[:2], False), ([], False)):
        said = json.loads(say(script, prompt(question, docs, '"sufficient"')).content)
        assert said["sufficient"] is enough
    assert say(script, prompt(question, gold, "Answer.")).content == question.answer
    assert say(script, prompt(question, gold[1:], "Answer.")).content == "Unknown"
    for given_answer, right in ((question.answer, True), (f" {question.answer} ".upper(), True), ("Nobody", False)):
        wish = f'<answer>\n{given_answer}\n</answer>\nSay "correct".'
        assert json.loads(say(script, prompt(question, [], wish)).content)["correct"] is right


def test_only_the_new_documents_are_graded(asked: list[Question]) -> None:
    question = asked[0]
    pages = texts(asked)
    gold = pages[question.hops[0].url]
    text = prompt(question, ["nothing", gold, gold[:300]], "Grade.")
    wish = schema("relevance", properties={"relevance": {"type": "array", "maxItems": 2}})
    assert json.loads(say(WorldScript(asked), text, **wish).content) == {"relevance": [0, 1]}


def test_a_fact_must_stand_whole_in_one_document(asked: list[Question]) -> None:
    script = WorldScript(asked)
    question = asked[0]
    statement = question.hops[0].statements[0]
    half = len(statement) // 2
    cut = [statement[:half], statement[half:]]
    assert json.loads(say(script, prompt(question, cut, '"relevance"')).content) == {"relevance": [0, 0]}
    # Line breaks and runs of spaces are a matter of the parser.
    spread = statement.replace(" ", " \n ", 1).replace(" ", "\u00a0 ", 3)
    assert json.loads(say(script, prompt(question, [spread], '"relevance"')).content) == {"relevance": [1]}


def test_a_prompt_without_a_known_question_is_refused(asked: list[Question]) -> None:
    for text in ("Question: Who is it?", "Hello", "Question:"):
        reply = say(WorldScript(asked), text)
        assert reply.status == 400
    spaced = f"Question:   {asked[3].text.replace(' ', '  ')}  \n"
    assert say(WorldScript(asked), spaced).status == 200


@given(st.integers(1, 300), st.floats(0, 1), st.integers(0, 5))
@settings(deadline=None, max_examples=60)
def test_shares_are_met_exactly(count: int, share: float, seed: int) -> None:
    hops = [Hop(subject="s", relation="r", value="v", url="u", page="p", query="q")]
    asked = [
        Question(id=str(n), text=f"Q{n}?", answer=str(n), kind="number", gold_urls=[f"u{n}"], hops=hops)
        for n in range(count)
    ]
    wanted = int(share * count + 0.5 + 1e-9)
    knobs = WorldKnobs(wrong=share, misdecompose=share, malformed={"empty": share / 2, "huge": share / 2}, seed=seed)
    script = WorldScript(asked, knobs)
    assert len(script.wrong) == len(script.misdecomposed) == wanted
    kinds = Counter(script.malformed.values())
    assert kinds["empty"] == int(share / 2 * count + 0.5 + 1e-9)
    assert len(script.malformed) == wanted
    assert all(script.wrong[each.id] != each.answer for each in asked if each.id in script.wrong)


def test_each_kind_of_malformed_reply(asked: list[Question]) -> None:
    replies: dict[str, str] = {}
    for kind in ("not_json", "wrong_shape", "empty", "refusal", "huge"):
        script = WorldScript(asked, WorldKnobs(malformed={kind: 1.0}))
        replies[kind] = say(script, prompt(asked[0], [], '"queries"')).content
        assert say(script, prompt(asked[0], [], "Answer.")).content == "Unknown"  # the answer's role is spared
    assert replies["empty"] == ""
    assert isinstance(json.loads(replies["wrong_shape"]), dict)
    assert "queries" not in replies["wrong_shape"]
    assert len(replies["huge"]) >= HUGE - 12
    for kind in ("not_json", "refusal", "huge"):
        with pytest.raises(ValueError, match="Expecting value"):
            json.loads(replies[kind])


@pytest.mark.parametrize(
    ("spec", "knobs", "says"),
    [
        ("world:nowhere", {}, "no generated world"),
        ("world:HERE", {"wrong": 1.5}, "<= 1.0"),
        ("world:HERE", {"wrnog": 0.5}, "wrnog"),
        ("world:HERE", {"malformed": {"empty": 0.6, "huge": 0.6}}, "add up"),
        ("world:HERE", {"malformed": {"rude": 0.6}}, "rude"),
        ("nothing:here", {}, "no script is called"),
        ("world", {}, "no script is called"),
        ("table:nowhere.jsonl", {}, "can't be read"),
        ("record:nowhere.jsonl", {"key": "body"}, "can't be read"),
    ],
)
def test_scripts_that_cannot_be_opened(spec: str, knobs: dict[str, Any], says: str, made: Path) -> None:
    with pytest.raises(ConfigError, match=says):
        open_script(spec.replace("HERE", str(made)), knobs)
    with pytest.raises(ConfigError, match=says):
        start_scripted(ScriptedConfig(script=spec.replace("HERE", str(made)), settings=knobs))


def test_documents_end_at_a_blank_line_or_at_the_next() -> None:
    text = "Intro [1] no\n[1] one  two\nthree\n[2] four\n\nkept: five\n[x] no\n[10]  ten"
    assert documents(text) == ["one two three", "four", "ten"]


def decoded(raw: bytes, streamed: bool) -> Any:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: " + (b"text/event-stream" if streamed else b"application/json")
    whole = head + b"\r\ncontent-length: %d\r\n\r\n" % len(raw) + raw
    size = len(whole).to_bytes(4, "little")
    stamp = (1).to_bytes(8, "little")
    return decode_capture(
        Capture(leg_id=0, task_id=0, request=0, streamed=streamed, raw=whole, sizes=size, user_ns=stamp, since_ns=stamp)
    )


@pytest.mark.parametrize("streamed", [False, True])
def test_replies_arrive_as_they_were_meant(streamed: bool, tmp_path: Path) -> None:
    calls = (ToolCall(name="look", arguments='{"at": "the sea"}', id="c1"), ToolCall(name="stop", arguments="{}"))
    replies = {
        "plain": Reply(content="Two words,\n and  more é."),
        "empty": Reply(),
        "thought": Reply(content="So be it.", reasoning="Let me think this over."),
        "calls": Reply(tool_calls=calls, role="tools"),
        "both": Reply(content="Calling.", tool_calls=calls[:1]),
        "odd": Reply(content='data: [DONE]\n\n@@ID@@ "quoted" \\ \u2028'),
        "cut": Reply(content="only this", finish="content_filter"),
    }
    table = tmp_path / "table.jsonl"
    lines = [{"match": {"last": name}, "reply": msgspec.to_builtins(reply)} for name, reply in replies.items()]
    table.write_text("\n".join(json.dumps(line) for line in lines))
    with start_scripted(ScriptedConfig(script=f"table:{table}")) as server:
        for name, reply in replies.items():
            body: dict[str, Any] = {"messages": [{"role": "user", "content": name}], "stream": streamed}
            status, raw = ask(server.url, **body, stream_options={"include_usage": True})
            assert status == 200
            said = decoded(raw, streamed)
            assert said.outcome.good
            assert "".join(said.texts) == reply.content
            assert "".join(said.reasonings) == reply.reasoning
            assert [(call.name, call.arguments) for call in said.tool_calls] == [
                (call.name, call.arguments) for call in reply.tool_calls
            ]
            assert said.prompt_tokens == 1
            words = [split_tokens(text) for text in (reply.content, reply.reasoning)]
            words += [[call.name, *split_tokens(call.arguments)] for call in reply.tool_calls]
            assert said.completion_tokens == max(1, sum(map(len, words)))
            usual = "tool_calls" if reply.tool_calls else "stop"
            assert said.finish_reason == (reply.finish or usual)
        assert json.loads(ask(server.url, "/stats", method="GET")[1])["roles"] == {"": 6, "tools": 1}
        status, raw = ask(server.url, messages=[{"role": "user", "content": "plain"}], max_tokens=2)
        assert decoded(raw, False).texts == ["Two words,"] and decoded(raw, False).finish_reason == "length"
        assert ask(server.url, messages=[{"role": "user", "content": "else"}])[0] == 404
        assert ask(server.url, messages=[])[0] == 400
        assert json.loads(ask(server.url, "/v1/models", method="GET")[1])["data"][0]["id"] == "scripted"


@given(st.text(max_size=200))
@settings(deadline=None, max_examples=100)
def test_tokens_are_the_text(text: str) -> None:
    tokens = split_tokens(text)
    assert "".join(tokens) == text
    assert all(tokens)
    voice = ScriptedVoice(PacedConfig(), Reply(content=text), 0)
    assert voice.tokens == max(1, len(tokens))


def test_a_table_answers_by_its_first_line_that_fits(tmp_path: Path) -> None:
    table = tmp_path / "table.jsonl"
    digest = hashlib.sha256(b"secret words").hexdigest()
    lines = [
        {"match": {"contains": "twice"}, "reply": {"content": "first"}, "times": 1},
        {"match": {"contains": "twice"}, "reply": {"content": "then"}},
        {"match": {"headers": {"x-run": "7"}}, "reply": {"content": "by header"}},
        {"match": {"last_sha256": digest}, "reply": {"content": "by hash"}},
        {"match": {"tools": True, "messages": 2}, "reply": {"tool_calls": [{"name": "go"}]}},
        {"match": {"model": "m"}, "reply": {"status": 429, "error": "slow down"}},
        {"reply": {"content": "anything"}},
    ]
    table.write_text("\n".join(json.dumps(line) for line in lines) + "\n")
    script = open_script(f"table:{table}", {})

    def said(text: str, headers: dict[str, str] | None = None, **fields: Any) -> Reply:
        body = {"messages": [{"role": "user", "content": text}], **fields}
        return script.reply(read_request(json.dumps(body).encode(), headers or {}))

    assert [said("do it twice").content for _ in range(3)] == ["first", "then", "then"]
    assert said("x", {"x-run": "7"}).content == "by header"
    assert said("secret words").content == "by hash"
    assert said("x", model="m").status == 429
    assert said("x").content == "anything"
    two = [{"role": "user", "content": "a"}, {"role": "tool", "content": "b"}]
    body = json.dumps({"messages": two, "tools": [{"type": "function"}]}).encode()
    assert script.reply(read_request(body, {})).tool_calls[0].name == "go"


@pytest.mark.parametrize("key", ["body", "last", "header:x-key"])
def test_a_recording_is_repeated_in_turn(key: str, tmp_path: Path) -> None:
    body = json.dumps({"messages": [{"role": "user", "content": "hello"}]}).encode()
    keys = {"body": hashlib.sha256(body).hexdigest(), "last": hashlib.sha256(b"hello").hexdigest(), "header:x-key": "k"}
    record = tmp_path / "record.jsonl"
    record.write_text("".join(json.dumps({"key": keys[key], "reply": {"content": each}}) + "\n" for each in "ab"))
    script = open_script(f"record:{record}", {"key": key})
    replies = [script.reply(read_request(body, {"x-key": "k"})).content for _ in range(3)]
    assert replies == ["a", "b", "b"]
    other = json.dumps({"messages": [{"role": "user", "content": "bye"}]}).encode()
    assert script.reply(read_request(other, {})).status == 404


def test_it_goes_away_after_so_many_requests(made: Path, asked: list[Question]) -> None:
    with start_scripted(ScriptedConfig(script=f"world:{made}", down_after=3)) as server:
        body = {"messages": [{"role": "user", "content": prompt(asked[0], [], "Answer.")}]}
        for _ in range(3):
            assert ask(server.url, **body)[0] == 200
        with pytest.raises((ConnectionError, http.client.HTTPException)):
            ask(server.url, **body)
        with pytest.raises(ConnectionRefusedError):
            ask(server.url, **body)
        assert server.alive


def test_roles_have_paces_of_their_own(made: Path, asked: list[Question], tmp_path: Path) -> None:
    paced = PacedConfig(ttft=0.0, itl=0.0, model="scripted", log_path=tmp_path / "truth.jsonl", slots=2)
    config = ScriptedConfig(
        script=f"world:{made}", paced=paced, pace={"sufficiency": Pace(ttft=0.03, itl=0.01, prefill=0.001)}
    )
    with start_scripted(config) as server:
        for wish in ("Answer.", '"sufficient"'):
            body = {"messages": [{"role": "user", "content": prompt(asked[0], [], wish)}], "stream": True}
            assert ask(server.url, **body)[0] == 200
        server.stop()
        at_once, slow = server.truth()
    assert at_once.due[0] == at_once.started
    words = len(prompt(asked[0], [], '"sufficient"').split())
    assert slow.prompt_tokens == words
    assert slow.due[0] - slow.started == 30_000_000 + words * 1_000_000
    assert {after - before for before, after in zip(slow.due, slow.due[1:], strict=False)} == {10_000_000}
