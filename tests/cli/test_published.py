"""``relaymark published`` from the command line, on the round that we made up."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from calling import call_here

pytest.importorskip("duckdb", reason="DuckDB is not installed")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("published")
    done = call_here("published", "import", "--sample", cwd=place)
    assert done.returncode == 0, done.stderr
    assert "made-up-2  14 rows" in done.stdout
    assert "3 × accuracy-bare" in done.stdout
    return place


def published(folder: Path, *words: str, code: int = 0, columns: str = "100") -> str:
    done = call_here("published", *words, cwd=folder, COLUMNS=columns)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    return done.stdout if code in (0, 1) else done.stderr


def as_json(folder: Path, *words: str, code: int = 0) -> Any:
    return json.loads(published(folder, *words, "--json", code=code))


def test_import_again_replaces(folder: Path) -> None:
    assert "in place of 14 that were there" in published(folder, "import", "--sample")


def test_table(folder: Path) -> None:
    words = (
        "table",
        "--benchmark",
        "gpt-oss-120b",
        "--scenario",
        "offline",
        "--per",
        "accelerator",
        "--round",
        "made-up-2",
    )
    told = published(folder, *words, "--where", "availability=available", "--where", "division=closed")
    lines = [line.split() for line in told.splitlines()]
    assert told.startswith("gpt-oss-120b Offline, closed, tokens/s: 6 rows")
    assert next(line[:3] for line in lines if line and line[0].isdigit()) == ["1", "6,500.09", "52,000.7"]
    assert "not equal scale: 8 accelerators in 1 node; 64 accelerators in 8 nodes; 512" in " ".join(told.split())
    assert "preview" not in told
    (ranked,) = as_json(folder, *words, "--where", "division=open")
    assert ranked["rows"][0]["figure"] == 8750.0375
    assert "model-untold" in ranked["rows"][0]["flags"]


def test_names_give_way_before_figures(folder: Path) -> None:
    narrow = published(folder, "table", "--benchmark", "gpt-oss-120b", "--per", "accelerator", columns="60")
    for figure in ("2,450,000", "made-up-2:8", "4,785.16"):
        assert figure in narrow


def test_compare(folder: Path) -> None:
    told = published(folder, "compare", "made-up-1:2", "made-up-2:4")
    assert "1.30 ×" in told
    assert "framework: AcmeServe 1.0 / AcmeServe 2.0" in told
    refused = published(folder, "compare", "made-up-2:4", "made-up-2:14", code=1)
    assert "no ratio" in refused
    assert "the division differs: closed / open" in refused
    anyway = published(folder, "compare", "made-up-2:4", "made-up-2:14", "--anyway")
    assert "1.35 ×" in anyway
    assert "the division differs" in anyway
    systems = as_json(folder, "compare", "made-up-1:Acme/Acme_Q1x8", "Acme/Acme_Q1x8")
    assert [(each["a"]["scenario"], each["b"]["round"]) for each in systems] == [
        ("Offline", "made-up-2"),
        ("Server", "made-up-2"),
    ]


def test_scaling(folder: Path) -> None:
    told = published(folder, "scaling", "--family", "Acme Q1 96GB", "--scenario", "offline")
    assert "95.0 %" in told
    (acme, borealis) = as_json(folder, "scaling", "--scenario", "offline")
    assert (acme["submitter"], borealis["submitter"]) == ("Acme", "Borealis")
    assert borealis["points"][1]["efficiency"] == pytest.approx(4785.156 / 6125.075, abs=1e-4)
    assert [each["what"] for each in borealis["points"][1]["unlike"]] == ["precision", "accuracy"]


def test_rounds(folder: Path) -> None:
    assert "1.33 ×" in published(folder, "rounds", "--system", "acme q1x8", "--scenario", "server")
    best = as_json(folder, "rounds", "--benchmark", "gpt-oss-120b")
    assert [each["b"]["availability"] for each in best] == ["preview", "preview"]
    assert "availability: available / preview" in published(folder, "rounds", "--benchmark", "gpt-oss-120b")
    assert "Nothing of this" in published(folder, "rounds", "--system", "zeta")


def test_partners_and_anomalies(folder: Path) -> None:
    told = published(folder, "partners", "--accelerator", "acme q1 96gb", "--count", "8")
    assert "3 rows of 3 submitters: best 52,000.7, median 49,000.6, last 46,500.2" in told
    assert "No two submitters" in published(folder, "partners", "--accelerator", "B300", "--count", "8")
    assert "105.5 % of Offline" in published(folder, "anomalies", "--kind", "server-above-offline")
    assert {each["kind"] for each in as_json(folder, "anomalies")} == {
        "repeated-accuracy",
        "accuracy-scales",
        "server-above-offline",
    }
    assert "Nothing odd" in published(folder, "anomalies", "--round", "made-up-1")


def test_page(folder: Path) -> None:
    assert published(folder, "page", "--out", "page.html", "--round", "made-up-2").strip() == "page.html"
    assert "made-up-2" in (folder / "page.html").read_text()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("import",), "Name one file"),
        (("import", "x.tsv", "--sample"), "Name one file"),
        (("import", "x.tsv"), "no such file"),
        (("table", "--store", "other.duckdb"), "relaymark published import"),
        (("table", "--benchmark", "llama"), "no benchmark 'llama'"),
        (("table", "--scenario", "sideways"), "no scenario"),
        (("table", "--where", "colour=red"), "no field"),
        (("compare", "made-up-2:4", "made-up-2:999"), "no row or system"),
        (("partners", "--accelerator", "x", "--count", "0"), "no whole number above 0"),
        (("anomalies", "--kind", "strange"), "no kind"),
        (("page", "--round", "v7"), "No row"),
        (("place", "nowhere"), "nowhere"),
    ],
)
def test_bad_usage_is_a_sentence(folder: Path, words: tuple[str, ...], says: str) -> None:
    assert says in published(folder, *words, code=2)


def test_without_duckdb_it_says_what_to_install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert "relaymark[store]" in published(folder, "table", code=2)


def test_the_command_line_does_not_load_it(folder: Path) -> None:
    import sys

    script = "import sys, relaymark.cli.front as f; f.parser(); print({'duckdb', 'pyarrow', 'numpy'} & {*sys.modules})"

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=folder)
    assert done.stdout.strip() == "set()"


def test_hostile_text_drives_no_terminal(tmp_path: Path) -> None:
    evil = "\x1b[31mEvil\x1b[0m\u202e [bold]"
    one = dict.fromkeys(("organization", "platform", "accuracy", "accelerator", "framework", "weight_data_types"), evil)
    one |= {"division": "closed", "benchmark": "gpt-oss-120b", "scenario": "Offline", "units": "Tokens/s"}
    one |= {"total_accelerators": "8", "nodes": "1", "round": "v1.0", "result": "1000.5"}
    rows = [list(one), list(one.values()), list((one | {"result": "2000.5"}).values())]
    (tmp_path / "evil.tsv").write_text("\n".join(map("\t".join, rows)))
    published(tmp_path, "import", "evil.tsv")
    for words in (
        ("table",),
        ("compare", "v1.0:2", "v1.0:3"),
        ("scaling",),
        ("anomalies",),
        ("partners", "--accelerator", "x", "--count", "8"),
    ):
        told = published(tmp_path, *words)
        assert "\x1b" not in told
        assert "\u202e" not in told
    assert "[bold]" in published(tmp_path, "table")
