"""Questions with known answers: the record, and reading them from JSON lines or a FRAMES-style TSV."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from relaymark.errors import ConfigError

MAX_LINE = 16 << 20


class Hop(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """One step of the way to an answer: a fact, the page it stands on, and the search that finds it."""

    subject: str  # name of the entity the fact is about
    relation: str  # e.g. founder
    value: str  # as the page writes it
    url: str  # the page's
    page: str  # its file under pages/
    query: str  # the right sub-query
    statements: list[str] = []  # every wording in which the page states the fact, each without punctuation


class Question(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """One question. ``answer`` is text, whatever it looks like: "None", "NA" and "007" are answers."""

    id: str
    text: str
    answer: str | None = None  # None: nobody knows
    kind: Literal["name", "date", "number"] | None = None  # of the answer
    gold_urls: list[str] = []  # in the data set's own spelling
    corpus_urls: list[str] = []  # pages to be indexed for it, where the data set lists them apart
    hops: list[Hop] = []
    reasoning: list[str] = []  # the data set's labels, for analysis


_decode = msgspec.json.Decoder(Question).decode


def load_questions(path: Path) -> list[Question]:
    """Reads questions from ``.jsonl`` (one :class:`Question` a line) or ``.tsv`` (FRAMES columns).

    Raises:
        ConfigError: The file is missing, empty or malformed (names the line), two questions share an id.
    """
    if path.suffix.lower() == ".tsv":
        from relaymark.data.frames import read_frames  # noqa: PLC0415 - only who has such a file pays for it

        questions = read_frames(path)
    elif path.suffix.lower() in (".jsonl", ".ndjson"):
        questions = _read_lines(path)
    else:
        raise ConfigError(
            "question files end in .jsonl or .tsv", where=str(path), mend="rename the file, or convert it"
        )
    if not questions:
        raise ConfigError("the file holds no questions", where=str(path))
    seen: set[str] = set()
    for question in questions:
        if question.id in seen:
            raise ConfigError(f"two questions have the id {question.id[:60]!r}", where=str(path), mend="number them")
        seen.add(question.id)
    return questions


def _read_lines(path: Path) -> list[Question]:
    questions: list[Question] = []
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(MAX_LINE + 1):
                number += 1
                if len(line) > MAX_LINE:
                    raise ConfigError("a line is longer than 16 MiB", where=f"{path}:{number}")
                line = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
                if line.strip():
                    questions.append(_question(line, f"{path}:{number}"))
    except OSError as error:
        raise ConfigError(
            f"the questions can't be read: {error.strerror or error}", where=str(path), mend="check the path"
        ) from None
    return questions


def _question(line: bytes, where: str) -> Question:
    try:
        question = _decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(
            f"this line isn't a question: {error}",
            where=where,
            mend='write one object a line, such as {"id": "1", "text": "Who …?", "answer": "…"}',
        ) from None
    if not question.text.strip():
        raise ConfigError("the question's text is empty", where=where)
    return question
