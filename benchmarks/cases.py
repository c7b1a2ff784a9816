"""The cases: each runs one load and says how Relaymark did beside the bare reader."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

from programs import CannotRunError, Marked, disturber, relaymark, timed
from session import Pairs, Row, Session, reasons

TTFT_MS = 50
MB = 1e6


def paced_20(session: Session) -> list[Row]:
    """1,000 streams, 50 ms to the first token and 20 ms between tokens: all of the load, and the right times."""
    pairs = session.paced(20)
    return [
        _carried("paced-20", pairs),
        _p50("paced-20", "TTFT p50", pairs, "ttft", TTFT_MS, 0.01),
        _p99("paced-20", "TTFT p99", pairs, "ttft", 2.0),
        _p50("paced-20", "chunk gap p50", pairs, "gap", 20, 0.01),
        _p99("paced-20", "chunk gap p99", pairs, "gap", 2.0),
    ]


def paced_10(session: Session) -> list[Row]:
    """The same at 10 ms: about all that one core of a C endpoint can offer."""
    pairs = session.paced(10)
    return [
        _carried("paced-10", pairs),
        _p50("paced-10", "TTFT p50", pairs, "ttft", TTFT_MS, None),
        _p99("paced-10", "TTFT p99", pairs, "ttft", 5.0),
        _p50("paced-10", "chunk gap p50", pairs, "gap", 10, None),
        _p99("paced-10", "chunk gap p99", pairs, "gap", None),
    ]


def disturbed(session: Session) -> list[Row]:
    """paced-20 while another process burns the client's core half of the time, beside the undisturbed reader."""
    calm, sizes = session.paced(20), session.sizes
    pairs = Pairs(calm.readers, [])
    with session.endpoint(TTFT_MS, 20) as port, disturber(session.cores[1]):
        for turn in range(1, session.repeat + 1):
            marked = session.mark("disturbed", turn, port, sizes.streams, sizes.streams * sizes.rounds, sizes.tokens)
            pairs.marks.append(marked)
            bar = marked.summary["error_bar"]
            shown = ", ".join(f"{name} {(bar[f'read_{name}'] or 0) / 1e6:.2f} ms" for name in ("p50", "p99", "max"))
            session.say(f"  client-added ({bar['source']}): {shown}")
            session.say(f"  {'VALID' if marked.summary['verdict']['valid'] else 'INVALID'}")
            for reason in reasons(marked):
                session.say(f"    {reason}")

    def added(of: Pairs) -> float:
        return of.relaymark(lambda marked: (marked.summary["error_bar"]["read_p99"] or 0.0) / 1e6)

    named = sum(_blames_the_client(marked) for marked in pairs.marks)
    return [
        _p50("disturbed", "TTFT p50", pairs, "ttft", TTFT_MS, 0.02),
        _p50("disturbed", "chunk gap p50", pairs, "gap", 20, 0.02),
        Row(
            "disturbed",
            "client-added p99 (left: Relaymark undisturbed)",
            "ms",
            added(pairs),
            added(calm),
            "more than undisturbed",
            added(pairs) > added(calm),
        ),
        Row(
            "disturbed",
            "runs whose verdict blames the client",
            "",
            named,
            None,
            f"all {session.repeat}",
            named == session.repeat,
        ),
    ]


def cpu(session: Session) -> list[Row]:
    """CPU seconds per million events of paced-20: of the worker, and of the whole command, start-up taken off."""
    pairs, sizes = session.paced(20), session.sizes
    millions = sizes.streams * sizes.rounds * sizes.tokens / 1e6
    with session.endpoint(TTFT_MS, 20) as port:
        starts = [session.mark("cpu start-up", turn + 1, port, 10, 10, sizes.tokens) for turn in range(session.repeat)]
    start_worker = median(start.worker_cpu for start in starts)
    start_all = median(start.used.cpu for start in starts)
    reader = pairs.reader(lambda run: run["cpu"]) / millions
    live = (pairs.relaymark(lambda marked: marked.worker_cpu) - start_worker) / millions
    whole = (pairs.relaymark(lambda marked: marked.used.cpu) - start_all) / millions
    return [
        Row("cpu", "live", "CPU-s/M events", live, reader, "≤ 2 × reader", live <= 2 * reader),
        Row(
            "cpu",
            "with decoding, merge and report",
            "CPU-s/M events",
            whole,
            reader,
            "≤ 3 × reader",
            whole <= 3 * reader,
        ),
    ]


def unpaced(session: Session) -> list[Row]:
    """256 streams as fast as they come."""
    sizes = session.sizes
    with session.endpoint() as port:
        pairs = session.pairs("unpaced", port, sizes.unpaced_streams, sizes.unpaced_requests, sizes.tokens)
    reader = pairs.reader(lambda run: run["events_s"])
    ours = pairs.relaymark(_token_rate)
    return [Row("unpaced", "events/s", "/s", ours, reader, "≥ 0.85 × reader", ours >= 0.85 * reader)]


def whole(session: Session) -> list[Row]:
    """Answers in one piece over 256 connections."""
    sizes = session.sizes
    with session.endpoint() as port:
        pairs = session.pairs(
            "whole",
            port,
            256,
            sizes.whole_reader,
            sizes.whole_tokens,
            stream=False,
            relaymark_requests=sizes.whole_relaymark,
        )
    reader = pairs.reader(lambda run: run["rps"])
    ours = pairs.relaymark(lambda marked: marked.stage["request_rate"])
    return [Row("whole", "requests/s", "/s", ours, reader, "≥ 0.1 × reader", ours >= 0.1 * reader)]


def start(session: Session) -> list[Row]:
    """``relaymark --help``, and a run of ten requests against the unpaced endpoint: wall time and memory."""
    session.say("start: relaymark --help")
    helps = [timed([*relaymark(), "--help"], session.cores[1]).wall for _ in range(session.sizes.helps)]
    session.raw["help"] = helps
    with session.endpoint() as port:
        tens = [session.mark("start", turn + 1, port, 1, 10, session.sizes.tokens) for turn in range(session.repeat)]
        # Apart from the timed runs: reading a process's page tables makes it wait.
        sampled = session.mark("start, memory", session.repeat, port, 1, 10, session.sizes.tokens, memory=True).used
    helped, ten, pss = median(helps), median(run.used.wall for run in tens), sampled.peak_pss / MB
    return [
        Row("start", "`relaymark --help`", "s", helped, None, "≤ 0.3 s", helped <= 0.3),
        Row("start", "10-request run", "s", ten, None, "≤ 1.5 s", ten <= 1.5),
        Row("start", "10-request run, peak PSS of all processes", "MB", pss, None, "≤ 150 MB", pss <= 150),
        Row("start", "10-request run, peak RSS of all processes", "MB", sampled.peak_rss / MB),
    ]


def memory(session: Session) -> list[Row]:
    """Peak memory of 1,000 streams at 10 ms a token, and of a run ten times as long."""
    sizes = session.sizes
    peaks: list[float] = []
    with session.endpoint(TTFT_MS, 10) as port:
        for rounds in sizes.memory_rounds:
            session.say(f"memory: {rounds} rounds")
            requests = sizes.streams * rounds
            used = session.mark("memory", session.repeat, port, sizes.streams, requests, sizes.tokens, memory=True).used
            peaks.append(used.peak_pss / MB)
    (few, many), (short, long) = sizes.memory_rounds, peaks
    return [
        Row("memory", f"{few} rounds, peak PSS of all processes", "MB", short, None, "≤ 300 MB", short <= 300),
        Row("memory", f"{many} rounds", "MB", long, None, "≤ 1.1 × the shorter run", long <= 1.1 * short),
    ]


CASES: dict[str, Callable[[Session], list[Row]]] = {
    "paced-20": paced_20,
    "paced-10": paced_10,
    "disturbed": disturbed,
    "cpu": cpu,
    "unpaced": unpaced,
    "whole": whole,
    "start": start,
    "memory": memory,
}


def _blames_the_client(marked: Marked) -> bool:
    verdict = marked.summary["verdict"]
    codes = {one["code"] for one in verdict["reasons"] + verdict["warnings"]}
    return bool(codes & {"client_added", "client_added_near", "cpu_saturated"})


def _carried(case: str, pairs: Pairs) -> Row:
    reader = pairs.reader(lambda run: run["events_s"])
    ours = pairs.relaymark(_token_rate)
    return Row(case, "events/s carried", "/s", ours, reader, "≥ 0.99 × reader", ours >= 0.99 * reader)


def _token_rate(marked: Marked) -> float:
    rate = marked.stage["output_token_rate"]
    if rate is None:
        raise CannotRunError("relaymark saw no token counts")
    return rate


def _p50(case: str, what: str, pairs: Pairs, metric: str, told_ms: float, share: float | None) -> Row:
    """A median beside the reader's: at most ``share`` above it, and not below what the endpoint was told to keep.

    Below the reader's is no fault: its stamps wait for its turn on the core, the kernel's don't.
    """
    reader, ours = _both(pairs, metric, 0.5)
    if share is None:
        return Row(case, what, "ms", ours, reader)
    met = (1 - share) * min(reader, told_ms) <= ours <= (1 + share) * reader
    return Row(case, what, "ms", ours, reader, f"within {share:.0%} of reader", met)


def _p99(case: str, what: str, pairs: Pairs, metric: str, over_ms: float | None) -> Row:
    reader, ours = _both(pairs, metric, 0.99)
    if over_ms is None:
        return Row(case, what, "ms", ours, reader)
    return Row(case, what, "ms", ours, reader, f"≤ reader + {over_ms:g} ms", ours <= reader + over_ms)


def _both(pairs: Pairs, metric: str, q: float) -> tuple[float, float]:
    name = {"ttft": "ttft", "gap": "chunk_gap"}[metric]
    reader = pairs.reader(lambda run: run[metric][f"p{q * 100:g}"])
    return reader, pairs.relaymark(lambda marked: marked.ms(name, q))
