"""The command line as a user calls it: a process of its own, its output, its exit code."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Any, Self

import psutil

COMMAND = [sys.executable, "-m", "relaymark"]


def clean_environment(**extra: str) -> dict[str, str]:
    """Ours without keys, on a wide terminal, so that messages are not folded."""
    kept = {name: value for name, value in os.environ.items() if name != "OPENAI_API_KEY"}
    return kept | {"COLUMNS": "300", "NO_COLOR": "1"} | extra


def call(*words: object, cwd: Path, seconds: float = 60, **environ: str) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end; a traceback is always a failure."""
    done = subprocess.run(
        [*COMMAND, *map(str, words)],
        cwd=cwd,
        env=clean_environment(**environ),
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert "Traceback" not in done.stdout + done.stderr, done.stderr
    return done


def call_here(*words: object, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """The same inside this process: a hundredth of the time, for what ends before anything runs."""
    from relaymark.cli import main

    out, err = io.TextIOWrapper(io.BytesIO()), io.TextIOWrapper(io.BytesIO())
    before = dict(os.environ)
    with contextlib.chdir(cwd), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        os.environ.update({"COLUMNS": "300", "NO_COLOR": "1"} | environ)
        try:
            code = main([*map(str, words)])
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        finally:
            os.environ.clear()
            os.environ.update(before)
    for stream in (out, err):
        stream.seek(0)
    return subprocess.CompletedProcess([*map(str, words)], code, out.read(), err.read())


def start(*words: object, cwd: Path, **environ: str) -> subprocess.Popen[str]:
    """Starts a command in a session of its own."""
    return subprocess.Popen(
        [*COMMAND, *map(str, words)],
        cwd=cwd,
        env=clean_environment(**environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def only_run(cwd: Path) -> Path:
    """The one run folder there is."""
    (folder,) = (cwd / "runs").iterdir()
    return folder


def summary_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "summary.json").read_text())


def wait_for(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    """Waits until a condition holds; fails when it doesn't in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def processes_of(folder: Path) -> list[psutil.Process]:
    """Workers and decoders of a run."""
    found: list[psutil.Process] = []
    for process in psutil.process_iter(["cmdline", "status"]):
        named = any(Path(word).name == folder.name for word in process.info["cmdline"] or [])
        if named and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process)
    return found


class PlainServer:
    """An HTTP server that answers GET and POST with what a function says."""

    def __init__(self, answer: Callable[[BaseHTTPRequestHandler], tuple[int, str, bytes]]) -> None:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def respond(self) -> None:
                size = int(self.headers.get("content-length") or 0)
                self.rfile.read(size)
                status, kind, body = answer(self)
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = respond

            def log_message(self, format: str, *args: object) -> None:
                del format, args

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
