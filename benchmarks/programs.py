"""The programs that are measured: compiled, started, pinned to a core, and what they used."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory import PeakMemory

MODEL = "fast-model"
_LONGEST_SECONDS = 1800.0


class CannotRunError(Exception):
    """A case could not be run; the text says why."""


@dataclass(frozen=True)
class Native:
    """The two C programs."""

    endpoint: Path
    reader: Path


def compile_native(source: Path, build: Path) -> Native:
    """Compiles ``endpoint.c`` and ``reader.c`` of ``source`` into ``build`` with -O2.

    Raises:
        CannotRunError: There is no C compiler, or it found fault with them.
    """
    compiler = next(filter(None, map(shutil.which, (os.environ.get("CC", "cc"), "gcc", "clang"))), None)
    if compiler is None:
        raise CannotRunError("there is no C compiler: install gcc, or name one in CC")
    build.mkdir(parents=True, exist_ok=True)
    for name in ("endpoint", "reader"):
        command = [compiler, "-std=gnu11", "-O2", "-o", str(build / name), str(source / f"{name}.c")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise CannotRunError(f"{name}.c does not compile:\n{done.stderr}")
    return Native(build / "endpoint", build / "reader")


@contextmanager
def endpoint(native: Native, core: int | None = None, *, ttft_us: int = 0, itl_us: int = 0) -> Generator[int]:
    """Runs the C endpoint on a core while the block lasts; gives its port.

    Raises:
        CannotRunError: It did not come up.
    """
    settings = {"PORT": "0", "TTFT_US": str(ttft_us), "ITL_US": str(itl_us)}
    process = subprocess.Popen(
        _pinned([str(native.endpoint)], core), env={**os.environ, **settings}, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        words = process.stdout.readline().split()
        if words[:2] != ["listening", "on"]:
            raise CannotRunError("the endpoint did not come up")
        yield int(words[2])
    finally:
        process.kill()
        process.communicate()


@contextmanager
def disturber(core: int) -> Generator[None]:
    """Burns a core half of the time while the block lasts: 5 ms busy, 5 ms asleep."""
    program = (
        "import time\n"
        "while True:\n"
        "    end = time.monotonic() + 0.005\n"
        "    while time.monotonic() < end: pass\n"
        "    time.sleep(0.005)\n"
    )
    process = subprocess.Popen(_pinned([sys.executable, "-c", program], core))
    try:
        yield
    finally:
        process.kill()
        process.wait()


@dataclass(frozen=True)
class Used:
    """What one command took: seconds of wall and CPU (its children's included), peak bytes where sampled."""

    wall: float
    cpu: float
    status: int
    out: str
    err: str
    peak_pss: int = 0
    peak_rss: int = 0


def timed(command: Sequence[str], core: int | None = None, *, memory: bool = False, cwd: Path | None = None) -> Used:
    """Runs a command on a core to its end, in a process group of its own that is killed after half an hour.

    Its output goes to files: nobody has to wake up and empty a pipe while it is measured.

    Raises:
        CannotRunError: There is no such command.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begin = time.perf_counter()
        try:
            process = subprocess.Popen(
                _pinned(command, core),
                stdout=out,
                stderr=err,
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            raise CannotRunError(f"{command[0]}: {error.strerror}") from None
        peak = PeakMemory(process.pid) if memory else None
        limit = threading.Timer(_LONGEST_SECONDS, os.killpg, (process.pid, signal.SIGKILL))
        limit.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
            wall = time.perf_counter() - begin
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        finally:
            limit.cancel()
            if peak is not None:
                peak.stop()
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        return Used(
            wall=wall,
            cpu=usage.ru_utime + usage.ru_stime,
            status=process.returncode,
            out=out.read().decode(errors="replace"),
            err=err.read().decode(errors="replace"),
            peak_pss=peak.pss if peak else 0,
            peak_rss=peak.rss if peak else 0,
        )


def read(
    native: Native, core: int | None, port: int, *, streams: int, requests: int, tokens: int, stream: bool = True
) -> dict[str, Any]:
    """Runs the C reader; gives the object it prints.

    Raises:
        CannotRunError: It failed.
    """
    numbers = [port, streams, requests, int(stream), tokens]
    used = timed([str(native.reader), *map(str, numbers)], core)
    if used.status:
        raise CannotRunError(f"the reader failed: {used.err.strip()}")
    return json.loads(used.out)


@dataclass(frozen=True)
class Marked:
    """One ``relaymark run``: its summary, what it used, CPU seconds of its workers by their last heartbeats."""

    summary: dict[str, Any]
    used: Used
    worker_cpu: float

    @property
    def stage(self) -> dict[str, Any]:
        """Its only stage."""
        return self.summary["stages"][0]

    def ms(self, metric: str, q: float) -> float:
        """A percentile in ms."""
        quantiles = self.stage["distributions"][metric]["quantiles"]
        return next(one["value"] for one in quantiles if one["q"] == q) / 1e6


def mark(
    core: int | None,
    port: int,
    *,
    streams: int,
    requests: int,
    tokens: int,
    stream: bool = True,
    memory: bool = False,
) -> Marked:
    """Runs ``relaymark run chat`` with one worker; every answer must be whole, with as many tokens as asked for.

    Raises:
        CannotRunError: It failed, or its summary tells of answers that are not.
    """
    from relaymark.trace.health import read_heartbeats  # noqa: PLC0415 - `--help` of this script needs no relaymark

    with tempfile.TemporaryDirectory(prefix="relaymark-bench-") as folder:
        command = [*relaymark(), "run", "chat", "--json", "--out", folder, "--workers", "1", "--model", MODEL]
        command += ["--url", f"http://127.0.0.1:{port}", "--load", f"concurrency:{streams}"]
        command += ["--requests", str(requests), "--max-tokens", str(tokens)]
        used = timed(command if stream else [*command, "--no-stream"], core, memory=memory)
        if used.status not in (0, 3):  # an invalid measurement is one of the things we want to see
            raise CannotRunError(f"relaymark run ended with {used.status}: {(used.err or used.out).strip()[-2000:]}")
        last = {
            beat.worker: beat.cpu_ns for path in Path(folder).glob("*/health.jsonl") for beat in read_heartbeats(path)
        }
    marked = Marked(json.loads(used.out), used, sum(last.values()) / 1e9)
    good = marked.stage["outcomes"].get("ok", 0) + marked.stage["outcomes"].get("ok_length", 0)
    if good != requests or marked.stage["completion_tokens"] != requests * tokens:
        raise CannotRunError(
            f"of {requests} answers of {tokens} tokens, relaymark saw {marked.stage['outcomes']} "
            f"and {marked.stage['completion_tokens']} tokens"
        )
    return marked


def relaymark() -> list[str]:
    """The command as it is installed beside this Python, else the module."""
    script = Path(sys.executable).with_name("relaymark")
    return [str(script)] if script.exists() else [sys.executable, "-m", "relaymark"]


def _pinned(command: Sequence[str], core: int | None) -> list[str]:
    return list(command) if core is None else ["taskset", "-c", str(core), *command]
