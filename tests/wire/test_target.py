"""URLs: the good ones are taken apart, the bad ones named, and no secret is repeated."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from relaymark.errors import ConfigError, RelaymarkError
from relaymark.wire import parse_url

GOOD = [
    ("http://127.0.0.1:8000", "127.0.0.1", 8000, "", "127.0.0.1:8000"),
    ("http://127.0.0.1:8000/", "127.0.0.1", 8000, "", "127.0.0.1:8000"),
    ("http://127.0.0.1:8000/v1", "127.0.0.1", 8000, "", "127.0.0.1:8000"),
    ("http://127.0.0.1:8000/v1/", "127.0.0.1", 8000, "", "127.0.0.1:8000"),
    ("  http://host  ", "host", 80, "", "host"),
    ("https://host", "host", 443, "", "host"),
    ("https://host:443/openai/v1", "host", 443, "/openai", "host"),
    ("http://host:443", "host", 443, "", "host:443"),
    ("HTTP://HOST:80/a/b/", "host", 80, "/a/b", "host"),
    ("http://[::1]:8000/v1", "::1", 8000, "", "[::1]:8000"),
    ("http://[::1]", "::1", 80, "", "[::1]"),
    ("http://host/v1beta", "host", 80, "/v1beta", "host"),
]


@pytest.mark.parametrize(("url", "host", "port", "path", "header"), GOOD)
def test_good_urls(url: str, host: str, port: int, path: str, header: str) -> None:
    target = parse_url(url)
    assert (target.host, target.port, target.base_path, target.host_header) == (host, port, path, header)
    assert (target.tls is not None) == url.strip().lower().startswith("https")
    again = parse_url(target.url)
    assert (again.host, again.port, again.base_path) == (host, port, path), "the cleaned URL means the same"


BAD = [
    "",
    " ",
    "127.0.0.1:8000",
    "localhost",
    "ftp://host",
    "file:///etc/passwd",
    "http://",
    "http:///path",
    "http://:8000",
    "http:host",
    "http://host:port",
    "http://host:99999",
    "http://host:-1",
    "http://host:0",
    "http://[::1",
    "http://[zz]",
    "http://host?key=1",
    "http://host/#x",
    "http://host/a b",
    "http://ho st/",
    "http://host/\x00",
    "http://host/\x7f",
    "http://host/a\r\nX-Evil: 1",
    "javascript:alert(1)",
]


@pytest.mark.parametrize("url", BAD)
def test_bad_urls_are_configuration_errors(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_url(url)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    "url", ["http://user:hunter2@host", "http://hunter2@host:80/v1", "http://u:hunter2@host:bad", "ftp://u:hunter2@h"]
)
def test_credentials_are_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_url(url)
    assert "hunter2" not in str(caught.value)


def test_names_beyond_ascii_become_what_goes_over_the_wire() -> None:
    target = parse_url("http://bücher.example/prefix/ü")
    assert target.host == "xn--bcher-kva.example"
    assert target.base_path == "/prefix/%C3%BC"
    target.host_header.encode("ascii")


@settings(deadline=None, max_examples=200)
@given(st.one_of(st.text(max_size=40), st.text(max_size=30).map("http://".__add__)))
@example("http://\udcff/")
@example("http://" + "a" * 300)
@example("http://host:٣")
def test_any_text_is_a_target_or_a_clear_error(url: str) -> None:
    try:
        target = parse_url(url)
    except RelaymarkError:
        return
    assert target.host and 0 < target.port < 65536
    assert (target.base_path + target.host_header).isascii()
    assert not any(ord(char) <= 32 for char in target.base_path + target.host_header)
