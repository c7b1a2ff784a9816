"""Our client reports every server behaviour as it should; another client can be driven by command template."""

from __future__ import annotations

import sys

import pytest

from relaymark.emulate import list_faults
from relaymark.errors import ConfigError
from relaymark.relay.conformance import external_cases, own_cases


def test_our_own_client_passes_every_case() -> None:
    cases = own_cases()
    assert len(cases) == len(list_faults()) + 2
    assert {case.name: case.observed for case in cases if not case.passed} == {}


def test_only_the_named_cases_run() -> None:
    assert [case.name for case in own_cases(frozenset({"crlf", "closed-port"}))] == ["crlf", "closed-port"]


NAIVE = """
import json, re, sys, urllib.request
body = json.dumps({"model": "paced", "stream": True, "messages": [{"role": "user", "content": "x"}]}).encode()
try:
    text = urllib.request.urlopen(sys.argv[1] + "/v1/chat/completions", body, timeout=5).read().decode()
    print("ok=1 tokens=%d" % (text.count('"content"')))
except Exception as error:
    print("ok=0")
"""


def test_a_naive_client_is_caught() -> None:
    command = f"{sys.executable} -c {_quoted(NAIVE)} {{url}}"
    names = frozenset({"inband-error", "429-seconds", "http10-close"})
    cases = {case.name: case for case in external_cases(command, r"ok=(?P<ok>\d)", names)}
    assert set(cases) == names
    assert cases["429-seconds"].passed, "a 429 fails in any client"
    assert not cases["inband-error"].passed, "an error inside a stream is no success"
    assert not cases["http10-close"].passed, "a stream that just stops is no success"


@pytest.mark.parametrize(
    ("command", "parse"),
    [("tool --url {url}", "(?P<count>1)"), ("tool", "(?P<ok>1)"), ("tool {url}", "("), ("tool '{url}", "(?P<ok>1)")],
)
def test_a_template_that_cannot_work_is_refused(command: str, parse: str) -> None:
    with pytest.raises(ConfigError):
        list(external_cases(command, parse))


def test_a_client_that_is_not_there_is_named() -> None:
    with pytest.raises(ConfigError, match="cannot be started"):
        list(external_cases("/nowhere/tool {url}", "(?P<ok>1)", frozenset({"crlf"})))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\"'\"'") + "'"
