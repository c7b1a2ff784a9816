"""What the retrieval server and its client say to each other: msgpack in frames of a length and a body.

A request is an array ``[kind, id, payload…]``, a reply ``[id, taken, begun, finished, batch, error, payload]`` with
stamps in ns of CLOCK_MONOTONIC, which all processes of a host share.
"""

from __future__ import annotations

import struct
from typing import Any

import msgspec

from relaymark.retrieval.protocols import Passage

HEAD = struct.Struct("<I")
MAX_FRAME = 64 << 20


class Embed(msgspec.Struct, array_like=True, tag="embed", frozen=True):
    """Vectors of queries."""

    id: int
    text: str


class Search(msgspec.Struct, array_like=True, tag="search", frozen=True):
    """The ``k`` passages nearest to a vector (float32, native)."""

    id: int
    vector: bytes
    k: int


class Rerank(msgspec.Struct, array_like=True, tag="rerank", frozen=True):
    """Scores of passages for a query."""

    id: int
    query: str
    passages: list[str]


Request = Embed | Search | Rerank


class Reply(msgspec.Struct, array_like=True):
    """Payload: the vector's bytes, passages, or scores, as the request was."""

    id: int
    taken: int
    begun: int
    finished: int
    batch: int
    error: str
    payload: msgspec.Raw


encode_request = msgspec.msgpack.Encoder().encode
decode_request = msgspec.msgpack.Decoder(Request).decode
encode_reply = msgspec.msgpack.Encoder().encode
decode_reply = msgspec.msgpack.Decoder(Reply).decode
encode_payload = msgspec.msgpack.Encoder().encode
decode_vector = msgspec.msgpack.Decoder(bytes).decode
decode_passages = msgspec.msgpack.Decoder(list[Passage]).decode
decode_scores = msgspec.msgpack.Decoder(list[float]).decode


def framed(body: bytes) -> bytes:
    """A body behind its length."""
    return HEAD.pack(len(body)) + body


class Unframer:
    """Cuts a stream of bytes into bodies.

    Raises:
        ValueError: from ``feed``: a frame is longer than MAX_FRAME.
    """

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[bytes]:
        """The bodies that are complete with ``data``."""
        data = self._rest + data if self._rest else data
        bodies: list[bytes] = []
        pos = 0
        while len(data) - pos >= HEAD.size:
            (size,) = HEAD.unpack_from(data, pos)
            if size > MAX_FRAME:
                raise ValueError(f"a frame of {size} bytes")
            end = pos + HEAD.size + size
            if end > len(data):
                break
            bodies.append(data[pos + HEAD.size : end])
            pos = end
        self._rest = data[pos:]
        return bodies


Payload = Any
