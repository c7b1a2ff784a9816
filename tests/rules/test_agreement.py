"""Bundles broken at random: this checker and the official one must name the same rules."""

from __future__ import annotations

import copy
import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from made_submission import write_submission
from submission_checker.checker import SubmissionChecker

from relaymark.rules import build_bundle, check_bundle, read_submission
from relaymark.rules.rulebook import RULEBOOK

FILES = (
    "point.yaml",
    "config.yaml",
    "system_desc.json",
    "result_summary.json",
    "accuracy_results.json",
    "system_power.json",
)
# Texts of digits are left out, and booleans for numbers: the official checker reads them as numbers, this one does not.
VALUES: tuple[Any, ...] = (None, "", 0, -1, 1, 33, 1.5, "x", True, False, [], {}, 10**12, "RDI", 256, "elected")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("submission")
    return build_bundle(
        read_submission(write_submission(folder, (1, 4, 16, 32, 64, 128, 256), (1, 4, 16, 256))), folder
    )


def paths(value: Any, keys: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield (*keys, key)
        yield from paths(each, (*keys, key))


def break_one(root: Path, rng: random.Random) -> str:
    file = rng.choice(sorted(path for path in root.rglob("*") if path.name in FILES))
    data = yaml.safe_load(file.read_text()) if file.suffix == ".yaml" else json.loads(file.read_text())
    keys = rng.choice(sorted(paths(data), key=str))
    holder = data
    for key in keys[:-1]:
        holder = holder[key]
    if rng.random() < 0.25:
        del holder[keys[-1]]
        done = "removed"
    else:
        old = holder[keys[-1]]
        number = isinstance(old, int | float) and not isinstance(old, bool)
        values = [value for value in VALUES if not (number and isinstance(value, bool))]
        scaled = number and rng.random() < 0.4
        new = type(old)(old * rng.choice((0.5, 0.97, 1.02, 2))) if scaled else copy.deepcopy(rng.choice(values))
        holder[keys[-1]], done = new, f"= {new!r}"
    file.write_text(yaml.safe_dump(data) if file.suffix == ".yaml" else json.dumps(data))
    return f"{file.relative_to(root)}: {keys} {done}"


@pytest.mark.parametrize("seed", range(16))
def test_both_checkers_name_the_same_rules(built: Path, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    root = Path(shutil.copytree(built, tmp_path / "bundle"))
    done = [break_one(root, rng) for _ in range(rng.choice((1, 1, 2)))]
    mine = {finding.rule for finding in check_bundle(root).errors if not RULEBOOK[finding.rule].ours}
    try:
        theirs = {found.rule for found in SubmissionChecker(root).run().errors}
    except Exception:
        # a bundle that the official checker cannot read at all must not pass here
        assert mine, done
        return
    assert mine == theirs, done
