"""Where requests go: a base URL taken apart and resolved once, before any clock runs."""

from __future__ import annotations

import re
import socket
import ssl
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

from relaymark.errors import ConfigError, UnreachableError

_DEFAULT_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[A-Za-z0-9._~:%-]+", re.ASCII)  # of IPv6 addresses with a zone, too


@dataclass(frozen=True, slots=True)
class Address:
    """One resolved socket address."""

    family: int
    sockaddr: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Target:
    """A resolved endpoint.

    ``base_path`` is the URL's path without a trailing slash, to be put before a dialect's path. ``addresses`` holds
    every address the name resolved to, in the resolver's order (IPv6 and IPv4 as RFC 6724 sorts them).
    """

    url: str  # without credentials: safe to print and store
    host: str
    port: int
    base_path: str
    tls: ssl.SSLContext | None = None
    addresses: tuple[Address, ...] = field(default=())

    @property
    def host_header(self) -> str:
        """Value of the Host header (RFC 9110 §7.2): the port only where it is not the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        default = _DEFAULT_PORTS["https" if self.tls else "http"]
        return host if self.port == default else f"{host}:{self.port}"


def parse_url(url: str, *, verify_tls: bool = True) -> Target:
    """Takes a base URL apart, without resolving its name.

    A trailing ``/v1`` is dropped, since the dialects' paths begin with it; both spellings are common. Names beyond
    ASCII become what goes over the wire: IDNA for the host, percent-encoded UTF-8 for the path.

    Raises:
        ConfigError: Not an http(s) URL, or it carries credentials, a query, a bad port or control characters.
    """
    url = url.strip()
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ConfigError(f"The URL cannot be read: {error}.", where=_shown(url)) from None
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
        raise ConfigError(
            "The URL must begin with http:// or https:// and name a host.",
            where=_shown(url) or "(empty)",
            mend="Write it as http://127.0.0.1:8000",
        )
    if parts.username is not None or parts.password is not None:
        raise ConfigError(
            "The URL carries a user name or password, which would end up in reports.",
            where=f"{parts.scheme}://…@{parts.hostname}",
            mend="Put the key into an environment variable and name it with endpoint.api_key_env.",
        )
    if parts.query or parts.fragment:
        raise ConfigError("The URL must be the server's base, without ? or #.", where=_shown(url))
    # urlsplit drops line breaks without a word; anything of this kind would end up in the request line.
    if any(ord(char) <= 32 or ord(char) == 127 for char in url):
        raise ConfigError("The URL holds spaces or control characters.", where=repr(url))
    if port == 0:
        raise ConfigError("Port 0 is no port to connect to.", where=url)
    try:
        host = parts.hostname if parts.hostname.isascii() else parts.hostname.encode("idna").decode("ascii")
        path = quote(parts.path.rstrip("/"), safe="/%:@!$&'()*+,;=~")
    except UnicodeError as error:
        raise ConfigError(f"The URL cannot be sent as it is: {error}.", where=repr(url)) from None
    if not _HOST.fullmatch(host):
        raise ConfigError("The URL's host holds characters that no name or address has.", where=repr(url))
    base_path = path.removesuffix("/v1")
    tls = _tls_context(verify=verify_tls) if parts.scheme == "https" else None
    target = Target("", host, port or _DEFAULT_PORTS[parts.scheme], base_path, tls)
    return replace(target, url=urlunsplit((parts.scheme, target.host_header, base_path, "", "")))


def resolve(target: Target) -> Target:
    """Looks the host's addresses up, once: a lookup during the run would be timed as the server's.

    Raises:
        UnreachableError: The name has no address.
    """
    try:
        found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UnreachableError(
            f"The host {target.host!r} has no address: {reason}.",
            where=target.url,
            mend="Check the name, or give the address itself.",
        ) from None
    addresses = tuple(dict.fromkeys(Address(family, sockaddr) for family, _, _, _, sockaddr in found))
    return Target(target.url, target.host, target.port, target.base_path, target.tls, addresses)


def _tls_context(*, verify: bool) -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _shown(url: str) -> str:
    head, at, tail = url.rpartition("@")
    return f"…@{tail}" if at and head else url
