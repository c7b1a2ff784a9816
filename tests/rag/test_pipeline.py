"""The loop itself, with an LLM and a library that say what the test says: the rules of MLPerf's end-to-end RAG."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence

import pytest

from relaymark.relay.rag.pipeline import CallFailedError, Progress, answer_question
from relaymark.relay.rag.plan import Role, Rules
from relaymark.relay.rag.prompts import Prompt
from relaymark.relay.rag.replies import Said
from relaymark.retrieval.protocols import Passage
from relaymark.trace import Outcome

Reply = str | Callable[[int], str]


class Room:
    """Plays LLM and library, and remembers what was asked."""

    def __init__(self, replies: dict[str, Reply], pages: dict[str, list[str]] | None = None) -> None:
        self._replies = replies
        self._pages = pages or {}
        self.calls: list[tuple[str, int]] = []
        self.prompts: list[Prompt] = []
        self.searches: list[tuple[str, int, int]] = []

    async def say(self, role: Role, round_: int, prompt: Prompt) -> Said:
        self.calls.append((role, round_))
        self.prompts.append(prompt)
        reply = self._replies[role]
        return Said(reply if isinstance(reply, str) else reply(round_), completion_tokens=7)

    async def find(self, query: str, k: int, keep: int) -> Sequence[Passage]:
        self.searches.append((query, k, keep))
        await asyncio.sleep(0.001 * (len(query) % 3))  # the longest query need not come last
        names = self._pages.get(query, [f"{query} {place}" for place in range(k)])
        return [Passage(name, 0, f"u/{name}", f"text of {name}") for name in names][:keep]


def ask(room: Room, rules: Rules | None = None) -> Progress:
    progress = Progress("Who?")
    asyncio.run(answer_question(progress, room.say, room.find, rules or Rules()))
    return progress


def queries(*texts: str, feedback: str = "") -> str:
    return json.dumps({"queries": list(texts), "feedback": feedback})


ALL = '{"relevance": [1,1,1,1,1,1,1,1,1,1]}'
ENOUGH = '{"sufficient": true, "reasoning": ""}'
MORE = '{"sufficient": false, "reasoning": ""}'


def test_the_shortest_way_is_four_calls_in_two_rounds() -> None:
    room = Room({"queries": queries("a"), "relevance": ALL, "sufficiency": ENOUGH, "answer": " it "})
    progress = ask(room)
    assert room.calls == [("queries", 1), ("relevance", 2), ("sufficiency", 2), ("answer", 2)]
    assert (progress.answer, progress.rounds, progress.answer_tokens) == ("it", 2, 7)
    assert room.searches == [("a", 10, 10)]
    assert not progress.fallbacks


@pytest.mark.parametrize(("count", "keep"), [(1, 10), (2, 5), (3, 3), (4, 3), (5, 3)])
def test_how_many_passages_a_query_may_keep(count: int, keep: int) -> None:
    texts = [f"q{place}" for place in range(count)]
    room = Room({"queries": queries(*texts), "relevance": ALL, "sufficiency": ENOUGH, "answer": "x"})
    ask(room)
    assert room.searches == [(text, 10, keep) for text in texts]  # more queries than were asked for are not cut


@pytest.mark.parametrize("parallel", [False, True])
def test_a_page_that_was_found_is_never_found_again_and_queries_keep_their_order(parallel: bool) -> None:
    pages = {"longer query": ["A", "B"], "q": ["B", "C"], "r": ["A", "C"]}
    room = Room(
        {
            "queries": lambda round_: queries("longer query", "q") if round_ == 1 else queries("r"),
            "relevance": '{"relevance": [0, 1, 1]}',
            "sufficiency": MORE,
            "answer": "x",
        },
        pages,
    )
    progress = ask(room, Rules(rounds=3, parallel=parallel))
    assert list(progress.seen) == ["u/A", "u/B", "u/C"]
    assert [passage.source for passage in progress.kept] == ["B", "C"]  # A was graded 0 and can't come back
    assert progress.history == [("longer query", 2), ("q", 1), ("r", 0)]


def test_by_passage_another_passage_of_a_page_may_come() -> None:
    async def find(query: str, k: int, keep: int) -> Sequence[Passage]:
        return [Passage("A", len(query), "u/A", query)]

    room = Room(
        {"queries": lambda n: queries("x" * n), "relevance": '{"relevance": [1]}', "sufficiency": MORE, "answer": "x"}
    )
    for once, kept in (("page", 1), ("passage", 4)):
        progress = Progress("Who?")
        asyncio.run(answer_question(progress, room.say, find, Rules(once=once)))  # pyright: ignore
        assert len(progress.kept) == kept


def test_the_last_round_answers_whatever_was_kept_after_asking_once_more() -> None:
    room = Room({"queries": lambda n: queries(f"q{n}"), "relevance": ALL, "sufficiency": MORE, "answer": "late"})
    progress = ask(room)
    assert progress.answer == "late"
    assert progress.rounds == 5
    assert room.calls[-2:] == [("sufficiency", 5), ("answer", 5)]
    assert [call for call in room.calls if call[0] == "queries"] == [("queries", n) for n in (1, 2, 3, 4)]


def test_with_nothing_ever_kept_it_searches_once_more_and_the_answer_is_empty() -> None:
    room = Room({"queries": lambda n: queries(f"q{n}"), "relevance": json.dumps({"relevance": [0] * 10})})
    progress = ask(room)
    assert progress.answer == ""
    assert progress.answer_tokens is None
    assert [call for call in room.calls if call[0] == "queries"] == [("queries", n) for n in (1, 2, 3, 4, 5)]
    assert not any(role == "sufficiency" for role, _ in room.calls)


def test_sub_queries_see_the_last_twelve_and_feedback_only_when_it_is_news() -> None:
    replies = {1: "first", 2: "first", 3: "", 4: "second"}
    room = Room(
        {
            "queries": lambda n: queries(f"q{n}", feedback=replies[n]),
            "relevance": ALL,
            "sufficiency": MORE,
            "answer": "x",
        }
    )
    progress = ask(room)
    assert progress.feedback == ["first", "second"]
    third = next(prompt.text for prompt, call in zip(room.prompts, room.calls, strict=True) if call == ("queries", 3))
    assert third.count("text of") == 12
    assert "text of q1 8" in third and "text of q1 7" not in third  # 20 were kept
    assert "- q1: 10 new" in third


def test_nothing_new_asks_for_sufficiency_again_without_grading() -> None:
    pages = {"q": ["A"]}
    room = Room({"queries": queries("q"), "relevance": '{"relevance": [1]}', "sufficiency": MORE, "answer": "x"}, pages)
    ask(room, Rules(rounds=4))
    assert [role for role, _ in room.calls].count("relevance") == 1
    assert [call for call in room.calls if call[0] == "sufficiency"] == [("sufficiency", n) for n in (2, 3, 4)]


def test_a_call_that_fails_ends_the_task_and_says_how_far_it_came() -> None:
    def fail(_: int) -> str:
        raise CallFailedError("down", Outcome.RESET)

    room = Room({"queries": queries("q"), "relevance": ALL, "sufficiency": fail})
    progress = Progress("Who?")
    with pytest.raises(CallFailedError):
        asyncio.run(answer_question(progress, room.say, room.find, Rules()))
    assert progress.rounds == 2
    assert len(progress.kept) == 10
    assert progress.answer is None


def test_a_passage_without_a_url_is_left_out_and_counted() -> None:
    async def find(query: str, k: int, keep: int) -> Sequence[Passage]:
        return [Passage("A", 0, "", "a"), Passage("B", 0, "u/B", "b")]

    room = Room({"queries": queries("q"), "relevance": '{"relevance": [1]}', "sufficiency": ENOUGH, "answer": "x"})
    progress = Progress("Who?")
    asyncio.run(answer_question(progress, room.say, find, Rules()))
    assert [passage.source for passage in progress.kept] == ["B"]
    assert progress.fallbacks == {"passage without a URL": 1}
