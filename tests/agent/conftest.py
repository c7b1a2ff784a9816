"""A server that is told each request's body and answers by a function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

Answer = Callable[[BaseHTTPRequestHandler, bytes], tuple[int, bytes]]


@pytest.fixture
def echo_server() -> Callable[[Answer], object]:
    """``with echo_server(answer) as url``: ``answer(request, body)`` gives status and JSON."""

    @contextmanager
    def serve(answer: Answer) -> Iterator[str]:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = 1 << 16  # headers and body in one segment, or each answer takes a delayed ACK's 40 ms

            def respond(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                status, data = answer(self, body)
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
                self.wfile.flush()

            do_GET = do_POST = respond

            def log_message(self, format: str, *args: object) -> None:
                del format, args

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            server.server_close()

    return serve
