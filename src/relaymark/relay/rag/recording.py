"""Every LLM reply of a run, one line each, and what replays it.

In replay the live call is made and timed, but the pipeline goes on with the recorded text, so that two systems do the
same work whatever their models say. A reply is found by question, role and round. One that is missing, or that cannot
belong to the prompt at hand, is counted: silence about it is how replays drift (MLPerf's reference keeps every document
where the recorded grades don't match, and says nothing).
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any, cast

import msgspec

from relaymark.errors import ConfigError
from relaymark.relay.rag.plan import Role
from relaymark.relay.rag.replies import Said

# How MLPerf's reference implementation names the calls in its logs.
_THEIR_NAMES: dict[str, Role] = {
    "generate_search_queries": "queries",
    "evaluate_document_relevance": "relevance",
    "check_sufficiency": "sufficiency",
    "answer_generator": "answer",
}


class Recorded(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One reply."""

    question_id: str
    role: Role
    round: int
    text: str
    reasoning: str = ""
    completion_tokens: int | None = None


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Recorded).decode


class Recorder:
    """Appends replies to a file that several workers may share: one write a line.

    Raises:
        OSError: The file cannot be written; raised by ``keep`` too.
    """

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def keep(self, question_id: str, role: Role, round_: int, said: Said) -> None:
        """Keeps one reply."""
        recorded = Recorded(
            question_id=question_id,
            role=role,
            round=round_,
            text=_whole(said.text),
            reasoning=_whole(said.reasoning),
            completion_tokens=said.completion_tokens,
        )
        view = memoryview(_encode(recorded) + b"\n")
        while view:
            view = view[os.write(self._fd, view) :]

    def close(self) -> None:
        """Closes the file."""
        os.close(self._fd)


class Replay:
    """Recorded replies by question, role and round. ``read`` counts them, ``torn`` lines that were none."""

    def __init__(self, path: Path) -> None:
        self._said: dict[tuple[str, str, int], Said] = {}
        self.torn = 0
        try:
            with path.open("rb") as file:
                theirs = file.read(1) == b"{" and b'"queries"' in file.read(4096).replace(b" ", b"")[:4096]
        except OSError as error:
            raise ConfigError(
                f"the recording can't be read: {error.strerror or error}",
                where=str(path),
                mend="name the responses.jsonl of a run",
            ) from None
        if theirs and path.suffix.lower() == ".json":
            self._read_theirs(path)
        else:
            self._read_ours(path)
        if not self._said:
            raise ConfigError("the recording holds no reply", where=str(path), mend="name the responses.jsonl of a run")

    @property
    def read(self) -> int:
        """Number of replies."""
        return len(self._said)

    def find(self, question_id: str, role: Role, round_: int, counts: Counter[str]) -> Said | None:
        """The recorded reply, or ``None``; either is counted as ``used`` or ``missing``."""
        said = self._said.get((question_id, role, round_))
        counts["missing" if said is None else "used"] += 1
        return said

    def _read_ours(self, path: Path) -> None:
        with path.open("rb") as file:
            for line in file:
                try:
                    one = _decode(line)
                except (msgspec.MsgspecError, RecursionError):
                    self.torn += bool(line.strip())
                    continue
                self._said[one.question_id, one.role, one.round] = Said(one.text, one.reasoning, one.completion_tokens)

    def _read_theirs(self, path: Path) -> None:
        """The log of MLPerf's reference: queries[] of llm_calls[] with component, hop_count and output.response.

        Its logger writes ``actual_output`` where its own replay reads ``output.response``; both are taken.
        """
        try:
            log: Any = msgspec.json.decode(path.read_bytes())
        except (msgspec.MsgspecError, RecursionError) as error:
            raise ConfigError(f"the recording is no JSON: {error}", where=str(path)) from None
        for query in _objects(log, "queries"):
            question_id = str(query.get("query_id", query.get("id", "")))
            for call in _objects(query, "llm_calls"):
                role = _THEIR_NAMES.get(str(call.get("component")))
                text = _their_text(call.get("output"))
                hop = call.get("hop_count")
                if role is None or text is None or not isinstance(hop, int):
                    self.torn += 1
                    continue
                self._said[question_id, role, hop] = Said(text)


def _objects(holder: Any, key: str) -> list[dict[str, Any]]:
    found: Any = cast(dict[str, Any], holder).get(key) if isinstance(holder, dict) else None
    return [one for one in cast(list[Any], found) if isinstance(one, dict)] if isinstance(found, list) else []


def _their_text(output: Any) -> str | None:
    if isinstance(output, str):
        return output
    if isinstance(output, dict):
        held = cast(dict[str, Any], output)
        for key in ("response", "actual_output", "actual"):
            if isinstance(text := held.get(key), str) and text:
                return text
    return None


def _whole(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
