"""Parsing and chunking in processes of their own, ahead of the embedder by a bounded number of groups."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context, parent_process
from pathlib import Path

import msgspec

from relaymark.retrieval.chunking import chunk
from relaymark.retrieval.parsing import Document, Parser, open_parser
from relaymark.retrieval.protocols import Passage

_AHEAD = 6
"""Groups that may be parsed before they are taken."""


class ParseSpec(msgspec.Struct, frozen=True):
    """How a document becomes passages."""

    parser: str
    window: int
    stride: int
    name_empty: bool


class ParsedGroup(msgspec.Struct, array_like=True):
    """One group as it comes out of a parser process; times are CLOCK_MONOTONIC ns."""

    number: int
    passages: list[Passage]
    documents: int
    empty: int
    failures: list[tuple[str, str]]
    begun: int
    ended: int


decode_group = msgspec.msgpack.Decoder(ParsedGroup).decode


def parse_ahead(spec: ParseSpec, groups: Iterable[tuple[int, list[Document]]], processes: int) -> Iterator[ParsedGroup]:
    """Every numbered group in its order, parsed by so many processes."""
    pending: deque[Future[bytes]] = deque()
    # Spawned, not forked: the embedder's threads would not survive a fork.
    with ProcessPoolExecutor(
        processes, mp_context=get_context("spawn"), initializer=_begin, initargs=(msgspec.json.encode(spec),)
    ) as pool:
        for number, documents in groups:
            pending.append(pool.submit(_parse, number, msgspec.msgpack.encode(documents)))
            if len(pending) > _AHEAD:
                yield decode_group(pending.popleft().result())
        while pending:
            yield decode_group(pending.popleft().result())


# -- in the processes ----------------------------------------------------------------------------------------

_parsing: tuple[Parser, ParseSpec] | None = None


def _begin(encoded: bytes) -> None:
    global _parsing  # noqa: PLW0603 - a pool's workers have no other place for what they are given once
    threading.Thread(target=_end_with_the_build, daemon=True).start()
    spec = msgspec.json.decode(encoded, type=ParseSpec)
    _parsing = open_parser(spec.parser), spec


def _end_with_the_build() -> None:
    """Ends this process when the build is killed.

    A pool's worker holds both ends of the queue it waits at, so it never sees the end of it: each killed build left its
    parsers behind for ever.
    """
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _parse(number: int, encoded: bytes) -> bytes:
    if _parsing is None:
        raise RuntimeError("the parser was not opened")
    parse, spec = _parsing
    begun = time.monotonic_ns()
    passages: list[Passage] = []
    failures: list[tuple[str, str]] = []
    empty = 0
    documents = msgspec.msgpack.decode(encoded, type=list[Document])
    for document in documents:
        try:
            parsed = parse(document)
        except (OSError, ValueError, RecursionError) as error:
            why = "not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error) or type(error).__name__
            failures.append((document.source, why[:200]))
            continue
        texts = chunk(parsed.text, spec.window, spec.stride)
        if not texts:
            empty += 1
            if spec.name_empty:
                texts = [f"Document: {Path(document.source).name}"]
        passages += [
            Passage(document.source, place, parsed.url, text, parsed.title) for place, text in enumerate(texts)
        ]
    group = ParsedGroup(number, passages, len(documents), empty, failures, begun, time.monotonic_ns())
    return msgspec.msgpack.encode(group)
