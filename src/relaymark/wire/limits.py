"""Bounds on one attempt: how long it may take, and how much it may make us hold."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Bounds on one attempt in ns; ``None`` is no bound. ``idle`` bounds the silence between two reads."""

    connect: int | None = 10_000_000_000
    first_byte: int | None = None
    idle: int | None = 120_000_000_000
    total: int | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """Caps on what a response may make us hold, in bytes."""

    header: int = 256 << 10
    body: int = 64 << 20
