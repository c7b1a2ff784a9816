"""How good: accuracy gates over the answers of a run. Reads traces; a judge calls its own endpoint through the wire."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from relaymark.score.exact import judge_exact, normalise
    from relaymark.score.gate import Gate, make_gate
    from relaymark.score.interval import wilson
    from relaymark.score.judgement import JUDGEMENTS_FILE, Judgement, read_judgements
    from relaymark.score.llmjudge import JudgeSettings, LlmJudge
    from relaymark.score.result import SCORE_FILE, Score, write_score
    from relaymark.score.retrieval import RetrievalScore, official_prf, prf
    from relaymark.score.scoring import score_answers
    from relaymark.score.test09 import verify_lengths
    from relaymark.score.urls import map_gold, normalise_url

__all__ = [
    "JUDGEMENTS_FILE",
    "SCORE_FILE",
    "Gate",
    "JudgeSettings",
    "Judgement",
    "LlmJudge",
    "RetrievalScore",
    "Score",
    "judge_exact",
    "make_gate",
    "map_gold",
    "normalise",
    "normalise_url",
    "official_prf",
    "prf",
    "read_judgements",
    "score_answers",
    "verify_lengths",
    "wilson",
    "write_score",
]

# Loaded on first use: the deterministic judge needs none of the wire.
_HOMES = {
    "exact": ("judge_exact", "normalise"),
    "gate": ("Gate", "make_gate"),
    "interval": ("wilson",),
    "judgement": ("JUDGEMENTS_FILE", "Judgement", "read_judgements"),
    "llmjudge": ("JudgeSettings", "LlmJudge"),
    "result": ("SCORE_FILE", "Score", "write_score"),
    "retrieval": ("RetrievalScore", "official_prf", "prf"),
    "scoring": ("score_answers",),
    "test09": ("verify_lengths",),
    "urls": ("map_gold", "normalise_url"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
