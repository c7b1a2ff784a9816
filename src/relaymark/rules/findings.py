"""What a check found: which rule, where, what is wrong and what mends it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from relaymark.rules.rulebook import RULEBOOK


class Severity(StrEnum):
    """How much a finding weighs: an error fails the bundle, a warning is told to the reviewers."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """One broken or doubtful rule.

    ``place`` is relative to the bundle, with the line where the file has lines (``…/point.yaml:12``) and the key where
    it has not (``…/result_summary.json: duration_ns``).
    """

    rule: str
    severity: Severity
    says: str
    place: str
    mend: str = ""

    @property
    def section(self) -> str:
        """The section of the rules it comes from; empty where it is this program's own."""
        return RULEBOOK[self.rule].section

    @property
    def ours(self) -> bool:
        """Whether the official checker (1.5.3.0) has no such rule."""
        return RULEBOOK[self.rule].ours


@dataclass(slots=True)
class Findings:
    """Everything that the checks of one bundle found, in the order of the checks."""

    found: list[Finding] = field(default_factory=list[Finding])

    def error(self, rule: str, place: str, says: str, mend: str | None = None) -> None:
        """Adds a finding that fails the bundle."""
        self._add(rule, Severity.ERROR, place, says, mend)

    def warning(self, rule: str, place: str, says: str, mend: str | None = None) -> None:
        """Adds a finding that does not."""
        self._add(rule, Severity.WARNING, place, says, mend)

    def _add(self, rule: str, severity: Severity, place: str, says: str, mend: str | None) -> None:
        usual = RULEBOOK[rule].mend
        self.found.append(Finding(rule, severity, says, place, usual if mend is None else mend))

    @property
    def errors(self) -> list[Finding]:
        """The findings that fail the bundle."""
        return [finding for finding in self.found if finding.severity is Severity.ERROR]

    @property
    def warnings(self) -> list[Finding]:
        """The findings that do not."""
        return [finding for finding in self.found if finding.severity is Severity.WARNING]

    def rules(self) -> set[str]:
        """The rules that failed."""
        return {finding.rule for finding in self.errors}
