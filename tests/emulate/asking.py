"""Plain requests over http.client, enough to check what an emulated server says."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
from typing import Any
from urllib.parse import urlsplit


def ask(
    url: str,
    path: str = "/v1/chat/completions",
    *,
    headers: dict[str, str] | None = None,
    context: ssl.SSLContext | None = None,
    method: str = "POST",
    **body: Any,
) -> tuple[int, bytes]:
    """One request; returns status and body. Chat and completions get a prompt unless they have one."""
    place = urlsplit(url)
    host, port = place.hostname or "", place.port
    connection: http.client.HTTPConnection
    if place.scheme == "https":
        connection = http.client.HTTPSConnection(host, port, timeout=20, context=context)
    else:
        connection = http.client.HTTPConnection(host, port, timeout=20)
    if path == "/v1/chat/completions":
        body.setdefault("messages", [{"role": "user", "content": "hello there"}])
    try:
        data = json.dumps(body) if method == "POST" else None
        connection.request(method, path, data, {"content-type": "application/json", **(headers or {})})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def events(body: bytes) -> list[dict[str, Any]]:
    """The JSON events of a stream whose events end in an empty line; [DONE] left out."""
    found: list[dict[str, Any]] = []
    for block in body.decode().split("\n\n"):
        for line in block.split("\n"):
            if line.startswith("data: ") and line != "data: [DONE]":
                found.append(json.loads(line[6:]))
    return found


def send_raw(port: int, requests: int, **body: Any) -> list[socket.socket]:
    """Open connections and send one streaming request on each, one after the other."""
    body = {"messages": [{"role": "user", "content": "hello"}], "stream": True, **body}
    data = json.dumps(body).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(data)}\r\n\r\n".encode()
    sockets: list[socket.socket] = []
    for _ in range(requests):
        connection = socket.create_connection(("127.0.0.1", port), timeout=20)
        connection.sendall(head + data)
        sockets.append(connection)
    return sockets


def read_to_end(connection: socket.socket) -> bytes:
    """Read a chunked response to its last chunk, or to the end of the connection."""
    got = b""
    while not got.endswith(b"\r\n0\r\n\r\n"):
        data = connection.recv(65_536)
        if not data:
            break
        got += data
    return got
