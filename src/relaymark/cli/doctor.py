"""``relaymark doctor``: how many streams and events/s this machine can measure, and with which error bar."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from relaymark.errors import ExitCode

if TYPE_CHECKING:
    from relaymark.relay.instrument import Trial

Row = tuple[Literal["good", "note", "bad"], str, str]


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:  # pyright: ignore[reportPrivateUsage]
    """Adds the command to the parser."""
    parser = commands.add_parser(
        "doctor",
        help="how many streams this machine can measure, and with which error bar",
        description="Runs real benchmarks against the built-in paced endpoint (in its own process, on this machine), "
        "at growing numbers of streams of 50 tokens/s each, until the client or the endpoint can no more.",
    )
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="worker processes (default 1)")
    parser.add_argument("--max-streams", type=int, default=4000, metavar="N", help="go no further (default 4000)")
    parser.set_defaults(call=call)


@dataclass(frozen=True, slots=True)
class Level:
    """What one level came to. Latencies in ms."""

    streams: int
    offered: float  # events/s
    carried: float  # share of the offered events that came in on time
    added_p50: float | None
    added_p99: float | None
    cpu: float  # of one core
    endpoint_late: float  # p99
    itl_p99: float | None

    @property
    def endpoint_bound(self) -> bool:
        """The paced endpoint itself was late: the level says nothing of the client."""
        return self.endpoint_late > 5.0

    @property
    def good(self) -> bool:
        """The client carried the load within the error bar of design §5."""
        return self.carried >= 0.98 and self.cpu < 0.95 and (self.added_p99 or 0.0) <= 1.0


def call(options: argparse.Namespace) -> int:
    """Runs the levels and prints what they came to; 1 when not even the lowest is measured well."""
    from relaymark.relay.instrument import LEVELS, trials  # noqa: PLC0415 - lazy: start-up

    levels: list[Level] = []
    with trials(options.workers) as run:
        for streams in LEVELS:
            if streams > options.max_streams:
                break
            _tell(f"measuring {streams:,} streams of 50 tokens/s…")
            level = _level(run(streams))
            levels.append(level)
            _tell(f"  {level.carried:.1%} carried, client added p99 {_ms(level.added_p99)}, worker CPU {level.cpu:.0%}")
            if level.endpoint_bound or level.cpu > 0.95 or level.carried < 0.9:
                break
    _show(levels, options.workers)
    return int(ExitCode.GOOD if any(level.good for level in levels) else ExitCode.GATE_FAILED)


def _level(trial: Trial) -> Level:
    from relaymark.measure.run import summarise_run  # noqa: PLC0415 - lazy: start-up

    summary = summarise_run(trial.folder)
    stage, bar = summary.stages[0], summary.error_bar
    # The stage is as long as the slowest stream, so this is the share of an ideal run's rate.
    rate = sum(len(record.tokens) for record in trial.truth) / (stage.duration / 1e9)
    itl = stage.distributions.get("itl")
    itl_p99 = next((q.value for q in itl.quantiles if q.q == 0.99), None) if itl else None
    return Level(
        streams=trial.streams,
        offered=trial.offered,
        carried=min(1.0, rate / trial.offered),
        added_p50=None if bar.read_p50 is None else bar.read_p50 / 1e6,
        added_p99=None if bar.read_p99 is None else bar.read_p99 / 1e6,
        cpu=bar.worker_cpu or 0.0,
        endpoint_late=trial.endpoint_late_p99 / 1e6,
        itl_p99=None if itl_p99 is None else itl_p99 / 1e6,
    )


def _show(levels: list[Level], workers: int) -> None:
    from relaymark.report.findings import print_findings  # noqa: PLC0415 - lazy: start-up

    rows: list[Row] = []
    for level in levels:
        text = (
            f"{level.offered:,.0f} events/s offered, {level.carried:.1%} carried; client added p50 "
            f"{_ms(level.added_p50)} p99 {_ms(level.added_p99)}; "
            f"worker CPU {level.cpu:.0%}; ITL p99 {_ms(level.itl_p99)} (20 ms is true)"
        )
        mark: Literal["good", "note", "bad"] = "good" if level.good else "note"
        if level.endpoint_bound:
            text += (
                f"; the endpoint itself was {_ms(level.endpoint_late)} late at p99, so this is not the client's limit"
            )
        rows.append((mark, f"{level.streams:,} streams", text))
    rows += [*_verdict(levels, workers), *_machine(workers)]
    print_findings(f"This machine as a measuring instrument ({workers} worker{'s' if workers > 1 else ''})", rows)


def _verdict(levels: list[Level], workers: int) -> list[Row]:
    good = [level for level in levels if level.good]
    if not good:
        return [
            ("bad", "capacity", "not even the lowest level was measured within 1 ms: something else uses this machine")
        ]
    best = good[-1]
    text = f"{best.streams:,} streams, {best.offered:,.0f} events/s, with an error bar of {_ms(best.added_p99)} at p99"
    if best is levels[-1]:
        text += "; no higher level was tried"
    rows: list[Row] = [("good", "capacity", text)]
    if best.cpu > 0:
        rows.append(
            ("good", "per worker", f"about {best.offered / best.cpu / workers * 0.8:,.0f} events/s at 80 % of a core")
        )
    return rows


def _machine(workers: int) -> list[Row]:
    from relaymark.relay import cpu_governor, descriptor_limit, environment, usable_cores  # noqa: PLC0415 - start-up

    rows: list[Row] = []
    cores = usable_cores()
    suggested = max(1, cores - 1)
    rows.append(
        (
            "good" if workers <= suggested else "note",
            "workers",
            f"{cores} usable core{'s' if cores > 1 else ''}: up to {suggested} worker{'s' if suggested > 1 else ''} "
            "(--set workers=auto), fewer where the server runs here too",
        )
    )
    limit = descriptor_limit()
    if limit is not None:
        rows.append(("good" if limit >= 4096 else "note", "open files", f"at most {limit:,}: each stream needs one"))
    governor = cpu_governor()
    if governor is None:
        rows.append(("good", "CPU governor", "the kernel shows none (usual on virtual machines)"))
    elif governor == "performance":
        rows.append(("good", "CPU governor", governor))
    else:
        rows.append(("note", "CPU governor", f"{governor}: it can double a TTFT; `performance` measures better"))
    facts = environment()
    for name in ("cpu", "system", "event loop"):
        if name in facts:
            rows.append(("good", name, facts[name]))
    return rows


def _ms(value: float | None) -> str:
    return "not measurable" if value is None else f"{value:.2f} ms"


def _tell(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
