"""Opens a submission bundle: which files are there, and what is in them. Judges nothing.

Layout (MLPerf Endpoints §8.1): ``<submission>/{src,docs,results}``, ``results/<system>/system_power.json`` and
``results/<system>/<model>/r<concurrency>/{point.yaml, config.yaml, system_desc.json, result_summary.json, …}``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import msgspec

from relaymark.bench._source import Source, parse_source
from relaymark.errors import ConfigError
from relaymark.rules.fields import Fields, Keys

LARGEST_FILE = 64 * 2**20
_POINT = re.compile(r"r([0-9]{1,12})", re.ASCII)


@dataclass(slots=True)
class Document:
    """A JSON or YAML file. ``data`` is ``None`` where it is absent or cannot be read; ``problem`` says why not."""

    path: Path
    place: str
    present: bool = False
    data: Any = None
    problem: str = ""
    source: Source | None = None

    @property
    def mapping(self) -> dict[str, Any] | None:
        """What the file holds where that is a mapping."""
        return cast(dict[str, Any], self.data) if isinstance(self.data, dict) else None

    def fields(self) -> Fields:
        """A reader of its mapping; of an empty one where it holds none."""
        return Fields(self.mapping or {})

    def at(self, *keys: str | int) -> str:
        """Where a key stands: with its line in YAML, with its path in JSON."""
        if self.source is not None:
            return self.source.place(keys)
        return f"{self.place}: {dotted(keys)}" if keys else self.place


@dataclass(slots=True)
class PointFolder:
    """One ``r<concurrency>`` folder."""

    folder: Path
    place: str
    number: int
    point: Document
    config: Document
    system: Document
    summary: Document
    accuracy: Document
    older_accuracy: Document  # results.json, read where accuracy_results.json is absent


@dataclass(slots=True)
class CurveFolder:
    """One system × model: the points of one curve, by concurrency."""

    system: str
    model: str
    place: str
    points: list[PointFolder]


@dataclass(slots=True)
class SystemFolder:
    """One system of the bundle."""

    name: str
    place: str
    power: Document
    curves: list[CurveFolder] = field(default_factory=list[CurveFolder])


@dataclass(slots=True)
class Bundle:
    """A submission as it lies on disk; ``root`` is the folder that holds ``results``."""

    root: Path
    systems: list[SystemFolder] = field(default_factory=list[SystemFolder])


def open_bundle(path: Path) -> Bundle:
    """Reads every file of a bundle that the rules are about. ``path`` may be the organisation's folder around it."""
    root = _root_of(path)
    bundle = Bundle(root)
    for folder in _folders(root / "results"):
        place = folder.relative_to(root).as_posix()
        power = read_json(folder / "system_power.json", root)
        system = SystemFolder(folder.name, place, power)
        for curve in _folders(folder):
            points = [_point(point, number, root) for number, point in _points(curve)]
            system.curves.append(CurveFolder(folder.name, curve.name, curve.relative_to(root).as_posix(), points))
        bundle.systems.append(system)
    return bundle


def read_json(path: Path, root: Path) -> Document:
    """Reads a JSON file."""
    document = Document(path, _place(path, root))
    raw = _read(document)
    if raw is not None:
        try:
            document.data = msgspec.json.decode(raw)
        except (msgspec.DecodeError, RecursionError) as error:
            document.problem = f"is not JSON: {error}"
    return document


def read_yaml(path: Path, root: Path) -> Document:
    """Reads a YAML file: a mapping without tags, repeated keys or runaway aliases."""
    document = Document(path, _place(path, root))
    raw = _read(document)
    if raw is not None:
        try:
            source = parse_source(raw.decode("utf-8-sig"), document.place)
            document.data, document.source = source.data, source
        except UnicodeDecodeError:
            document.problem = "is not UTF-8"
        except ConfigError as error:
            # Its words are about benchmark files, which is what that reader usually reads.
            document.problem = f"cannot be used: {error.what.replace('benchmark file', 'file')} ({error.where})"
    return document


def dotted(keys: Keys) -> str:
    """Keys as one text: ``node_types.0.driver``."""
    return ".".join(str(key) for key in keys)


def _root_of(path: Path) -> Path:
    if (path / "results").is_dir():
        return path
    inside = [folder for folder in _folders(path) if (folder / "results").is_dir()]
    return inside[0] if len(inside) == 1 else path


def _folders(path: Path) -> list[Path]:
    return sorted(entry for entry in path.iterdir() if entry.is_dir()) if path.is_dir() else []


def _points(curve: Path) -> list[tuple[int, Path]]:
    matches = [(_POINT.fullmatch(folder.name), folder) for folder in _folders(curve)]
    return sorted((int(match[1]), folder) for match, folder in matches if match)


def _point(folder: Path, number: int, root: Path) -> PointFolder:
    return PointFolder(
        folder=folder,
        place=folder.relative_to(root).as_posix(),
        number=number,
        point=read_yaml(folder / "point.yaml", root),
        config=read_yaml(folder / "config.yaml", root),
        system=read_json(folder / "system_desc.json", root),
        summary=read_json(folder / "result_summary.json", root),
        accuracy=read_json(folder / "accuracy_results.json", root),
        older_accuracy=read_json(folder / "results.json", root),
    )


def _read(document: Document) -> bytes | None:
    path = document.path
    document.present = path.is_file()
    if not document.present:
        document.problem = "is missing"
        return None
    try:
        if path.stat().st_size > LARGEST_FILE:
            document.problem = f"is larger than {LARGEST_FILE >> 20} MiB"
            return None
        return path.read_bytes()
    except OSError as error:
        document.problem = f"cannot be read: {error.strerror}"
        return None


def _place(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()
