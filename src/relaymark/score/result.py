"""``score.json``: how good the answers of a run are, and what that is worth."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import msgspec

from relaymark.score.bfcl.multi_turn.scoring import SCORE_FILE as MULTI_TURN_FILE
from relaymark.score.bfcl.multi_turn.scoring import MultiTurnScore
from relaymark.score.bfcl.scoring import SCORE_FILE as BFCL_FILE
from relaymark.score.bfcl.scoring import BfclScore
from relaymark.score.retrieval import RetrievalScore
from relaymark.score.turns import TurnScore

SCORE_FILE = "score.json"


class JudgeRecord(msgspec.Struct, kw_only=True):
    """Who judged, and what it took."""

    name: str  # identifies it: scores by differently named judges are not comparable
    url: str = ""
    requests: int = 0
    retries: int = 0
    reused: int = 0  # verdicts kept from an earlier scoring of the same answers by the same judge
    unconstrained: bool = False  # the endpoint refused the JSON schema
    prompt_tokens: int = 0
    completion_tokens: int = 0
    problems: dict[str, int] = {}


class Tasks(msgspec.Struct, kw_only=True):
    """The tasks by what became of them. ``planned`` is the sum of the others but ``questions``."""

    planned: int = 0
    correct: int = 0
    wrong: int = 0  # an answer that is not right
    unanswered: int = 0  # ended well, but without an answer
    failed: int = 0
    missing: int = 0  # planned and never ended: the run was cut short or crashed
    unjudged: int = 0  # the judge failed
    unknown: int = 0  # nobody knows the right answer
    questions: int = 0  # different questions among them

    @property
    def judged(self) -> int:
        """The denominator of the accuracy: all planned but those that could not be judged. Failures stay in it."""
        return self.planned - self.unjudged - self.unknown


class GateRecord(msgspec.Struct, kw_only=True):
    """The gate and whether it was passed; ``passed`` None: undecided, because too many could not be judged."""

    reference: float
    share: float
    threshold: float
    passed: bool | None
    source: str = ""


class Score(msgspec.Struct, kw_only=True):
    """How good. Shares are from 0 to 1."""

    schema: int = 1
    kind: str = "answers"
    run_id: str = ""
    judge: JudgeRecord
    tasks: Tasks
    accuracy: float | None = None
    low: float | None = None  # 95 % interval of the accuracy (Wilson), over different questions
    high: float | None = None
    retrieval: RetrievalScore | None = None
    gate: GateRecord | None = None
    iterations: float | None = None  # means over tasks that tell
    llm_calls: float | None = None
    replay: dict[str, int] = {}  # what became of recorded responses, over all tasks
    torn: int = 0  # lines of answers.jsonl that were no answer
    valid: bool = True
    reasons: list[str] = []  # why it is not valid
    notes: list[str] = []


def read_scores(folder: Path) -> list[Score | TurnScore | BfclScore | MultiTurnScore]:
    """Everything that was scored in a run's folder: its answers or turns, and function calling."""
    found: list[Score | TurnScore | BfclScore | MultiTurnScore] = []
    score = read_score(folder)
    found += [] if score is None else [score]
    with contextlib.suppress(OSError, msgspec.MsgspecError):
        found.append(msgspec.json.decode((folder / BFCL_FILE).read_bytes(), type=BfclScore))
    with contextlib.suppress(OSError, msgspec.MsgspecError):
        found.append(msgspec.json.decode((folder / MULTI_TURN_FILE).read_bytes(), type=MultiTurnScore))
    return found


class _Kind(msgspec.Struct):
    kind: str = "answers"


def read_score(folder: Path) -> Score | TurnScore | None:
    """The score that lies in a run's folder; ``None`` where there is none, or none that can be read."""
    try:
        data = (folder / SCORE_FILE).read_bytes()
        kind = msgspec.json.decode(data, type=_Kind).kind
        return msgspec.json.decode(data, type=TurnScore if kind == "turns" else Score)
    except (OSError, msgspec.MsgspecError):
        return None


def write_score(folder: Path, score: Score | TurnScore) -> Path:
    """Writes ``score.json`` by an atomic rename; returns its path.

    Raises:
        OSError: It cannot be written.
    """
    path = folder / SCORE_FILE
    fresh = folder / f".{SCORE_FILE}.{os.getpid()}"
    try:
        fresh.write_bytes(msgspec.json.format(msgspec.json.encode(score), indent=1) + b"\n")
        fresh.replace(path)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise
    return path
