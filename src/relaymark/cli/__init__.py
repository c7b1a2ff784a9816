"""The front door: parse, call one function, print."""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the ``relaymark`` command; returns its exit code (design §6)."""
    from relaymark.cli.front import enter  # noqa: PLC0415 - keeps `import relaymark.cli` free

    return enter(arguments)


__all__ = ["main"]
