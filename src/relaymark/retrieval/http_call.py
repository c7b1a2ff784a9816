"""One JSON call to an endpoint that serves a stage, from a thread that may block."""

from __future__ import annotations

import http.client
import json
import os
import ssl
from typing import Any
from urllib.parse import urlsplit

from relaymark.errors import ConfigError, UnreachableError

_SECONDS = 120.0
_MAX_BODY = 256 << 20


class JsonEndpoint:
    """Posts JSON over one kept-alive connection; a connection that died while idle is opened anew, once."""

    def __init__(self, url: str, path: str, key_env: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(f"this is no http or https URL: {url[:80]!r}", where="url")
        self._where = url
        self._secure = parts.scheme == "https"
        self._host, self._port = parts.hostname, parts.port
        self._path = parts.path.rstrip("/") + path
        self._headers = {"Content-Type": "application/json", "User-Agent": "relaymark"}
        if key := os.environ.get(key_env, "").strip():
            self._headers["Authorization"] = f"Bearer {key}"
        self._connection: http.client.HTTPConnection | None = None

    def post(self, body: dict[str, Any]) -> dict[str, Any]:
        """The answer's object.

        Raises:
            UnreachableError: Nobody answers, or not with a 2xx status and a JSON object.
        """
        payload = json.dumps(body).encode()
        for last in (self._connection is None, True):
            try:
                status, answer = self._exchange(payload)
                break
            except (OSError, http.client.HTTPException) as error:
                self._close()
                if last:
                    raise UnreachableError(f"The endpoint failed: {error}", where=self._where) from None
        else:
            raise UnreachableError("The endpoint failed.", where=self._where)
        if not 200 <= status < 300:
            raise UnreachableError(f"The endpoint answered with status {status}.", where=self._where)
        try:
            found = json.loads(answer)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise UnreachableError("The endpoint answered with something that is no JSON object.", where=self._where)
        return found

    def _exchange(self, payload: bytes) -> tuple[int, bytes]:
        if self._connection is None:
            self._connection = (
                http.client.HTTPSConnection(
                    self._host, self._port, timeout=_SECONDS, context=ssl.create_default_context()
                )
                if self._secure
                else http.client.HTTPConnection(self._host, self._port, timeout=_SECONDS)
            )
        self._connection.request("POST", self._path, payload, self._headers)
        response = self._connection.getresponse()
        answer = response.read(_MAX_BODY)
        if response.read(1):
            self._close()
            raise UnreachableError("The endpoint's answer has no end.", where=self._where)
        return response.status, answer

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
