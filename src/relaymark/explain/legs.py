"""The legs of a run as arrays: what everything in this room computes on. A million of them take 130 MB.

A stage of a pipeline goes by its role, or its kind where it has none: ``answer``, ``search``, ``turn``. Where a task
is a single request it has two: ``first token`` (queueing and prefill) and ``decode``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from relaymark.errors import TraceError
from relaymark.trace.runfolder import TRACE_FILE
from relaymark.trace.table import Trace

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

FIRST_TOKEN, DECODE = "first token", "decode"
_COLUMNS = (
    "task_id", "stage", "warmup", "final", "kind", "role", "endpoint", "outcome", "scheduled", "started", "first_token",
    "ended", "queued_ns", "service_ns", "prompt_tokens", "cached_tokens", "completion_tokens", "server_prompt_tokens",
)  # fmt: skip
_GOOD = ("ok", "ok_length")
NONE = np.iinfo(np.int64).min
"""What stands in an array for a number that nobody told."""


@dataclass(frozen=True)
class Tasks:
    """The tasks that ended well, by the time they began. Times are CLOCK_MONOTONIC ns."""

    id: Ints
    began: Ints
    ended: Ints
    scheduled: Ints  # NONE in a closed loop

    @property
    def latency(self) -> Ints:
        """From beginning to end."""
        return self.ended - self.began

    def __len__(self) -> int:
        return len(self.id)


@dataclass(frozen=True)
class Legs:
    """The legs of those tasks, sorted by task and then by when they ended, the last first."""

    names: list[str]
    kinds: list[str]  # of each name
    endpoints: list[str]
    task: Ints  # place among the tasks
    name: Ints  # place among the names
    endpoint: Ints  # place among the endpoints
    began: Ints
    ended: Ints
    queued: Ints  # NONE where the stage does not tell
    first_token: Ints
    prompt_tokens: Ints
    cached_tokens: Ints
    completion_tokens: Ints

    def __len__(self) -> int:
        return len(self.task)

    def named(self, word: str) -> list[int]:
        """The names that a word stands for: itself, or all stages of that kind (``llm``)."""
        return [place for place, name in enumerate(self.names) if word in (name, self.kinds[place])]


@dataclass(frozen=True)
class Run:
    """One stage (load level) of a run."""

    tasks: Tasks
    legs: Legs
    failed: int  # tasks that did not end well: they are in no figure here


def read_run(folder: Path, stage: int) -> Run:
    """The tasks and legs of one load level.

    Raises:
        TraceError: The trace cannot be read, or no task of that level ended well.
    """
    return run_of(Trace(folder / TRACE_FILE).batches(_COLUMNS), stage)


def run_of(batches: Iterator[pa.RecordBatch], stage: int) -> Run:
    """The same of batches of the trace's columns."""
    pieces: list[dict[str, NDArray[Any]]] = []
    words: dict[str, dict[str, int]] = {"kind": {}, "role": {}, "endpoint": {}, "outcome": {}}
    for batch in batches:
        piece = {name: _column(batch, name, words) for name in _COLUMNS}
        kept = (piece["stage"] == stage) & (piece["warmup"] == 0) & (piece["final"] != 0)
        if kept.any():
            pieces.append({name: column[kept] for name, column in piece.items()})
    if not pieces:
        raise TraceError("The run has no legs at that load.", mend="Look at `relaymark report RUN`.")
    columns = {name: np.concatenate([piece[name] for piece in pieces]) for name in _COLUMNS}
    good = np.isin(columns["outcome"], [place for word, place in words["outcome"].items() if word in _GOOD])
    task_kind = words["kind"].get("task", -1)
    if (columns["kind"] == task_kind).any():
        return _of_pipeline(columns, words, good, task_kind)
    return _of_requests(columns, words, good)


def _column(batch: pa.RecordBatch, name: str, words: dict[str, dict[str, int]]) -> NDArray[Any]:
    column: Any = batch.column(name)
    if name in words:
        known = words[name]
        column = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        own = [known.setdefault(str(word), len(known)) for word in column.dictionary.to_pylist()]
        indices = column.indices.fill_null(0).to_numpy(zero_copy_only=False)
        return np.array(own or [0], np.int64)[indices]
    if pa.types.is_boolean(column.type):
        return column.to_numpy(zero_copy_only=False).astype(np.int64)
    return column.cast(pa.int64()).fill_null(NONE).to_numpy(zero_copy_only=False)


def _of_pipeline(columns: dict[str, NDArray[Any]], words: dict[str, dict[str, int]], good: Bools, kind: int) -> Run:
    whole = columns["kind"] == kind
    chosen = whole & good & (columns["started"] != NONE) & (columns["ended"] != NONE)
    order = np.flatnonzero(chosen)[np.argsort(columns["started"][chosen], kind="stable")]
    if not len(order):
        raise TraceError("No task of the run ended well: there is nothing to explain.")
    tasks = Tasks(
        columns["task_id"][order], columns["started"][order], columns["ended"][order], columns["scheduled"][order]
    )
    places = _places(tasks.id, columns["task_id"])
    legs = ~whole & (places >= 0) & (columns["started"] != NONE) & (columns["ended"] != NONE)
    kinds, roles = list(words["kind"]), list(words["role"])
    pair = columns["kind"][legs] * (len(roles) + 1) + columns["role"][legs]
    known, name = np.unique(pair, return_inverse=True)
    told = [(kinds[int(one) // (len(roles) + 1)], roles[int(one) % (len(roles) + 1)]) for one in known]
    picked = {key: column[legs] for key, column in columns.items()}
    return Run(
        tasks,
        _sorted(
            [role or kind_ for kind_, role in told],
            [kind_ for kind_, _ in told],
            list(words["endpoint"]),
            places[legs],
            name,
            picked,
        ),
        int(whole.sum()) - len(order),
    )


def _of_requests(columns: dict[str, NDArray[Any]], words: dict[str, dict[str, int]], good: Bools) -> Run:
    """Every request is a task of its own: until its first token, and from there on."""
    chosen = good & (columns["started"] != NONE) & (columns["ended"] != NONE)
    order = np.flatnonzero(chosen)[np.argsort(columns["started"][chosen], kind="stable")]
    if not len(order):
        raise TraceError("No request of the run ended well: there is nothing to explain.")
    picked = {key: column[order] for key, column in columns.items()}
    tasks = Tasks(picked["task_id"], picked["started"], picked["ended"], picked["scheduled"])
    count = len(order)
    streamed = picked["first_token"] != NONE
    split = np.where(streamed, np.minimum(picked["first_token"], picked["ended"]), picked["ended"])
    doubled = {key: np.concatenate((column, column)) for key, column in picked.items()}
    doubled["ended"] = np.concatenate((split, picked["ended"]))
    doubled["started"] = np.concatenate((picked["started"], split))
    kept = np.concatenate((np.ones(count, bool), streamed & (picked["ended"] > split)))
    place = np.concatenate((np.arange(count), np.arange(count)))[kept]
    name = np.concatenate((np.zeros(count, np.int64), np.ones(count, np.int64)))[kept]
    doubled = {key: column[kept] for key, column in doubled.items()}
    legs = _sorted([FIRST_TOKEN, DECODE], ["llm", "llm"], list(words["endpoint"]), place, name, doubled)
    return Run(tasks, legs, len(good) - count)


def _sorted(
    names: list[str], kinds: list[str], endpoints: list[str], task: Ints, name: Ints, columns: dict[str, NDArray[Any]]
) -> Legs:
    order = np.lexsort((-columns["ended"], task))
    prompt, cached = columns["prompt_tokens"], columns["cached_tokens"]
    processed = columns["server_prompt_tokens"]
    told = (cached == NONE) & (prompt != NONE) & (processed != NONE)
    cached = np.where(told, prompt - processed, cached)
    return Legs(
        names=names,
        kinds=kinds,
        endpoints=endpoints,
        task=task[order],
        name=name[order],
        endpoint=columns["endpoint"][order],
        began=columns["started"][order],
        ended=columns["ended"][order],
        queued=columns["queued_ns"][order],
        first_token=columns["first_token"][order],
        prompt_tokens=prompt[order],
        cached_tokens=cached[order],
        completion_tokens=columns["completion_tokens"][order],
    )


def _places(wanted: Ints, ids: Ints) -> Ints:
    """Where each id stands among ``wanted``; −1 where it does not."""
    order = np.argsort(wanted)
    at = np.searchsorted(wanted[order], ids)
    at = np.minimum(at, len(wanted) - 1)
    place = order[at]
    return np.where(wanted[place] == ids, place, -1)
