"""A sweep from start to finish as a person sees it: which level is next, its run, the record, the curve."""

from __future__ import annotations

import argparse
import copy
import math
import signal
import sys
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from relaymark import __version__
from relaymark.bench import Benchmark
from relaymark.cli.run import resolve_benchmark
from relaymark.cli.session import drive, write_files
from relaymark.cli.sweep import KEPT
from relaymark.errors import ConfigError, ExitCode, RelaymarkError
from relaymark.measure.curve import (
    CURVE_FILE,
    LevelRun,
    Sweep,
    curve_points,
    level_run,
    margin_of,
    read_sweep,
    search_result,
    too_wide,
    why_stop,
    write_sweep,
)
from relaymark.measure.curve_search import SloSearch
from relaymark.measure.summary import Summary
from relaymark.relay import finish, prepare
from relaymark.trace import create_run_folder
from relaymark.units import parse_duration, parse_rate

_HIGHEST = 1024.0
_AUTO = "auto"
_SECONDS = "30s"
_WINDOW = "10s"

Ask = Callable[[float], LevelRun]


class _StoppedError(Exception):
    """The sweep was interrupted; what it has is kept."""


def run_sweep(options: argparse.Namespace) -> int:
    """Runs or takes up a sweep; prints the curve and returns the exit code.

    Raises:
        RelaymarkError: As a single run, for the first level; a level that fails later ends the sweep with a note.
    """
    folder, sweep, options = _open(options)
    told = _Teller(folder, sweep, options)
    try:
        if sweep.slos and not sweep.levels:
            _search(sweep, options, told.ask)
        else:
            _curve(sweep, options, told.ask)
        sweep.status = "complete"
    except (_StoppedError, KeyboardInterrupt):  # in the middle of a run, or between two
        sweep.status = "interrupted"
    except RelaymarkError as error:
        if not sweep.runs:
            raise
        sweep.status = "interrupted"
        sweep.notes.append(f"The next run could not be made: {error.what}")
    write_sweep(folder, sweep)
    return _show(folder, sweep, as_json=options.json)


def _open(options: argparse.Namespace) -> tuple[Path, Sweep, argparse.Namespace]:
    if options.resume is not None:
        sweep = read_sweep(options.resume)
        kept = argparse.Namespace(**{**vars(options), **sweep.options, "resume": options.resume})
        sweep.status, sweep.found, sweep.notes = "running", None, []
        return options.resume, sweep, kept
    kind = "rate" if options.rate else "concurrency"
    bench, _ = resolve_benchmark(_at(options, kind, 1.0))
    sweep = Sweep(
        name=options.name or "sweep",
        started_at=datetime.now().astimezone().isoformat(timespec="seconds"),
        version=__version__,
        kind=kind,
        url=bench.endpoint.url,
        model=bench.endpoint.model or "",
        slos=[f"{spec.name}={spec.bound}ns" for spec in bench.slo_specs()],
        levels=_levels(options.rate or options.concurrency, kind),
        options={key: _kept(getattr(options, key)) for key in KEPT},
    )
    folder = create_run_folder(options.out, sweep.name)
    write_sweep(folder, sweep)
    return folder, sweep, options


class _Teller:
    """Answers with a level's run: from the record where the sweep was taken up, else by running it."""

    def __init__(self, folder: Path, sweep: Sweep, options: argparse.Namespace) -> None:
        self._folder, self._sweep, self._options = folder, sweep, options
        self._past: Iterator[LevelRun] = iter(list(sweep.runs))

    def ask(self, level: float) -> LevelRun:
        past = next(self._past, None)
        if past is not None and past.level == level:
            return past
        number = len(self._sweep.runs) + 1
        sys.stderr.write(f"Run {number}: {_load_text(self._sweep.kind, level)}\n")
        run = self._run(level)
        self._sweep.runs.append(run)
        write_sweep(self._folder, self._sweep)
        sys.stderr.write(f"  {_line(run)}\n")
        return run

    def _run(self, level: float) -> LevelRun:
        began = time.monotonic()
        bench, base = resolve_benchmark(_at(self._options, self._sweep.kind, level))
        bench = bench.model_copy(update={"name": f"{self._sweep.kind}-{level:g}".replace("/", "-")})
        run = prepare(bench, self._folder, base)
        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            drive(run, bench.task_word)
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
        finish(run)
        from relaymark.measure.run import summarise_run  # noqa: PLC0415 - pyarrow would sit in memory through the run

        summary = summarise_run(run)
        write_files(run, summary)
        if summary.status == "interrupted":
            raise _StoppedError
        window = parse_duration(self._options.min_window or _WINDOW, where="--min-window") / 1e9
        result = level_run(run, summary, level, super_pass=self._options.super_pass, least_seconds=window)
        self._sweep.model = self._sweep.model or summary.model
        spent = time.monotonic() - began
        return _with_overhead(result, spent - _measured(bench, summary, run))


def _curve(sweep: Sweep, options: argparse.Namespace, ask: Ask) -> None:
    """Every level that was asked for, or that may still matter, in rising order."""
    runs: list[LevelRun] = []
    for level in _asked(sweep, options):
        here = [ask(level)]
        while len(here) < options.repeats and too_wide(here, options.precision):
            here.append(ask(level))
        runs += here
        why = None if options.all else why_stop(curve_points(runs))
        if why is not None:
            sweep.notes.append(why)
            return


def _asked(sweep: Sweep, options: argparse.Namespace) -> Iterator[float]:
    if sweep.levels:
        yield from sorted(set(sweep.levels))
        return
    highest = _level(options.highest, sweep.kind, _HIGHEST)
    level = _level(options.start, sweep.kind, 1.0)
    while level < highest:
        yield level
        level *= 2
    yield highest


def _search(sweep: Sweep, options: argparse.Namespace, ask: Ask) -> None:
    """The highest load at which every bound holds."""
    whole = sweep.kind == "concurrency"
    search = SloSearch(
        start=_level(options.start, sweep.kind, 4.0 if whole else 1.0),
        lowest=1.0 if whole else 0.01,
        highest=_level(options.highest, sweep.kind, _HIGHEST),
        whole=whole,
        tolerance=options.tolerance,
        most_runs=options.most_runs,
    )
    while (level := search.next()) is not None:
        run = ask(level)
        if not run.valid:
            run = ask(level)  # once more: a busy moment of this machine is no property of the endpoint
        if not run.valid:
            sweep.notes.append(f"At {level:g} the measurement is INVALID twice: {' '.join(run.reasons)}")
            break
        margin, sigma = margin_of(run)
        search.add(level, margin, sigma)
    sweep.found = search_result(search.found())


def _at(options: argparse.Namespace, kind: str, level: float) -> argparse.Namespace:
    """The options of a single run at a level."""
    run = copy.copy(options)
    run.file = None
    run.load = f"concurrency:{level:.0f}" if kind == "concurrency" else f"poisson:{level:.10g}/s"
    if options.duration is None and options.requests is None:
        run.duration = _SECONDS
    # A slot each is one wave: connections are open and the server's batch is as full as it will be.
    slots = math.ceil(level) if kind == "concurrency" else min(math.ceil(level), 32)
    wanted = slots if options.warmup is None else _whole(options.warmup, "--warmup")
    run.set = [f"warmup.requests={wanted}", f"warmup.concurrency={max(1, min(slots, wanted))}", *options.set]
    run.target = options.target
    return run


def _levels(text: str, kind: str) -> list[float]:
    """``auto`` is an empty list."""
    if text.strip() == _AUTO:
        return []
    unit = text.rpartition("/")[2] if "/" in text else ""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    levels = [_level(part if "/" in part or not unit else f"{part}/{unit}", kind, 1.0) for part in parts]
    if not levels or len(levels) > 100:
        raise ConfigError("Between 1 and 100 levels are wanted.", where=f"--{kind} {text}")
    return levels


def _level(text: str | None, kind: str, usual: float) -> float:
    if text is None:
        return usual
    if kind == "rate":
        return parse_rate(text, where=f"--rate {text}")
    return float(_whole(text, f"--{kind} {text}", least=1))


def _whole(text: str, where: str, least: int = 0) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 8) or int(text) < least:
        raise ConfigError(f"{text!r} is not a whole number from {least} up.", where=where)
    return int(text)


def _kept(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value


def _measured(bench: Benchmark, summary: Summary, folder: Path) -> float:
    """Seconds that a run was really at work: its stage, and the warm-up before it."""
    from relaymark.trace import read_run_record  # noqa: PLC0415 - only here

    record = read_run_record(folder)
    starts = [stage.started_ns for stage in record.stages if stage.started_ns is not None]
    warm = (max(starts) - min(starts)) / 1e9 if len(starts) > 1 else 0.0
    return summary.stages[0].duration / 1e9 + warm


def _with_overhead(run: LevelRun, seconds: float) -> LevelRun:
    from msgspec.structs import replace  # noqa: PLC0415 - only here

    return replace(run, overhead=round(seconds, 3))


def _load_text(kind: str, level: float) -> str:
    return f"concurrency {level:g}" if kind == "concurrency" else f"{level:.4g} requests/s"


def _line(run: LevelRun) -> str:
    tps = "–" if run.system_tps is None else f"{run.system_tps.value:,.1f} tok/s"
    user = "–" if run.tps_per_user is None else f"{run.tps_per_user.value:,.1f} tok/s a user"
    ttft = "–" if run.ttft_p90 is None else f"TTFT p90 {run.ttft_p90 / 1e6:,.1f} ms"
    bounds = ", ".join(f"{bound.text} {'held' if bound.met else 'missed'}" for bound in run.bounds)
    parts = [tps, user, ttft, *([bounds] if bounds else []), *([] if run.valid else ["INVALID"])]
    return " · ".join(parts)


def _show(folder: Path, sweep: Sweep, *, as_json: bool) -> int:
    from relaymark.report.curve import print_curve, sweep_json, write_curve  # noqa: PLC0415 - lazy: start-up

    points = curve_points(sweep.runs)
    if not points:
        return int(ExitCode.INTERRUPTED)
    write_curve(sweep, folder / CURVE_FILE)
    if as_json:
        sys.stdout.buffer.write(sweep_json(sweep))
    else:
        print_curve(sweep, folder)
    if sweep.status == "interrupted":
        return int(ExitCode.INTERRUPTED)
    if not any(point.valid for point in points):
        return int(ExitCode.INVALID_MEASUREMENT)
    if sweep.found is not None and sweep.found.level is None:
        return int(ExitCode.GATE_FAILED)
    return int(ExitCode.GOOD)
