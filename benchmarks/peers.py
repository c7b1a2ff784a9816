"""Other clients under the same loads, by command lines the caller gives. Nothing is installed here."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from statistics import median

from programs import MODEL, CannotRunError, Used, timed
from session import Session

_LOADS = {"paced-20": (50, 20), "paced-10": (50, 10), "unpaced": (0, 0)}


@dataclass(frozen=True)
class PeerRow:
    """One peer under one load: whole command, and rates and CPU with a 10-request run's time taken off."""

    peer: str
    case: str
    start: float
    wall: float
    requests_s: float | None
    events_s: float | None
    cpu_per_million: float


@dataclass(frozen=True)
class Peer:
    """A client by name, and its command with {url} {port} {model} {streams} {requests} {tokens} left open."""

    name: str
    template: str

    @classmethod
    def parse(cls, text: str) -> Peer:
        """From ``name=command``; raises ValueError for anything else."""
        name, equals, template = text.partition("=")
        if not (name and equals and template.strip()):
            raise ValueError("a peer is given as name=command")
        return cls(name, template)

    def command(self, port: int, streams: int, requests: int, tokens: int) -> list[str]:
        """The command's words; no shell reads them."""
        settings = {"port": port, "url": f"http://127.0.0.1:{port}", "model": MODEL}
        settings |= {"streams": streams, "requests": requests, "tokens": tokens}
        try:
            return [word.format(**settings) for word in shlex.split(self.template)]
        except (KeyError, IndexError, ValueError) as error:
            raise CannotRunError(f"the command of {self.name} cannot be filled in: {error}") from None


def run_peer(session: Session, peer: Peer, cases: list[str]) -> list[PeerRow]:
    """Runs a peer under those of the cases that are a streaming load.

    Raises:
        CannotRunError: Its command is missing or fails.
    """
    return [_one(session, peer, case) for case in cases if case in _LOADS]


def _one(session: Session, peer: Peer, case: str) -> PeerRow:
    sizes, (ttft_ms, itl_ms) = session.sizes, _LOADS[case]
    streams = sizes.streams if itl_ms else sizes.unpaced_streams
    requests = sizes.streams * sizes.rounds if itl_ms else sizes.unpaced_requests
    starts: list[Used] = []
    runs: list[Used] = []
    with session.endpoint(ttft_ms, itl_ms) as port:
        for turn in range(1, session.repeat + 1):
            session.say(f"{case}: {peer.name}, {turn} of {session.repeat}")
            starts.append(_timed(session, peer, port, 10, 10))
            runs.append(_timed(session, peer, port, streams, requests))
    # Both carry one round of waiting for the endpoint; what is left over is start-up.
    round_seconds = (ttft_ms + itl_ms * (sizes.tokens - 1)) / 1e3
    start = max(0.0, median(run.wall for run in starts) - round_seconds)
    wall = median(run.wall for run in runs)
    cpu = median(run.cpu for run in runs) - median(run.cpu for run in starts)
    rate = requests / (wall - start) if wall > start else None
    session.raw.setdefault("peers", {}).setdefault(peer.name, {})[case] = {
        "start": [(run.wall, run.cpu) for run in starts],
        "run": [(run.wall, run.cpu) for run in runs],
    }
    return PeerRow(
        peer=peer.name,
        case=case,
        start=start,
        wall=wall,
        requests_s=rate,
        events_s=None if rate is None else rate * sizes.tokens,
        cpu_per_million=cpu / (requests * sizes.tokens / 1e6),
    )


def _timed(session: Session, peer: Peer, port: int, streams: int, requests: int) -> Used:
    used = timed(peer.command(port, streams, requests, session.sizes.tokens), session.cores[1])
    if used.status:
        raise CannotRunError(f"{peer.name} ended with {used.status}: {(used.err or used.out).strip()[-1000:]}")
    return used
