"""Measures what Relaymark costs and how true its times are, beside a bare reader in C. See README.md here.

python benchmarks/run.py [--case NAME …] [--repeat N] [--quick] [--peer 'name=command {url} {streams} {requests}']
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from dataclasses import asdict
from pathlib import Path

import machine
from cases import CASES
from peers import Peer, PeerRow, run_peer
from programs import CannotRunError, compile_native
from session import QUICK, Row, Session, Sizes
from table import peer_table, table

HERE = Path(__file__).parent


def main() -> int:
    """Runs the cases; 0 unless one of them could not run, whatever the figures are."""
    options = _options()
    try:
        session = _session(options)
    except CannotRunError as error:
        print(f"The benchmarks cannot run: {error}", file=sys.stderr)
        return 1
    about = machine.facts(session.cores)
    busy = machine.busy(session.cores)
    about["busy before the start"] = f"{busy:.0%}"
    if busy > 0.05:
        session.say(f"Others use {busy:.0%} of one of the two cores: the figures will say more of them than of us.")
    if options.quick:
        session.say("Quick: this shows that everything works. The figures mean nothing.")

    begin = time.monotonic()
    rows: list[Row] = []
    peer_rows: list[PeerRow] = []
    failures: dict[str, str] = {}
    names = options.case or list(CASES)
    for name in names:
        try:
            rows += CASES[name](session)
        except CannotRunError as error:
            failures[name] = str(error)
            session.say(f"{name} could not run: {error}")
    for peer in options.peer:
        try:
            peer_rows += run_peer(session, peer, names)
        except CannotRunError as error:
            failures[peer.name] = str(error)
            session.say(f"{peer.name} could not run: {error}")

    print(table(rows))
    if peer_rows:
        print()
        print(peer_table(peer_rows, rows))
    path = options.out / f"{time.strftime('%Y%m%d-%H%M%S')}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    found = {
        "machine": about,
        "quick": options.quick,
        "repeat": session.repeat,
        "sizes": asdict(session.sizes),
        "seconds": round(time.monotonic() - begin, 1),
        "rows": [{**asdict(row), "ratio": row.ratio} for row in rows],
        "peers": [asdict(row) for row in peer_rows],
        "failures": failures,
        "raw": session.raw,
    }
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    session.say(f"\n{len(rows)} figures in {time.monotonic() - begin:.0f} s, every single one in {path}")
    return 1 if failures else 0


def _session(options: argparse.Namespace) -> Session:
    if not sys.platform.startswith("linux"):
        raise CannotRunError("they need Linux (epoll, /proc, core pinning)")
    if shutil.which("taskset") is None:
        raise CannotRunError("taskset is missing: install util-linux")
    allowed = sorted(os.sched_getaffinity(0))
    cores = options.cores or tuple(allowed[:2])
    if len(cores) != 2 or cores[0] == cores[1] or not set(cores) <= set(allowed):
        raise CannotRunError(f"they need two cores of those this process may use ({allowed})")
    native = compile_native(options.native, HERE / ".build")
    # This script itself stays off the client's core.
    os.sched_setaffinity(0, set(allowed) - {cores[1]})
    repeat = options.repeat or (1 if options.quick else 3)
    return Session(native, cores, repeat, QUICK if options.quick else Sizes())


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks/run.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--case", nargs="+", choices=CASES, metavar="NAME", help=f"only these: {', '.join(CASES)}")
    parser.add_argument(
        "--repeat", type=int, metavar="N", help="runs of each client per case; medians are shown (default 3)"
    )
    parser.add_argument("--quick", action="store_true", help="small loads, once: shows that it works, measures nothing")
    parser.add_argument(
        "--cores", type=_cores, metavar="E,C", help="core of the endpoint and of the client (default: first two)"
    )
    parser.add_argument(
        "--native", type=Path, default=HERE / "native", metavar="DIR", help="folder of endpoint.c, reader.c"
    )
    parser.add_argument("--out", type=Path, default=HERE / "results", metavar="DIR", help="folder of the results file")
    parser.add_argument(
        "--peer",
        type=Peer.parse,
        action="append",
        default=[],
        metavar="NAME=COMMAND",
        help="another client, as a command with {url} {streams} {requests} (and {port} {model} {tokens}) left open",
    )
    return parser.parse_args()


def _cores(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in text.split(","))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
