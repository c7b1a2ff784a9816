"""A script that knows a generated world: it plays every LLM role of a question-answering pipeline, exactly right or
exactly as wrong as it was told.

What it needs of a prompt, whoever wrote it:

- one line ``Question: …`` with the question as ``questions.jsonl`` has it, in the last user message;
- each document a block that begins on a line of its own with ``[n]`` and a space, and ends at a blank line or at the
  next block. Where relevance is asked for, the new documents come first and only they count: all blocks, or as many
  as the JSON schema's ``maxItems`` says;
- the role: the JSON schema's name (``queries``, ``relevance``, ``sufficiency``, ``judgement``), or else the JSON key
  that the prompt names last in double quotes (``"queries"``, ``"relevance"``, ``"sufficient"``, ``"correct"``); with
  none, the answer is asked for;
- a judge's prompt holds the answer to be judged between a line ``<answer>`` and a line ``</answer>``.

A fact is in a document when one of its statements is, whole. Nothing else is looked at: not the URL, not the title.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import msgspec

from relaymark.data.questions import Hop, Question, load_questions
from relaymark.data.world.writing import QUESTIONS_FILE
from relaymark.emulate.script import Reply, Script, ScriptRequest, ToolCall, read_settings
from relaymark.errors import ConfigError

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Malformed = Literal["not_json", "wrong_shape", "empty", "refusal", "huge"]
HUGE = 10_000_000
"""Characters of a huge answer."""

_ROLES = {"queries": "queries", "relevance": "relevance", "sufficiency": "sufficiency", "judgement": "judge"}
_KEYS = {'"queries"': "queries", '"relevance"': "relevance", '"sufficient"': "sufficiency", '"correct"': "judge"}
_QUESTION = re.compile(r"^Question:[ \t]*(.+?)[ \t]*$", re.MULTILINE)
_MARK = re.compile(r"\[\d+\] ")
_OTHER_SPACE = ("  ", "\t", "\r", "\xa0", "\x0b", "\x0c", "\u2009", "\u202f")
_JUDGED = re.compile(r"^<answer>\n(.*)\n</answer>$", re.MULTILINE | re.DOTALL)
_MALFORMED: dict[str, str] = {
    "not_json": "Let me think about that. I would look at the second document first.",
    "wrong_shape": '{"result": [{"value": null}], "note": 7}',
    "empty": "",
    "refusal": "I'm sorry, but I can't help with that request.",
    "huge": "",
}


class WorldKnobs(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """How it errs. Every share is met exactly: of n questions in the file, share·n (rounded half up) are chosen.

    The chosen ones are the first by a hash of (seed, what for, question id), so each knob chooses its own.
    """

    seed: int = 0
    wrong: Share = 0.0  # questions whose answer is wrong although the facts are there
    misdecompose: Share = 0.0  # questions whose sub-queries are wrong
    misdecompose_how: Literal["other", "partial"] = "other"  # another question's; or all but the last hop's
    plan: Literal["all", "chain"] = "all"  # ask for all missing hops at once, or only for those whose subject is known
    max_queries: Annotated[int, msgspec.Meta(ge=1)] = 3
    malformed: dict[Malformed, Share] = {}  # questions whose replies are broken, by kind; together at most 1
    malformed_roles: tuple[Literal["queries", "relevance", "sufficiency", "answer", "judge"], ...] = (
        "queries",
        "relevance",
        "sufficiency",
    )
    tool_calls: bool = False  # structured answers come as a tool call instead of content

    def __post_init__(self) -> None:
        if sum(self.malformed.values()) > 1 + 1e-9:
            raise ValueError("the shares of malformed answers add up to more than 1")


def open_world(place: str, settings: Mapping[str, Any]) -> Script:
    """Opens the world in a folder, or the questions in a file.

    Raises:
        ConfigError: No questions there, or a question without answer or hops.
    """
    path = Path(place)
    if not path.exists():
        raise ConfigError("no generated world is here", where=place, mend="make one with: relaymark data world")
    questions = load_questions(path / QUESTIONS_FILE if path.is_dir() else path)
    return WorldScript(questions, read_settings(settings, WorldKnobs))


def chosen(ids: Sequence[str], share: float, seed: int, what: str) -> list[str]:
    """The first share·n ids (rounded half up) in the order of a hash; the same for the same seed and purpose."""
    ranked = sorted(ids, key=lambda each: hashlib.sha256(f"{seed}/{what}/{each}".encode()).digest())
    return ranked[: int(share * len(ids) + 0.5 + 1e-9)]


class WorldScript:
    """Replies by the truth of a set of questions."""

    def __init__(self, questions: Sequence[Question], knobs: WorldKnobs | None = None) -> None:
        self.knobs = knobs = knobs or WorldKnobs()
        self._by_text: dict[str, Question] = {}
        for question in questions:
            if question.answer is None or not question.hops:
                raise ConfigError("a scripted answer needs a question's answer and hops", where=question.id)
            self._by_text[" ".join(question.text.split())] = question
        ids = [question.id for question in questions]
        erring = frozenset(chosen(ids, knobs.wrong, knobs.seed, "wrong"))
        self.wrong = {each.id: _wrong_answer(each, questions) for each in questions if each.id in erring}
        """Questions that are answered wrong, and with what."""
        self.misdecomposed = frozenset(chosen(ids, knobs.misdecompose, knobs.seed, "misdecompose"))
        """Ids of the questions whose sub-queries are wrong."""
        self._other = {id_: _other_queries(id_, questions) for id_ in self.misdecomposed}
        self.malformed = _share_out(ids, knobs)
        """Ids of the questions whose replies are broken, and how."""
        self._roles: dict[str, Callable[[Question, str, ScriptRequest], object]] = {
            "queries": self._queries,
            "relevance": self._relevance,
            "sufficiency": self._sufficiency,
            "judge": self._judge,
        }

    def reply(self, request: ScriptRequest) -> Reply:
        """The answer of whichever role the prompt calls for; a 400 for a prompt that holds no known question."""
        prompt = request.user
        role = _role(request.schema_name, prompt)
        question = self._question(prompt)
        if question is None:
            return Reply(
                status=400, error="no line 'Question: …' of this prompt is a question of this world", role=role
            )
        broken = self.malformed.get(question.id)
        if broken is not None and role in self.knobs.malformed_roles:
            return Reply(content=_MALFORMED[broken] if broken != "huge" else "lorem ipsum " * (HUGE // 12), role=role)
        if role == "answer":
            return Reply(content=self._answer(question, prompt), role=role)
        said = self._roles[role](question, prompt, request)
        if said is None:
            return Reply(status=400, error="no block between <answer> and </answer> in this prompt", role=role)
        text = msgspec.json.encode(said).decode()
        if self.knobs.tool_calls:
            return Reply(tool_calls=(ToolCall(name=request.schema_name or role, arguments=text),), role=role)
        return Reply(content=text, role=role)

    def _question(self, prompt: str) -> Question | None:
        for match in _QUESTION.finditer(prompt):
            question = self._by_text.get(" ".join(match[1].split()))
            if question is not None:
                return question
        return None

    def _queries(self, question: Question, prompt: str, request: ScriptRequest) -> object:
        del request
        missing = _missing(question, prompt)
        if question.id in self.misdecomposed:
            if self.knobs.misdecompose_how == "other":
                queries = self._other[question.id]
            else:
                last = question.hops[-1]
                queries = [hop.query for hop in missing if hop is not last] or [question.hops[0].query]
        else:
            if self.knobs.plan == "chain":
                found = [hop.value for hop in question.hops if hop not in missing]
                missing = [hop for hop in missing if _known(hop, question, found)]
            queries = [hop.query for hop in missing or question.hops]
        return {"queries": queries[: self.knobs.max_queries], "feedback": ""}

    def _relevance(self, question: Question, prompt: str, request: ScriptRequest) -> object:
        texts = documents(prompt)
        count = _wanted(request.fields)
        if count is not None:
            texts = texts[:count]
        return {"relevance": [int(any(_holds(text, hop) for hop in question.hops)) for text in texts]}

    def _sufficiency(self, question: Question, prompt: str, request: ScriptRequest) -> object:
        del request
        missing = _missing(question, prompt)
        if not missing:
            return {"sufficient": True, "reasoning": "Every step is covered."}
        return {"sufficient": False, "reasoning": f"Not covered yet: {missing[0].query}."}

    def _answer(self, question: Question, prompt: str) -> str:
        if _missing(question, prompt):
            return "Unknown"
        return self.wrong.get(question.id) or question.answer or ""

    def _judge(self, question: Question, prompt: str, request: ScriptRequest) -> object:
        del request
        judged = _JUDGED.search(prompt)
        if judged is None:
            return None
        right = " ".join((question.answer or "").casefold().split())
        return {"reasoning": "Compared with the reference.", "correct": " ".join(judged[1].casefold().split()) == right}


def documents(prompt: str) -> list[str]:
    """The documents of a prompt, their whitespace collapsed."""
    found: list[str] = []
    block: list[str] | None = None
    for line in prompt.split("\n"):
        if line.startswith("[") and (mark := _MARK.match(line)):
            if block is not None:
                found.append(_collapsed(block))
            block = [line[mark.end() :]]
        elif block is not None:
            if line.strip():
                block.append(line)
            else:
                found.append(_collapsed(block))
                block = None
    if block is not None:
        found.append(_collapsed(block))
    return found


def _collapsed(lines: list[str]) -> str:
    text = " ".join(lines).strip()
    # Most passages come with single spaces already, and looking for others is ten times as fast as splitting.
    return " ".join(text.split()) if any(space in text for space in _OTHER_SPACE) else text


def _role(schema_name: str, prompt: str) -> str:
    if schema_name in _ROLES:
        return _ROLES[schema_name]
    place, role = max((prompt.rfind(key), role) for key, role in _KEYS.items())
    return role if place >= 0 else "answer"


def _holds(text: str, hop: Hop) -> bool:
    return any(statement in text for statement in hop.statements)


def _missing(question: Question, prompt: str) -> list[Hop]:
    texts = documents(prompt)
    return [hop for hop in question.hops if not any(_holds(text, hop) for text in texts)]


def _known(hop: Hop, question: Question, found: Sequence[str]) -> bool:
    """Whether somebody who knows the question and the facts found so far could ask for this hop."""
    return hop.subject in question.text or any(value.removeprefix("the ") == hop.subject for value in found)


def _wanted(fields: Mapping[str, Any]) -> int | None:
    """``maxItems`` of the relevance array, where the JSON schema says it."""
    value: Any = fields
    for key in ("response_format", "json_schema", "schema", "properties", "relevance", "maxItems"):
        if not isinstance(value, dict):
            return None
        value = cast("dict[str, Any]", value).get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _wrong_answer(question: Question, questions: Sequence[Question]) -> str:
    """An answer of the same kind that is not the right one."""
    if question.kind == "number":
        digits = (question.answer or "").replace(",", "")
        return f"{int(digits) + 7:,}" if digits.isdecimal() else f"{question.answer}7"
    others = sorted({each.answer or "" for each in questions if each.kind == question.kind} - {question.answer, ""})
    return others[len(question.text) % len(others)] if others else f"not {question.answer}"


def _other_queries(id_: str, questions: Sequence[Question]) -> list[str]:
    """The sub-queries of the next question that shares no gold page and no subject with this one."""
    place = next(place for place, question in enumerate(questions) if question.id == id_)
    own = set(questions[place].gold_urls)
    for step in range(1, len(questions)):
        other = questions[(place + step) % len(questions)]
        if own.isdisjoint(other.gold_urls):
            return [hop.query for hop in other.hops]
    return ["the price of tea in a harbour"]


def _share_out(ids: Sequence[str], knobs: WorldKnobs) -> dict[str, str]:
    """Which questions get which kind of broken reply: consecutive ranges of one ranking, so that none gets two."""
    ranked = chosen(ids, 1.0, knobs.seed, "malformed")
    broken: dict[str, str] = {}
    begin = 0.0
    for kind, share in knobs.malformed.items():
        end = begin + share
        first, last = (int(edge * len(ids) + 0.5 + 1e-9) for edge in (begin, end))
        broken.update(dict.fromkeys(ranked[first:last], kind))
        begin = end
    return broken
