"""``relaymark rules`` from the command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from relaymark.cli import main

sys.path.insert(0, str(Path(__file__).parent.parent / "rules"))
from made_submission import write_submission


def test_build_then_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_submission(tmp_path, (1, 4, 16, 32, 64, 128, 256), (1, 4, 16, 256))
    assert main(["rules", "build", str(file), "--out", str(tmp_path / "out")]) == 0
    assert "PASSED" in capsys.readouterr().out
    bundle = tmp_path / "out" / "Acme_Example"
    assert main(["rules", "check", str(bundle)]) == 0
    assert main(["rules", "check", str(bundle), "--strict"]) == 1
    capsys.readouterr()
    # once built, a bundle is never written over
    assert main(["rules", "build", str(file), "--out", str(tmp_path / "out")]) == 2
    assert "there already" in capsys.readouterr().err


def test_a_refused_bundle_names_rule_place_and_mend(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_submission(tmp_path, (1, 4, 16, 32, 64, 128, 256), (1, 4, 16))
    assert main(["rules", "build", str(file), "--out", str(tmp_path / "out")]) == 1
    told = capsys.readouterr().out
    assert "REFUSED" in told
    assert "accuracy-coverage" in told
    assert "high_concurrency" in told
    assert "try:" in told
    assert main(["rules", "check", str(tmp_path / "out" / "Acme_Example"), "--json"]) == 1
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert {finding["rule"] for finding in findings if finding["severity"] == "error"} == {"accuracy-coverage"}


def test_plan(capsys: pytest.CaptureFixture[str]) -> None:
    line = ["rules", "plan", "--model", "llama3_1-8b", "--c-max", "256", "--rate", "1=1.9/s", "--rate", "256=97"]
    assert main([*line, "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["regions"]["margin"] == [257, 282]
    assert plan["points"][-1]["concurrency"] == 13368
    assert main(line) == 0
    assert "10487924139932647040" in capsys.readouterr().out.replace("\n", "")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["plan", "--model", "gpt-5", "--c-max", "256"], "no benchmark"),
        (["plan", "--model", "llama3_1-8b", "--c-max", "20"], "above 32"),
        (["plan", "--model", "llama3_1-8b", "--c-max", "256", "--rate", "fast"], "not CONCURRENCY=RATE"),
        (["plan", "--model", "llama3_1-8b", "--c-max", "256", "--points", "3"], "7 to 31"),
        (["build"], "No submission file"),
        (["build", "nowhere.yaml"], "is missing"),
    ],
)
def test_bad_input_is_a_sentence(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", *arguments]) == 2
    told = capsys.readouterr().err
    assert says in told
    assert "Traceback" not in told


def test_the_example_submission_is_readable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from relaymark.errors import ConfigError
    from relaymark.rules import read_submission

    assert main(["rules", "build", "--example"]) == 0
    (tmp_path / "submission.yaml").write_text(capsys.readouterr().out)
    with pytest.raises(ConfigError, match=r"system_desc\.json is missing"):
        read_submission(tmp_path / "submission.yaml")
