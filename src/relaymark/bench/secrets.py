"""Keys and headers, resolved from the environment at the moment they are needed and never written down."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Protocol

from relaymark.errors import ConfigError


class Endpoint(Protocol):
    """What of an endpoint is needed here; a worker's plan has it too."""

    @property
    def api_key_env(self) -> str:
        """Name of the variable that holds the key."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers as the user wrote them."""
        ...


_DEFAULT_KEY_ENV = "OPENAI_API_KEY"
_ENV_USE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}", re.ASCII)


def request_headers(endpoint: Endpoint, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the headers to send: the user's, resolved, and ``Authorization`` from the key unless they set it.

    Raises:
        ConfigError: as `api_key` and `resolved_headers`.
    """
    headers = resolved_headers(endpoint, environ)
    key = api_key(endpoint, environ)
    if key is not None and not any(name.lower() == "authorization" for name in headers):
        headers["Authorization"] = f"Bearer {key}"
    return headers


def api_key(endpoint: Endpoint, environ: Mapping[str, str]) -> str | None:
    """Return the API key from the variable that ``endpoint.api_key_env`` names.

    The default variable may be unset (``None``: no Authorization header); one that the user named may not.

    Raises:
        ConfigError: a named variable is unset, or a key can't stand in a header. Never shows the key.
    """
    name = endpoint.api_key_env
    key = environ.get(name, "").strip()
    if not key:
        if name == _DEFAULT_KEY_ENV:
            return None
        raise ConfigError(
            f"the environment variable {name} isn't set",
            where="endpoint.api_key_env",
            mend=f"export {name}=…, or name the variable that holds the key",
        )
    return _header_safe(key, "endpoint.api_key_env", name)


def resolved_headers(endpoint: Endpoint, environ: Mapping[str, str]) -> dict[str, str]:
    """Return ``endpoint.headers`` with every ``${NAME}`` replaced from ``environ``.

    Raises:
        ConfigError: a variable is unset, or its value can't stand in a header. Never shows the value.
    """
    resolved: dict[str, str] = {}
    for header, text in endpoint.headers.items():
        where = f"endpoint.headers.{header}"
        for name in _ENV_USE.findall(text):
            if name not in environ:
                raise ConfigError(f"the environment variable {name} isn't set", where=where, mend=f"export {name}=…")
            _header_safe(environ[name], where, name)
        resolved[header] = _ENV_USE.sub(lambda match: environ[match[1]], text)
    return resolved


def _header_safe(value: str, where: str, name: str) -> str:
    """Refuse what would break out of a header line."""
    if any(ord(char) < 32 or ord(char) == 127 or ord(char) > 255 for char in value):
        raise ConfigError(
            f"the value of {name} holds characters that a header can't carry",
            where=where,
            mend=f"check {name} for line breaks and stray characters",
        )
    return value
