"""MLPerf Inference v6.1 folders from Relaymark's runs: edge agentic and end-to-end RAG.

``<division>/<submitter>/{results,systems,src}``; edge agentic as the checker reads runs of the reference client
(``config.yaml``, ``performance/result_summary.json``, ``accuracy/accuracy_results.json``), end-to-end RAG as LoadGen's
logs with the keys that the checker looks for. The logs say that Relaymark wrote them and no LoadGen did.
"""

from __future__ import annotations

import hashlib
import math
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from relaymark import __version__
from relaymark.errors import ConfigError
from relaymark.rules.bundle import dotted, read_json, read_yaml
from relaymark.rules.edge_accuracy import accuracy_results
from relaymark.rules.limits import InferenceBenchmark, inference
from relaymark.rules.runsource import read_run
from relaymark.rules.yamltext import yaml_text
from relaymark.score.result import SCORE_FILE, Score
from relaymark.score.test09 import LengthVerdict, answer_length, verification_text, verify_lengths

EDGE, QNA, DATABASE = "qwen3.6-27b", "e2e-rag-qna", "e2e-rag-db"
SCENARIO = {EDGE: "SingleStream", QNA: "Offline", DATABASE: "Offline"}
MEASUREMENTS = (
    "input_data_types",
    "retraining",
    "starting_weights_filename",
    "weight_data_types",
    "weight_transformations",
)
BUILD_FILE = "build.json"  # what `relaymark run rag-build` leaves
DETAIL, SUMMARY = "mlperf_log_detail.txt", "mlperf_log_summary.txt"
ACCURACY_LOG, ACCURACY_TEXT = "mlperf_log_accuracy.json", "accuracy.txt"
VERIFY = "verify_output_len.txt"
EXAMPLE = """\
round: v6.1
division: closed                 # or open
submitter: Acme
system: systems/acme-1.json      # MLPerf Inference system description; the file's name is the system's
benchmark: e2e-rag-qna           # or e2e-rag-db, or qwen3.6-27b (edge agentic)
src: src
readme: README.md
performance: runs/20261201-093000-rag
accuracy: runs/20261201-113000-rag   # a scored run (edge agentic: with bfcl); e2e-rag-db: percent
measurements:
  input_data_types: fp16
  retraining: "no"
  starting_weights_filename: https://huggingface.co/openai/gpt-oss-120b
  weight_data_types: mxfp4
  weight_transformations: none
"""


@dataclass(slots=True)
class InferenceSubmission:
    """A submission file of a round of MLPerf Inference, read; paths are whole."""

    round_name: str
    division: str
    submitter: str
    system: Path
    benchmark: str
    src: Path
    readme: Path
    performance: Path
    accuracy: str
    measurements: dict[str, Any]
    base: Path
    config: dict[str, Any] = field(default_factory=dict[str, Any])


def read_inference_submission(path: Path) -> InferenceSubmission:
    """Reads a submission file.

    Raises:
        ConfigError: It cannot be read, or a key is missing or wrong; names the line.
    """
    base = path.parent.absolute()
    document = read_yaml(path.absolute(), base)
    if document.mapping is None:
        raise ConfigError(f"{path.name} {document.problem or 'is not a mapping'}.", where=str(path))
    fields = document.fields()
    texts = {
        key: fields.text(key, required=True, least=1) or ""
        for key in ("submitter", "system", "src", "readme", "performance")
    }
    round_name = fields.word("round", ("v6.1",), required=True)
    division = fields.word("division", ("closed", "open"), required=True)
    benchmark = fields.word("benchmark", tuple(SCENARIO), required=True)
    measurements, config = fields.mapping("measurements", required=True), fields.mapping("config")
    accuracy = fields.data.get("accuracy")
    if accuracy is None or isinstance(accuracy, bool | dict | list):
        fields.says("accuracy", "must be a path, or a percentage")
    if fields.problems:
        first = fields.problems[0]
        mend = "`relaymark rules build --round v6.1 --example` prints a whole file."
        where = document.at(*first.keys)
        raise ConfigError(f"{dotted(first.keys)} {first.says}.", where=where, mend=mend)
    return InferenceSubmission(
        round_name=round_name or "",
        division=division or "",
        submitter=texts["submitter"],
        system=base / texts["system"],
        benchmark=benchmark or "",
        src=base / texts["src"],
        readme=base / texts["readme"],
        performance=base / texts["performance"],
        accuracy=str(accuracy),
        measurements=measurements.data if measurements is not None else {},
        base=base,
        config=config.data if config is not None else {},
    )


def build_inference(submission: InferenceSubmission, out: Path) -> Path:
    """Writes ``out/<division>/<submitter>/``; returns it. Other benchmarks and systems there are left as they are.

    Raises:
        ConfigError: A file is missing, or the benchmark's folder is there already.
        TraceError: A run cannot be read.
    """
    root = out / submission.division / submission.submitter
    system = submission.system.stem
    folder = root / "results" / system / submission.benchmark / SCENARIO[submission.benchmark]
    if folder.exists():
        raise ConfigError(
            "The benchmark is there already.", where=str(folder), mend="Remove it, or name another --out."
        )
    for path in (submission.system, submission.readme, submission.src):
        if not path.exists():
            raise ConfigError("There is no such file or folder.", where=str(path))
    fresh = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    if submission.benchmark == EDGE:
        _edge(submission, fresh)
    else:
        _rag(submission, fresh)
    _json(fresh / "measurements.json", submission.measurements)
    shutil.copyfile(submission.readme, fresh / "README.md")
    fresh.replace(folder)
    (root / "systems").mkdir(exist_ok=True)
    shutil.copyfile(submission.system, root / "systems" / submission.system.name)
    shutil.copytree(submission.src, root / "src", symlinks=True, dirs_exist_ok=True)
    return root


def _edge(submission: InferenceSubmission, folder: Path) -> None:
    source = read_run(submission.performance, agentic=True)
    accuracy = submission.base / submission.accuracy
    if accuracy.is_dir():
        results: Any = accuracy_results(accuracy)
    else:
        document = read_json(accuracy, accuracy.parent)
        results = document.data
        if results is None:
            raise ConfigError(f"{accuracy.name} {document.problem}.", where=str(accuracy))
    (folder / "config.yaml").write_text(yaml_text(_merged(source.config, submission.config)), encoding="utf-8")
    _json(folder / "performance" / "result_summary.json", source.summary)
    _json(folder / "accuracy" / "accuracy_results.json", results)


def _rag(submission: InferenceSubmission, folder: Path) -> None:
    limits = inference().benchmark(submission.benchmark, submission.round_name)
    if limits is None:
        raise ConfigError(f"{submission.round_name} has no {submission.benchmark}.", where="benchmark")
    if submission.benchmark == QNA:
        rate, p99, count, accuracy = _questions(submission)
    else:
        rate, p99, count, accuracy = _documents(submission)
    facts = _loadgen(submission, limits, count)
    performance = {"result_samples_per_second": rate, "result_99.00_percentile_latency_ns": p99}
    _logs(folder / "performance" / "run_1", {**facts, "effective_test_mode": "performance", **performance})
    scored = {**facts, "effective_test_mode": "accuracy", "effective_accuracy_sample_count": count}
    _logs(folder / "accuracy", scored)
    log = f'{{"written_by": "relaymark {__version__}", "samples": {count}}}\n'
    (folder / "accuracy" / ACCURACY_LOG).write_text(log, encoding="utf-8")
    digest = hashlib.sha256(log.encode()).hexdigest()
    text = f"Accuracy: {accuracy:.4f}\nhash={digest}\n"
    (folder / "accuracy" / ACCURACY_TEXT).write_text(text, encoding="utf-8")
    settings = f"*.Offline.min_duration = 0\n*.Offline.min_query_count = {limits.samples}\n"
    (folder / "user.conf").write_text(settings, encoding="utf-8")
    if submission.benchmark == QNA:
        _test09(submission, folder / "TEST09", facts)


def _questions(submission: InferenceSubmission) -> tuple[float, int, int, float]:
    """Tasks/s, p99 of a task in ns, tasks, and accuracy in percent of a run of questions."""
    from relaymark.measure.run import summarise_run  # noqa: PLC0415 - numpy only where it is needed

    tasks = summarise_run(submission.performance).stages[0].tasks
    if tasks is None or tasks.latency is None:
        raise ConfigError("The run has no tasks that ended well.", where=str(submission.performance))
    path = submission.base / submission.accuracy / SCORE_FILE
    try:
        score = msgspec.json.decode(path.read_bytes(), type=Score)
    except (OSError, msgspec.DecodeError) as error:
        mend = "Run `relaymark score` on it first."
        raise ConfigError(f"The accuracy run has no readable score: {error}.", where=str(path), mend=mend) from None
    if score.accuracy is None:
        raise ConfigError("The accuracy run's score has no accuracy.", where=str(path))
    return (
        tasks.rate,
        round(tasks.latency.quantiles.get("p99", tasks.latency.maximum)),
        tasks.tasks,
        100 * score.accuracy,
    )


def _documents(submission: InferenceSubmission) -> tuple[float, int, int, float]:
    """Documents/s, the build's time in ns, documents, and the acceptance in percent of an index build."""
    path = submission.performance / BUILD_FILE
    document = read_json(path, path.parent)
    data = document.mapping or {}
    rate, seconds, count = data.get("documents_per_second"), data.get("seconds"), data.get("documents")
    numbers = all(isinstance(each, int | float) and not isinstance(each, bool) for each in (rate, seconds, count))
    if not numbers or rate is None or seconds is None or count is None:
        raise ConfigError(
            "This is no index build's summary.", where=str(path), mend="relaymark run rag-build makes it."
        )
    if data.get("resumed"):
        raise ConfigError("The build was taken up after an interruption: its time is no measurement.", where=str(path))
    try:
        percent = float(submission.accuracy)
    except ValueError:
        raise ConfigError(
            "The acceptance of an index is a percentage.", where="accuracy", mend="accuracy: 98.6"
        ) from None
    if not math.isfinite(percent):
        raise ConfigError("The acceptance of an index is a percentage.", where="accuracy", mend="accuracy: 98.6")
    return float(rate), round(float(seconds) * 1e9), int(count), percent


def _loadgen(submission: InferenceSubmission, limits: InferenceBenchmark, count: int) -> dict[str, Any]:
    seeds = inference().rounds[submission.round_name].seeds
    return {
        "loadgen_version": f"none: written by relaymark {__version__}, which is not LoadGen",
        "sut_name": submission.system.stem,
        "effective_scenario": "Offline",
        "effective_min_duration_ms": 0,
        "effective_min_query_count": 1,
        "effective_samples_per_query": count,
        "effective_performance_sample_count": min(count, limits.performance_samples),
        "qsl_reported_total_count": count,
        **{f"effective_{name}": value for name, value in seeds.items()},
        "result_validity": "VALID",
        "num_errors": 0,
    }


def _logs(folder: Path, facts: dict[str, Any]) -> None:
    folder.mkdir(parents=True)
    lines = [{"key": key, "value": value, "namespace": "mlperf::logging"} for key, value in facts.items()]
    text = "".join(f":::MLLOG {msgspec.json.encode(line).decode()}\n" for line in lines)
    (folder / DETAIL).write_text(text, encoding="utf-8")
    summary = "".join(f"{key} : {value}\n" for key, value in facts.items())
    (folder / SUMMARY).write_text(f"Written by Relaymark {__version__}, not by LoadGen.\n{summary}", encoding="utf-8")


def _test09(submission: InferenceSubmission, folder: Path, facts: dict[str, Any]) -> None:
    verdict = _lengths(submission.performance)
    _logs(folder / "performance" / "run_1", {**facts, "effective_test_mode": "performance"})
    (folder / "accuracy").mkdir()
    (folder / "accuracy" / ACCURACY_LOG).write_text(f'{{"responses": {verdict.count}}}\n', encoding="utf-8")
    (folder / VERIFY).write_text(verification_text(verdict), encoding="utf-8")


def _lengths(run: Path) -> LengthVerdict:
    from relaymark.trace.answers import read_answers  # noqa: PLC0415 - only here

    answers, _ = read_answers(run / "answers.jsonl")
    measured = [answer for answer in answers if answer.stage >= 0]
    return verify_lengths(4 * answer_length(answer.answer, answer.answer_tokens) for answer in measured)


def _merged(under: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """``over`` laid on ``under``, mapping by mapping."""
    merged = dict(under)
    for key, value in over.items():
        below = merged.get(key)
        merged[key] = _merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged


def _json(path: Path, data: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(data), indent=2) + b"\n")
