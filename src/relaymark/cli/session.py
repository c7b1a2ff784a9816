"""A run from start to finish as a person sees it: progress, the table, the files, the exit code."""

from __future__ import annotations

import sys
from pathlib import Path

from relaymark.bench import Benchmark
from relaymark.errors import ExitCode
from relaymark.measure.summary import Summary
from relaymark.relay import Coordinator, Progress, prepare
from relaymark.trace.runfolder import CSV_FILE, REPORT_FILE, SUMMARY_FILE
from relaymark.trace.turns import TURNS_FILE


def run_and_report(bench: Benchmark, parent: Path, base_dir: Path, *, as_json: bool = False) -> int:
    """Runs a benchmark, writes its files, prints its table (or only JSON) and returns the exit code.

    Raises:
        RelaymarkError: As :func:`relaymark.relay.prepare`, or no worker could start.
    """
    folder = prepare(bench, parent, base_dir)
    drive(folder, bench.task_word)
    # Only now: pyarrow would sit in memory through the whole run.
    from relaymark.measure.run import summarise_run  # noqa: PLC0415
    from relaymark.relay import finish  # noqa: PLC0415
    from relaymark.report.export import summary_json  # noqa: PLC0415

    finish(folder)
    _score_turns(folder)
    summary = summarise_run(folder)
    written = write_files(folder, summary)
    if as_json:
        sys.stdout.buffer.write(summary_json(summary))
    else:
        print_table(summary, written)
    return exit_code(summary)


def drive(folder: Path, word: str = "requests") -> None:
    """Runs a prepared folder with a progress line on standard error; ``word``: what it counts."""
    from rich.console import Console  # noqa: PLC0415 - lazy: start-up

    from relaymark.report.progress import Progress as Line  # noqa: PLC0415 - lazy: start-up
    from relaymark.report.progress import ProgressSnapshot  # noqa: PLC0415 - lazy: start-up

    latest: list[Progress] = []

    def source() -> ProgressSnapshot | None:
        if not latest:
            return None
        now = latest[0]
        left = None if now.planned is None else max(0.0, now.planned - now.elapsed)
        draining = now.planned is not None and now.elapsed > now.planned
        return ProgressSnapshot(
            stage=now.stage.name,
            stage_number=max(1, now.stage.index + 1),
            stages=now.stages,
            elapsed=now.elapsed,
            left=left,
            done=now.ended,
            total=now.stage.planned,
            in_flight=now.in_flight,
            failures=now.failed,
            tokens_per_second=now.token_rate or now.reads_rate or None,
            ttft_p50=now.ttft_p50,
            unit=word,
            phase="warm-up" if now.stage.warmup else "draining" if draining else "",
        )

    def keep(progress: Progress) -> None:
        latest[:] = [progress]

    with Line(source, Console(stderr=True)):
        Coordinator(folder, keep).run()


def _score_turns(folder: Path) -> None:
    """Scores the turns of a replay at once: it asks nobody and takes no time."""
    turns = folder / TURNS_FILE
    if turns.is_file() and turns.stat().st_size:
        from relaymark.score.result import write_score  # noqa: PLC0415 - lazy: start-up
        from relaymark.score.turns import score_turns  # noqa: PLC0415 - lazy: start-up

        write_score(folder, score_turns(folder))


def write_files(folder: Path, summary: Summary) -> list[Path]:
    """Writes summary.json, summary.csv and report.html; returns their paths, the report first."""
    from relaymark.report.export import summary_csv, summary_json  # noqa: PLC0415 - lazy: start-up
    from relaymark.report.html import write_html  # noqa: PLC0415 - lazy: start-up
    from relaymark.score.result import read_scores  # noqa: PLC0415 - lazy: start-up

    (folder / SUMMARY_FILE).write_bytes(summary_json(summary))
    (folder / CSV_FILE).write_text(summary_csv(summary), encoding="utf-8")
    write_html(summary, folder / REPORT_FILE, read_scores(folder))
    return [folder / name for name in (REPORT_FILE, SUMMARY_FILE, CSV_FILE)]


def print_table(summary: Summary, written: list[Path]) -> None:
    """Prints the verdict and the table, then where the files are."""
    from rich.console import Console  # noqa: PLC0415 - lazy: start-up

    from relaymark.report.findings import print_findings  # noqa: PLC0415 - lazy: start-up
    from relaymark.report.score import score_rows, score_title  # noqa: PLC0415 - lazy: start-up
    from relaymark.report.terminal import print_summary  # noqa: PLC0415 - lazy: start-up
    from relaymark.score.result import read_scores  # noqa: PLC0415 - lazy: start-up

    console = Console()
    print_summary(summary, console)
    for score in read_scores(written[0].parent) if written else []:
        console.print()
        print_findings(score_title(score), score_rows(score), console)
    for path in written:
        console.print(f"  {path}", style="dim", highlight=False, markup=False, soft_wrap=True)


def exit_code(summary: Summary) -> int:
    """The exit code of a finished run (design §6): interrupted, else invalid, else a missed SLO, else good."""
    if summary.status == "interrupted":
        return int(ExitCode.INTERRUPTED)
    if not summary.verdict.valid:
        return int(ExitCode.INVALID_MEASUREMENT)
    if any(not slo.met for stage in summary.stages for slo in stage.slos):
        return int(ExitCode.GATE_FAILED)
    return int(ExitCode.GOOD)
