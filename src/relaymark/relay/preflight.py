"""The look at an endpoint before a run: does it answer at all, and does it serve the model that was named?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

import msgspec

from relaymark.errors import ConfigError, UnreachableError
from relaymark.relay.redaction import Redactor
from relaymark.relay.reply import Reply, ask
from relaymark.trace import TransferEnd
from relaymark.wire import Target


@dataclass(slots=True)
class Served:
    """What an endpoint says of itself. ``models`` is ``None`` where it lists none."""

    models: list[str] | None = None
    facts: dict[str, str] = field(default_factory=dict[str, str])


def look(target: Target, headers: Mapping[str, str], redactor: Redactor) -> Served:
    """Asks for ``/v1/models``.

    Raises:
        UnreachableError: Nothing answers at the URL, or not HTTP.
        ConfigError: The endpoint refuses our key.
    """
    reply = ask(target, "GET", "/v1/models", headers, seconds=15.0, redactor=redactor)
    _must_answer(target, reply)
    served = Served()
    response = reply.response
    if response.status in (401, 403):
        raise ConfigError(
            f"The endpoint refused the request for its models with HTTP {response.status}.",
            where=f"{target.url}/v1/models",
            mend="Export the key in OPENAI_API_KEY, or name its variable with endpoint.api_key_env.",
        )
    server = dict(response.headers).get("server")
    if server:
        served.facts["server header"] = server[:200]
    if response.status == 200:
        served.models = _model_ids(b"".join(piece for _, piece in response.segments))
    if served.models:
        served.facts["models"] = ", ".join(served.models[:8])[:400]
    return served


def choose_model(served: Served, wanted: str | None, where: str) -> str:
    """The model to ask for.

    Raises:
        ConfigError: The endpoint lists its models and ``wanted`` is not among them, or none was named and it
            does not serve exactly one.
    """
    models = served.models
    if wanted is None:
        if models is not None and len(models) == 1:
            return models[0]
        offered = f"It serves: {', '.join(models[:8])}." if models else "It does not list its models."
        raise ConfigError(f"No model was named. {offered}", where=where, mend="Name one with --model.")
    if models and wanted not in models:
        close = get_close_matches(wanted, models, n=1, cutoff=0.5)
        mend = f"Did you mean {close[0]!r}?" if close else f"It serves: {', '.join(models[:8])}."
        raise ConfigError(f"The endpoint does not serve the model {wanted!r}.", where=where, mend=mend)
    return wanted


def _must_answer(target: Target, reply: Reply) -> None:
    capture = reply.capture
    if not reply.reached:
        says = capture.error or str(capture.end).replace("_", " ")
        raise UnreachableError(
            f"The endpoint cannot be reached: {says}.",
            where=target.url,
            mend="Is the server running, and is this its address and port?",
        )
    if reply.status is None:
        if capture.end is TransferEnd.BAD_FRAMING:
            says = f"what answers does not speak HTTP/1.1 ({capture.error})"
        elif capture.end is TransferEnd.TIMEOUT_TOTAL:
            says = "it accepted the connection and then said nothing for 15 s"
        else:
            says = f"the connection was closed before an answer ({capture.error or capture.end})"
        raise UnreachableError(f"The endpoint cannot be used: {says}.", where=target.url)


class _Model(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    data: list[_Model]


def _model_ids(body: bytes) -> list[str] | None:
    try:
        return [model.id for model in msgspec.json.decode(body, type=_Models).data]
    except msgspec.DecodeError:
        return None
