"""What the tasks of a pipeline answered: ``answers.jsonl`` in the run's folder, one line a task.

A worker appends a line when a task is over. A line goes to the kernel in one write on a descriptor opened for
appending, so that lines of several workers never mix and a ``kill -9`` loses at most the line being written.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Literal, Self

import msgspec

from relaymark.errors import TraceError

ANSWERS_FILE = "answers.jsonl"
MAX_LINE = 64 << 20
"""Longest line a reader takes, in bytes; a longer one counts as torn."""


class TaskAnswer(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One task as it ended.

    URL lists are in the order in which the pipeline found or kept them and may repeat a URL. ``None`` says that the
    pipeline doesn't tell (a black box without contexts); an empty list, that it found or kept nothing.
    """

    task_id: int
    question_id: str
    question: str
    outcome: Literal["ok", "failed"]
    stage: int = 0  # index of the stage in run.json: a warm-up's answers are not scored
    answer: str | None = None  # None: there is none
    error: str | None = None  # why it failed; untrusted text
    gold_answer: str | None = None  # None: nobody knows the right one
    gold_urls: list[str] = []
    kept_urls: list[str] | None = None  # pages of the passages that the answer was drawn from
    contexts: list[str] | None = None  # texts that the answer was drawn from, where a service tells; untrusted
    retrieved_urls: list[str] | None = None  # pages of every passage that the search brought
    solved: bool | None = None  # where the end state was checked when the task ended
    iterations: int | None = None
    llm_calls: int | None = None
    answer_tokens: int | None = None  # completion tokens of the call that gave the answer, reasoning included
    fallbacks: dict[str, int] = {}  # replies that were not what was asked for, by role and reason
    replay: dict[str, int] = {}  # what became of recorded responses: how many were used, missing, mismatched


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(TaskAnswer).decode


class AnswerWriter:
    """Appends answers to a file; several writers may share one.

    Raises:
        OSError: The file cannot be written; raised by ``append`` too.
    """

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        # A killed predecessor may have left half a line: without this, ours would be lost with it.
        size = os.fstat(self._fd).st_size
        if size and os.pread(self._fd, 1, size - 1) != b"\n":
            os.write(self._fd, b"\n")

    def append(self, answer: TaskAnswer) -> None:
        """Hands one answer to the kernel. Half a surrogate pair, which JSON can smuggle in, becomes a question mark."""
        try:
            line = _encode(answer)
        except UnicodeEncodeError:
            said, error = answer.answer, answer.error
            line = _encode(msgspec.structs.replace(answer, answer=said and _whole(said), error=error and _whole(error)))
        view = memoryview(line + b"\n")
        while view:
            view = view[os.write(self._fd, view) :]

    def close(self) -> None:
        """Closes the file; may be called twice."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _whole(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


class AnswerReader:
    """Iterates over a file's answers, holding one line at a time. ``torn`` counts the lines that were no answer."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.torn = 0

    def __iter__(self) -> Iterator[TaskAnswer]:
        self.torn = 0
        try:
            file = self._path.open("rb")
        except OSError as error:
            raise TraceError(
                "The run left no answers that could be scored.",
                where=f"{self._path} ({error.strerror})",
                mend="Give the folder of a run whose tasks answer questions.",
            ) from None
        with file:
            while line := file.readline(MAX_LINE):
                if not line.endswith(b"\n") and len(line) == MAX_LINE:
                    self.torn += 1
                    _skip_line(file)
                    continue
                if not line.strip():
                    continue
                try:
                    answer = _decode(line)
                except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                    self.torn += 1
                    continue
                yield answer


def _skip_line(file: BinaryIO) -> None:
    while (rest := file.readline(MAX_LINE)) and not rest.endswith(b"\n"):
        pass


def read_answers(path: Path) -> tuple[list[TaskAnswer], int]:
    """All answers of a file, and how many lines were torn.

    Raises:
        TraceError: The file is missing or cannot be read.
    """
    reader = AnswerReader(path)
    return list(reader), reader.torn
