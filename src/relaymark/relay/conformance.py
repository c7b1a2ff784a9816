"""Conformance: a client against every server fault, what it should report beside what it did report."""

from __future__ import annotations

import asyncio
import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

from relaymark.dialects import dialect
from relaymark.emulate import Fault, FaultyConfig, PacedConfig, black_hole, closed_port, list_faults, start_faulty
from relaymark.errors import ConfigError
from relaymark.relay.decode import leg_from_capture
from relaymark.relay.plan import request_head
from relaymark.relay.reply import send_swept
from relaymark.trace import Capture, Outcome
from relaymark.wire import Client, Limits, Timeouts, new_loop, parse_url, resolve

TOKENS = 12
_PATIENCE_NS = 700_000_000
_EXTERNAL_SECONDS = 120.0
# Bounds that let the faults about size show themselves within a second.
_LIMITS = Limits(header=256 << 10, body=4 << 20)


@dataclass(frozen=True, slots=True)
class Case:
    """One fault met. ``observed`` is what the client reported; texts of external clients are untrusted."""

    name: str
    about: str
    expected: str
    observed: str
    passed: bool


def own_cases(only: frozenset[str] = frozenset()) -> list[Case]:
    """Runs our own wire and decoder against every fault (or ``only`` those named), all at once."""
    faults = [fault for fault in list_faults() if not only or fault.name in only]
    with (
        start_faulty(FaultyConfig(paced=PacedConfig(ttft=0.01, itl=0.005, tokens=TOKENS))) as server,
        black_hole() as hole,
        closed_port() as closed,
    ):

        async def go() -> list[Case]:
            met = [_meet(fault, server.fault_url(fault.name)) for fault in faults]
            cases = list(await asyncio.gather(*met))
            for name, port, outcome, about in (
                (
                    "black-hole",
                    hole,
                    Outcome.TIMEOUT_CONNECT,
                    "A firewall drops every packet: no connection comes about.",
                ),
                ("closed-port", closed, Outcome.REFUSED, "Nobody listens on the port."),
            ):
                if not only or name in only:
                    seen = await _send(f"http://127.0.0.1:{port}", "")
                    cases.append(Case(name, about, str(outcome), str(seen[0]), seen[0] is outcome))
            return cases

        with asyncio.Runner(loop_factory=new_loop) as runner:
            return runner.run(go())


async def _meet(fault: Fault, url: str) -> Case:
    expected = fault.expected(TOKENS)
    seen = await _send(url, fault.needs, times=2 if fault.name.startswith("keepalive") else 1)
    wanted = (expected.outcome, expected.events, expected.tokens)
    right = seen[0] is expected.outcome
    right &= expected.events is None or seen[1] == expected.events
    right &= seen[2] == expected.tokens
    return Case(fault.name, fault.about, _words(*wanted), _words(*seen), right)


async def _send(url: str, needs: str, times: int = 1) -> tuple[Outcome, int, int | None]:
    """Outcome, token-bearing events and completion tokens of the last of ``times`` requests."""
    target = resolve(parse_url(url))
    timeouts = Timeouts(
        connect=_PATIENCE_NS,
        first_byte=_PATIENCE_NS if needs == "first_byte" else None,
        idle=_PATIENCE_NS if needs == "idle" else None,
        total=_PATIENCE_NS if needs == "total" else None,
    )
    client = Client(target, timeouts=timeouts, limits=_LIMITS)
    api = dialect("openai-chat")
    path, body = api.encode(text="Say something.", max_tokens=None, model="paced", stream=True)
    head = request_head("POST", target.base_path + path, target.host_header, {"Accept-Encoding": "gzip, deflate"})
    leg = None
    try:
        for number in range(times):
            capture = Capture(leg_id=number, task_id=number, request=-1, streamed=True)
            leg, _ = leg_from_capture(await send_swept(client, capture, head, body), _LIMITS.body, None)
    finally:
        client.close()
    if leg is None:
        raise ValueError("a conformance case sends at least one request")
    return leg.outcome, len(leg.chunk_at), leg.completion_tokens


def _words(outcome: Outcome, events: int | None, tokens: int | None) -> str:
    parts = [str(outcome)]
    if events is not None:
        parts.append(f"{events} ev")
    if tokens is not None:
        parts.append(f"{tokens} tok")
    elif outcome.good:
        parts.append("no tok")
    return " · ".join(parts)


def external_cases(command: str, parse: str, only: frozenset[str] = frozenset()) -> Iterator[Case]:
    """Drives another client by a command template against every fault; yields each case as it ends.

    Args:
        command: Split as a shell splits words, no shell involved; ``{url}`` and ``{model}`` are filled in. It should
            send one streaming chat request and print what it made of it.
        parse: A regular expression over its output with the group ``ok`` and, if it can, ``tokens``: the request counts
            as reported good when ``ok`` matched something other than ``0`` or ``false``.
        only: Names of the faults to run; empty for all.

    Raises:
        ConfigError: The template or expression cannot be used.
    """
    try:
        pattern = re.compile(parse, re.DOTALL | re.IGNORECASE)
        words = shlex.split(command)
    except (re.error, ValueError) as error:
        raise ConfigError(f"cannot be read: {error}", where="--client or --parse") from None
    if "ok" not in pattern.groupindex or not any("{url}" in word for word in words):
        raise ConfigError(
            "--client needs {url} in it and --parse a group named ok",
            where="--client, --parse",
            mend="--client 'tool --url {url} --model {model}' --parse 'succeeded: (?P<ok>\\d+)'",
        )
    faults = [fault for fault in list_faults() if not only or fault.name in only]
    with start_faulty(FaultyConfig(paced=PacedConfig(ttft=0.01, itl=0.005, tokens=TOKENS))) as server:
        for fault in faults:
            filled = [w.replace("{url}", server.fault_url(fault.name)).replace("{model}", "paced") for w in words]
            yield _external(fault, filled, pattern)


def _external(fault: Fault, command: list[str], pattern: re.Pattern[str]) -> Case:
    expected = fault.expected(TOKENS)
    good = expected.outcome.good
    wanted = ("good" if good else "failed") + (f", {expected.tokens} tokens" if good and expected.tokens else "")
    try:
        done = subprocess.run(command, capture_output=True, timeout=_EXTERNAL_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return Case(fault.name, fault.about, wanted, "hung for two minutes", False)
    except OSError as error:
        raise ConfigError(f"The client cannot be started: {error.strerror}.", where=command[0]) from None
    found = pattern.search((done.stdout + done.stderr).decode(errors="replace"))
    if found is None:
        return Case(fault.name, fault.about, wanted, f"nothing readable (exit {done.returncode})", not good)
    said_good = (found["ok"] or "0").lower() not in ("0", "false", "")
    tokens = found["tokens"] if "tokens" in pattern.groupindex else None
    observed = ("good" if said_good else "failed") + (f", {tokens} tokens" if said_good and tokens else "")
    passed = said_good == good and (
        tokens is None or not good or expected.tokens is None or int(tokens) == expected.tokens
    )
    return Case(fault.name, fault.about, wanted, observed, passed)
