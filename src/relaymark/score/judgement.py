"""What a judge said of one task, and the file that keeps it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

JUDGEMENTS_FILE = "judgements.jsonl"


class Judgement(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One verdict. ``correct`` None says that the judge failed, not that the answer did."""

    task_id: int
    stage: int = 0
    question_id: str
    correct: bool | None
    why: str = ""  # untrusted, where a model wrote it
    judge: str  # which judge: see the score's record
    subject: str = ""  # SHA-256 of question, reference and answer, 16 hex digits
    requests: int = 0


def subject_of(question: str, gold: str, answer: str | None) -> str:
    """Identifies what was judged."""
    parts = (question, gold, answer or "")
    return hashlib.sha256("\x00".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


_decode = msgspec.json.Decoder(Judgement).decode


def read_judgements(path: Path) -> Iterator[Judgement]:
    """The verdicts in a file, in the order they were written; lines that are none are left out, and so is no file."""
    if path.exists():
        with path.open("rb") as file:
            for line in file:
                try:
                    yield _decode(line)
                except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                    continue
