"""The explorer: published rows in one HTML file, to filter, sort and plot; it loads nothing."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
import msgspec
from markupsafe import Markup

from relaymark import __version__
from relaymark.errors import ConfigError
from relaymark.published import FLAGS, KINDS, Finding, Row, find_anomalies, rounds_of
from relaymark.published.accuracy import BARE, quality
from relaymark.report.clean import plain_line
from relaymark.report.published.figures import scale_of

_FINDINGS = 12  # of a kind; the command line has them all
_LONGEST = 600  # of a note

_FIELDS = (
    "id", "round", "organization", "platform", "system", "availability", "division", "category", "benchmark", "model",
    "scenario", "value", "unit", "higher", "nodes", "family", "scale", "count", "used", "single", "precision",
    "accuracy", "quality", "framework", "processor", "raw", "flags", "notes",
)  # fmt: skip


def write_explorer(rows: Sequence[Row], path: Path) -> Path:
    """Writes the page, whole or not at all.

    Raises:
        ConfigError: There are no rows.
    """
    if not rows:
        raise ConfigError("No row meets this.", where=str(path), mend="Ask for less, or import a round.")
    partial = path.with_name(path.name + ".partial")
    partial.write_text(render_explorer(rows), encoding="utf-8", newline="\n")
    return partial.replace(path)


def render_explorer(rows: Sequence[Row]) -> str:
    """The page as HTML text.

    Everything from a file counts as untrusted: it is cleaned, escaped or inside a JSON block that cannot be left, and
    the script puts it on the page as text only. The policy allows one style sheet and one script, by their SHA-256.
    """
    style = _asset("report.css") + _asset("explorer.css")
    script = _asset("explorer.js") + _asset("explorer-plot.js") + _asset("explorer-page.js")
    policy = (
        f"default-src 'none'; style-src '{_sha256(style)}'; script-src '{_sha256(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    findings = find_anomalies(rows)
    return _template().render(
        policy=policy,
        style=Markup(style),  # noqa: S704 (our own files, not user text)
        script=Markup(script),  # noqa: S704
        data=Markup(_data(rows)),  # noqa: S704 (JSON with every "<" escaped)
        version=__version__,
        counts=[(plain_line(name, 40), sum(row.round == name for row in rows)) for name in rounds_of(rows)],
        kinds=[_kind(kind, meaning, findings) for kind, meaning in KINDS.items()],
    )


def _data(rows: Sequence[Row]) -> str:
    """Rows as columns of indexes into one list of texts: a table repeats the same names over and over."""
    texts: dict[str, int] = {}

    def cell(value: Any) -> Any:
        return [texts.setdefault(value, len(texts))] if isinstance(value, str) else value

    table = [[cell(value) for value in _values(row)] for row in rows]
    told = {"fields": _FIELDS, "texts": list(texts), "rows": table, "flags": FLAGS}
    return msgspec.json.encode(told).decode().replace("<", "\\u003c").replace("&", "\\u0026")


def _values(row: Row) -> list[Any]:
    family = plain_line(row.accelerator, 60)
    return [
        plain_line(row.id, 60),
        plain_line(row.round, 40),
        plain_line(row.organization, 60),
        plain_line(row.platform, 120),
        plain_line(row.system, 160),
        plain_line(row.availability, 20),
        plain_line(row.division, 20),
        plain_line(row.category, 20),
        plain_line(row.benchmark, 60),
        plain_line(row.model, 80),
        plain_line(row.scenario, 20),
        row.value,
        plain_line(row.unit, 20),
        row.higher_is_better,
        row.nodes,
        family if row.accelerators != 0 else "no accelerator",
        scale_of(row, 80),
        row.accelerators,
        row.used,
        len(row.parts) == 1 and row.accelerators_used is None,
        plain_line(row.precision or row.precision_raw, 60),
        plain_line(row.accuracy_raw, 200),
        _quality(row),
        plain_line(row.framework, 200),
        plain_line(row.processor, 100),
        plain_line(f"{row.result_raw} {row.units_raw}", 80),
        " ".join(row.flags),
        plain_line(row.notes, _LONGEST),
    ]


def _quality(row: Row) -> str:
    """The first metric that says how good the answers are, in four digits; how many others there are."""
    told = list(quality(row.accuracy).items())
    if not told:
        return ""
    name, value = told[0]
    others = f" +{len(told) - 1}" if len(told) > 1 else ""
    return plain_line(f"{value:.4g}{others}" if name == BARE else f"{name} {value:.4g}{others}", 40)


def _kind(kind: str, meaning: str, findings: Sequence[Finding]) -> dict[str, Any]:
    found = [finding for finding in findings if finding.kind == kind]
    shown = [
        {
            "says": plain_line(each.says, 300),
            "arithmetic": plain_line(each.arithmetic, 400),
            "rows": [plain_line(row.id, 60) for row in each.rows[:8]],
            "more": max(0, len(each.rows) - 8),
        }
        for each in found[:_FINDINGS]
    ]
    return {"kind": kind, "meaning": meaning, "count": len(found), "shown": shown}


def _sha256(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def _asset(name: str) -> str:
    return resources.files("relaymark.report").joinpath("templates", name).read_text(encoding="utf-8")


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_asset("explorer.html.j2"))
