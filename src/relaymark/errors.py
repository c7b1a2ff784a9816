"""Errors a user can act on: what happened, where, and what to do about it."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of the command line (design §6)."""

    GOOD = 0
    GATE_FAILED = 1
    USAGE = 2
    INVALID_MEASUREMENT = 3
    UNREACHABLE = 4
    INTERRUPTED = 130


class RelaymarkError(Exception):
    """Base of every error shown to a user without a traceback.

    Args:
        what: One sentence that says what is wrong.
        where: File, key path and line, URL, or option the problem is at.
        mend: What the user can do.
    """

    exit_code: ExitCode = ExitCode.USAGE

    def __init__(self, what: str, *, where: str = "", mend: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.mend = mend

    def __str__(self) -> str:
        lines = [self.what]
        if self.where:
            lines.append(f"  at: {self.where}")
        if self.mend:
            lines.append(f"  try: {self.mend}")
        return "\n".join(lines)


class ConfigError(RelaymarkError):
    """A benchmark file, option or input file cannot be used as given."""


class UnreachableError(RelaymarkError):
    """The endpoint did not answer at all, or not with anything we can benchmark."""

    exit_code = ExitCode.UNREACHABLE


class TraceError(RelaymarkError):
    """A run folder or trace cannot be read."""
