"""FRAMES-style tables of questions: tab-separated, one question a row.

Columns: ``Prompt``, ``Answer``, any number of ``wikipedia_link_*`` (one gold URL each, the empty ones left out),
``reasoning_types`` (labels separated by ``|``) and ``wiki_links`` (a list of URLs as text, the corpus to be indexed).
Every cell is text: an answer "None" or "NA" is that word. A question's id is the row's index from 0, which is what
recordings of the MLPerf reference are keyed by.
"""

from __future__ import annotations

import ast
import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import cast

from relaymark.data.questions import Question
from relaymark.errors import ConfigError

LINK = "wikipedia_link_"
_MAX_FILE = 256 << 20
_WRITTEN_LINKS = 10


class _Dialect(csv.excel_tab):
    lineterminator = "\n"
    strict = True


def read_frames(path: Path) -> list[Question]:
    """Reads a FRAMES-style TSV.

    Raises:
        ConfigError: Missing, not UTF-8, no ``Prompt`` column, a row of another length, a malformed ``wiki_links``.
    """
    where = str(path)
    try:
        if path.stat().st_size > _MAX_FILE:
            raise ConfigError("the table is larger than 256 MiB", where=where, mend="convert it to .jsonl")
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ConfigError(f"the questions can't be read: {error.strerror or error}", where=where) from None
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"the table isn't UTF-8 at byte {error.start}", where=where, mend="save it as UTF-8"
        ) from None
    csv.field_size_limit(_MAX_FILE)
    rows = csv.reader(io.StringIO(text, newline=""), dialect=_Dialect)
    try:
        header = next(rows, [])
        if "Prompt" not in header:
            found = ", ".join(name[:40] for name in header[:12]) or "none"
            raise ConfigError(f"no Prompt column here; the columns are: {found}", where=where)
        questions: list[Question] = []
        for row in rows:
            if row:
                questions.append(_question(header, row, len(questions), f"{path}:{rows.line_num}"))
    except csv.Error as error:
        raise ConfigError(f"the table is malformed: {error}", where=f"{path}:{rows.line_num}") from None
    return questions


def _question(header: list[str], row: list[str], index: int, where: str) -> Question:
    if len(row) != len(header):
        raise ConfigError(f"this row has {len(row)} cells and the header {len(header)}", where=where)
    cells = dict(zip(header, row, strict=True))
    prompt = cells["Prompt"]
    if not prompt.strip():
        raise ConfigError("the question's text is empty", where=where)
    types = cells.get("reasoning_types", "")
    return Question(
        id=str(index),
        text=prompt,
        answer=cells.get("Answer"),
        gold_urls=[cell for name, cell in zip(header, row, strict=True) if name.startswith(LINK) and cell.strip()],
        corpus_urls=_urls(cells.get("wiki_links", ""), where),
        reasoning=[label.strip() for label in types.split("|") if label.strip()],
    )


def _urls(text: str, where: str) -> list[str]:
    if not text.strip():
        return []
    try:
        value = ast.literal_eval(text.strip())  # literals only; nothing is called
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        value = None
    if not isinstance(value, list) or not all(isinstance(item, str) for item in cast("list[object]", value)):
        raise ConfigError(
            "wiki_links isn't a list of texts", where=where, mend="write it as ['https://…', 'https://…']"
        )
    return cast("list[str]", value)


def write_frames(path: Path, questions: Iterable[Question]) -> None:
    """Writes questions as a FRAMES-style TSV with ten link columns and, where one needs it, more.

    Hops and ids have no column: reading it back numbers the questions from 0.

    Raises:
        ConfigError: An answer is unknown, which this format can't say.
    """
    held = list(questions)
    links = max([_WRITTEN_LINKS, *(len(question.gold_urls) for question in held)])
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, dialect=_Dialect)
        names = [f"{LINK}{number}" for number in range(1, links + 1)]
        writer.writerow(["", "Prompt", "Answer", *names, "reasoning_types", "wiki_links"])
        for index, question in enumerate(held):
            if question.answer is None:
                raise ConfigError("a question without an answer can't be written to a TSV", where=question.id)
            cells = question.gold_urls + [""] * (links - len(question.gold_urls))
            corpus = question.corpus_urls or question.gold_urls
            writer.writerow(
                [str(index), question.text, question.answer, *cells, " | ".join(question.reasoning), repr(corpus)]
            )
