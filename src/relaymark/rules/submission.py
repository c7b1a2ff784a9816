"""The submission file: what a bundle says of itself, and which runs are its points."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from relaymark.errors import ConfigError
from relaymark.rules.bundle import Document, dotted, read_json, read_yaml
from relaymark.rules.fields import Fields

EXAMPLE = """\
organisation: Acme Example
submission: draft-1
system: system_desc.json         # from `relaymark rules sysinfo`, completed by hand
power: system_power.json         # Standardized needs it; others may leave it out
src: src                         # holds src/<implementation>/README.md
docs: docs
point:                           # what every point.yaml says (MLPerf Endpoints 8.3)
  dataset: cnn_dailymail
  model_name: llama3_1-8b
  model_precision: FP8
  link_to_model: https://huggingface.co/meta-llama/Llama-3.1-8B-Instruct
  dataset_name: CNN/DailyMail 3.0.0 validation
  dataset_type: Accuracy + Performance
  dataset_link: https://huggingface.co/datasets/abisee/cnn_dailymail
  seed_set: A
  target_cohort: 2026-12-C0
points:
  - run: runs/20261201-093000-c8
    accuracy: accuracy/c8.json
  - run: runs/20261201-113000-c256
    stage: 0
    offline: elected
    accuracy: accuracy/c256.json
    system: {tensor_parallel: 1, data_parallel: 8}
"""


@dataclass(slots=True)
class SubmittedPoint:
    """One point: its run, and what it says that others do not."""

    run: Path
    stage: int = 0
    accuracy: Path | None = None
    offline: str | None = None
    point: dict[str, Any] = field(default_factory=dict[str, Any])
    system: dict[str, Any] = field(default_factory=dict[str, Any])
    server_configs: Path | None = None


@dataclass(slots=True)
class Submission:
    """A submission file, read; paths are whole."""

    organisation: str
    submission: str
    system: dict[str, Any]
    power: dict[str, Any] | None
    src: Path
    docs: Path
    point: dict[str, Any]
    points: list[SubmittedPoint]


def read_submission(path: Path) -> Submission:
    """Reads a submission file; what it names counts from its folder.

    Raises:
        ConfigError: It cannot be read, or a key is missing or wrong; names the line.
    """
    base = path.parent.absolute()
    document = read_yaml(path.absolute(), base)
    if document.mapping is None:
        raise ConfigError(f"{path.name} {document.problem or 'is not a mapping'}.", where=str(path))
    fields = document.fields()
    organisation = fields.text("organisation", required=True, least=1)
    submission = fields.text("submission") or "draft"
    system, power = fields.text("system", required=True, least=1), fields.text("power")
    src, docs = fields.text("src", required=True, least=1), fields.text("docs", required=True, least=1)
    point = fields.mapping("point", required=True)
    points = [_point(row, base) for row in fields.rows("points", required=True, least=1) or []]
    _refuse(document, fields)
    return Submission(
        organisation=organisation or "",
        submission=submission,
        system=_json(base / (system or "")),
        power=None if power is None else _json(base / power),
        src=base / (src or ""),
        docs=base / (docs or ""),
        point=point.data if point is not None else {},
        points=points,
    )


def _point(row: Fields, base: Path) -> SubmittedPoint:
    run, accuracy = row.text("run", required=True, least=1), row.text("accuracy")
    point, system, configs = row.mapping("point"), row.mapping("system"), row.text("server_configs")
    for key in row.data:
        if key not in ("run", "stage", "accuracy", "offline", "point", "system", "server_configs"):
            row.says(key, "is not known here")
    return SubmittedPoint(
        run=base / (run or ""),
        stage=row.whole("stage", least=0) or 0,
        accuracy=None if accuracy is None else base / accuracy,
        offline=row.word("offline", ("dedicated", "elected", "none")),
        point=point.data if point is not None else {},
        system=system.data if system is not None else {},
        server_configs=None if configs is None else base / configs,
    )


def _refuse(document: Document, fields: Fields) -> None:
    if fields.problems:
        first = fields.problems[0]
        more = f" ({len(fields.problems) - 1} more like it)" if len(fields.problems) > 1 else ""
        raise ConfigError(
            f"{dotted(first.keys)} {first.says}.{more}",
            where=document.at(*first.keys),
            mend="`relaymark rules build --example` prints a whole file.",
        )


def _json(path: Path) -> dict[str, Any]:
    document = read_json(path, path.parent)
    if document.mapping is None:
        raise ConfigError(f"{path.name} {document.problem or 'is not a mapping'}.", where=str(path))
    return document.mapping
